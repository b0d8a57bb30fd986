//! What a server sends when the client is connected.

use super::auth::{AuthMore, AuthNextFactor, AuthSwitch};
use super::column_count::ColumnCount;
use super::err::ErrPacket;
use super::ok::OkPacket;
use super::prepare_ok::PrepareOk;
use super::progress::Progress;

/// What a packet of an answer is, by [`Exchange::next`](super::Exchange::next).
///
/// Rows and descriptions are only named: [`Column`](super::Column), [`TextRow`](super::TextRow) and
/// [`BinaryRow`](super::BinaryRow) read the payload where somebody wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// A command, or one result of several, is done and has no rows.
    Ok(OkPacket<'a>),
    /// The command has failed. This ends the answer, whatever came before.
    Err(ErrPacket<'a>),
    /// How far the command is (MariaDB).
    Progress(Progress<'a>),
    /// A result set begins.
    ColumnCount(ColumnCount),
    /// The description of a column: of a result set, of a prepared statement, or of a table (COM_FIELD_LIST).
    Column,
    /// The descriptions end. Where `DEPRECATE_EOF` is agreed, only COM_FIELD_LIST has it.
    ColumnsEnd(OkPacket<'a>),
    /// A row.
    Row,
    /// A result set ends.
    ResultEnd(OkPacket<'a>),
    /// A result set ends before its rows, which wait to be fetched.
    CursorOpen(OkPacket<'a>),
    /// A statement is prepared.
    PrepareOk(PrepareOk),
    /// The description of a parameter of a prepared statement, in the form of a column.
    Parameter,
    /// The descriptions of parameters end. Not where `DEPRECATE_EOF` is agreed.
    ParametersEnd(OkPacket<'a>),
    /// The client is to send the content of this file as packets, and then an empty packet.
    LocalInfile {
        /// Name of the file, on the client's machine.
        filename: &'a [u8],
    },
    /// COM_STATISTICS: a line for people.
    Statistics(&'a [u8]),
    /// Another method of authentication is wanted.
    AuthSwitch(AuthSwitch<'a>),
    /// The method of authentication goes on.
    AuthMore(AuthMore<'a>),
    /// A further proof is wanted.
    AuthNextFactor(AuthNextFactor<'a>),
    /// A packet of replication.
    Event,
}
