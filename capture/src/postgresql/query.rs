//! The simple protocol: [Query], and the answers that both protocols share: [CommandComplete], [EmptyQueryResponse],
//! [ReadyForQuery].
//!
//! [Query]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-QUERY
//! [CommandComplete]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COMMANDCOMPLETE
//! [EmptyQueryResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-EMPTYQUERYRESPONSE
//! [ReadyForQuery]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-READYFORQUERY

use super::error::Invalid;
use super::read::Reader;
use crate::trace::TransactionStatus;

/// Reads a body that is one string.
pub(super) fn text<'a>(mut read: Reader<'a>) -> Result<&'a [u8], Invalid> {
    let text = read.string()?;
    read.end(text)
}

/// A CommandComplete tag taken apart: the command, and how many rows it returned or affected, where the tag tells.
///
/// `INSERT 0 5` is `INSERT` and 5 (the zero was an OID once), `SELECT 3` is `SELECT` and 3, `CREATE TABLE` has no number.
pub fn command_tag(tag: &[u8]) -> (&[u8], Option<u64>) {
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let mut command = tag;
    let mut count = None;
    while let Some(space) = memchr::memrchr(b' ', command) {
        let (before, word) = (command.get(..space), command.get(space + 1..));
        let (Some(before), Some(word)) = (before, word) else { break };
        if !is_number(word) {
            break;
        }
        // The last number is the count.
        if count.is_none() {
            count = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        }
        command = before;
    }
    (command, count)
}

/// Reads the only byte of ReadyForQuery.
pub(super) fn status(mut read: Reader<'_>) -> Result<TransactionStatus, Invalid> {
    let offset = read.offset();
    let status = match read.u8()? {
        b'I' => TransactionStatus::Idle,
        b'T' => TransactionStatus::Open,
        b'E' => TransactionStatus::Failed,
        _ => return Err(read.invalid(offset, "the transaction status is not I, T or E")),
    };
    read.end(status)
}

/// The only byte of ReadyForQuery.
pub(super) fn status_byte(status: TransactionStatus) -> u8 {
    match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Open => b'T',
        TransactionStatus::Failed => b'E',
    }
}
