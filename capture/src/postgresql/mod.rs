//! The PostgreSQL frontend/backend protocol, versions 3.0 and 3.2, as a codec without I/O.
//!
//! Bytes go in and messages come out, in both directions: a recorder decodes with it, and a replayer encodes with it.
//! Nothing is copied. A message borrows the bytes it was decoded from, and its lists ([`list`]) are read lazily from bytes
//! that were checked when the message was decoded, so that iterating over them cannot fail. All text is `&[u8]`, because
//! the client chooses its encoding.
//!
//! Reading takes two steps. [`frame`] finds where a message ends: `Ok(None)` means that more bytes are needed, `Err` that
//! more bytes would not help. [`Frontend::decode`] and [`Backend::decode`] then read the whole message, and refuse a body
//! that is too short or too long for its fields. Only what the protocol makes malformed is refused. A message that is well
//! formed but that a server would answer with an error (three format codes for two parameters, say) is decoded, because it
//! was sent and has to be repeated.
//!
//! | file | messages | documentation |
//! |---|---|---|
//! | [`startup`] | StartupMessage, SSLRequest, GSSENCRequest, CancelRequest, NegotiateProtocolVersion, BackendKeyData | [start-up] |
//! | [`authentication`] | all Authentication requests, PasswordMessage, SASLInitialResponse, SASLResponse, GSSResponse | [start-up], [SASL] |
//! | [`query`] | Query, CommandComplete, EmptyQueryResponse, ReadyForQuery | [simple query] |
//! | [`extended`] | Parse, Bind, Describe, Execute, Close, Sync, Flush and their answers | [extended query] |
//! | [`row`] | RowDescription, DataRow | [formats] |
//! | [`copy`] | CopyIn-, CopyOut- and CopyBothResponse, CopyData, CopyDone, CopyFail | [COPY] |
//! | [`call`] | FunctionCall, FunctionCallResponse | [function call] |
//! | [`report`] | ErrorResponse, NoticeResponse, ParameterStatus, NotificationResponse | [error fields], [asynchronous] |
//!
//! Terminate has no content and lives in [`Frontend`] alone.
//!
//! [start-up]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
//! [SASL]: https://www.postgresql.org/docs/current/sasl-authentication.html
//! [simple query]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
//! [extended query]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
//! [formats]: https://www.postgresql.org/docs/current/protocol-message-formats.html
//! [COPY]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
//! [function call]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-FUNCTION-CALL
//! [error fields]: https://www.postgresql.org/docs/current/protocol-error-fields.html
//! [asynchronous]: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-ASYNC

pub mod authentication;
pub mod backend;
pub mod call;
pub mod chain;
pub mod copy;
mod error;
pub mod extended;
pub mod frame;
pub mod frontend;
pub mod list;
pub mod query;
mod read;
pub mod report;
pub mod row;
pub mod startup;
#[cfg(test)]
mod testing;
mod write;

pub use backend::Backend;
pub use error::{Invalid, Unencodable};
pub use frame::{Direction, Frame};
pub use frontend::Frontend;
pub use startup::Startup;
