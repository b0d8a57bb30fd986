//! The MySQL client/server protocol, as MySQL and MariaDB speak it, as a codec without I/O.
//!
//! Bytes go in and messages come out, in both directions: a recorder decodes with it, a replayer encodes with it, and a
//! router does both. Nothing is copied. A message borrows the bytes it was decoded from, and its lists are read lazily
//! from bytes that were checked when the message was decoded, so that iterating over them cannot fail. All text is
//! `&[u8]`, because the client chooses its character set.
//!
//! Reading takes two steps. [`packet`] finds where a packet ends (`None` means that more bytes are needed) and joins those
//! of a long payload. Then the payload is read: a command by [`Command::decode`], an answer by [`Exchange::next`], which
//! says what each packet is. Only what the protocol makes malformed is refused ([`Invalid`]); a server's opinion of a
//! well-formed command is not asked. Both directions depend on the [`Capabilities`] that the handshake agreed.
//!
//! | file | messages |
//! |---|---|
//! | [`packet`], [`compressed`] | the packets that hold every message, and compressed ones around those |
//! | [`handshake`], [`response`], [`attributes`], [`auth`] | the start of a connection, authentication |
//! | [`command`], [`code`] | every command by name; those with a single field |
//! | [`query`], [`statement`], [`bulk`], [`change_user`] | the commands with more |
//! | [`parameters`], [`kind`], [`value`] | values of the binary protocol |
//! | [`exchange`], [`answer`] | the state machine of an answer |
//! | [`ok`], [`session_state`], [`err`], [`progress`] | OK, EOF and ERR packets, session tracking, progress reports |
//! | [`column_count`], [`column`](mod@column), [`row`], [`prepare_ok`] | results and prepared statements |
//!
//! Documentation: [MySQL](https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html),
//! [MariaDB](https://mariadb.com/kb/en/clientserver-protocol/).

pub mod answer;
pub mod attributes;
pub mod auth;
pub mod bulk;
pub mod capabilities;
pub mod change_user;
pub mod code;
pub mod column;
pub mod column_count;
pub mod command;
pub mod compressed;
pub mod err;
mod error;
pub mod exchange;
mod flags;
pub mod handshake;
pub mod kind;
pub mod ok;
pub mod packet;
pub mod parameters;
pub mod prepare_ok;
pub mod progress;
pub mod query;
mod read;
pub mod response;
pub mod row;
pub mod session_state;
pub mod statement;
pub mod status;
#[cfg(test)]
mod testing;
pub mod value;
mod write;

pub use answer::Answer;
pub use attributes::Attributes;
pub use auth::{AuthMore, AuthNextFactor, AuthSwitch, Secret};
pub use bulk::BulkExecute;
pub use capabilities::Capabilities;
pub use change_user::ChangeUser;
pub use code::Code;
pub use column::Column;
pub use column_count::ColumnCount;
pub use command::Command;
pub use err::ErrPacket;
pub use error::{Invalid, Unencodable};
pub use exchange::Exchange;
pub use handshake::Handshake;
pub use kind::{Kind, ParamType};
pub use ok::OkPacket;
pub use packet::Packet;
pub use parameters::{Content, Known, Parameter, Parameters};
pub use prepare_ok::PrepareOk;
pub use progress::Progress;
pub use query::Query;
pub use response::{HandshakeResponse, Opening, SslRequest};
pub use row::{BinaryRow, TextRow};
pub use session_state::SessionState;
pub use statement::{Execute, ExecuteFlags, LongData};
pub use status::Status;
pub use value::{Date, Time, Value};
