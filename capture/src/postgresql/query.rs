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

#[cfg(test)]
mod tests {
    use super::super::frame::Direction;
    use super::super::testing::{client, invalid_client, invalid_server, message, needs_every_byte, server};
    use super::super::{Backend, Frontend};
    use super::*;

    #[test]
    fn query() {
        let bytes = message(b'Q', b"BEGIN; SELECT 1\0");
        assert_eq!(client(&bytes), Frontend::Query { sql: b"BEGIN; SELECT 1" });
        needs_every_byte(Direction::Client, &bytes);
        assert_eq!(client(&message(b'Q', b"\0")), Frontend::Query { sql: b"" });
        assert_eq!(client(&message(b'Q', b"SELECT '\xe9'\0")), Frontend::Query { sql: b"SELECT '\xe9'" });
    }

    #[test]
    fn query_malformed() {
        assert_eq!(invalid_client(b'Q', b"SELECT 1").offset, 5);
        // The server reads to the first NUL and refuses what follows: a second statement must not hide there.
        assert_eq!(invalid_client(b'Q', b"SELECT 1\0DROP TABLE t\0").offset, 14);
    }

    #[test]
    fn a_text_with_nul_cannot_be_written() {
        let mut out = b"before".to_vec();
        let error = Frontend::Query { sql: b"SELECT 1\0DROP TABLE t" }.encode(&mut out).unwrap_err();
        assert_eq!(error.message, "Query");
        assert_eq!(out, b"before");
    }

    #[test]
    fn completion() {
        let bytes = message(b'C', b"INSERT 0 5\0");
        assert_eq!(server(&bytes), Backend::CommandComplete { tag: b"INSERT 0 5" });
        needs_every_byte(Direction::Server, &bytes);
        assert_eq!(server(&message(b'I', b"")), Backend::EmptyQueryResponse);
        assert!(invalid_server(b'I', b"\0").offset == 5);
    }

    #[test]
    fn command_tags() {
        for (tag, command, count) in [
            (&b"INSERT 0 5"[..], &b"INSERT"[..], Some(5)),
            (b"SELECT 3", b"SELECT", Some(3)),
            (b"COPY 18446744073709551615", b"COPY", Some(u64::MAX)),
            (b"CREATE TABLE", b"CREATE TABLE", None),
            (b"REFRESH MATERIALIZED VIEW", b"REFRESH MATERIALIZED VIEW", None),
            (b"BEGIN", b"BEGIN", None),
            (b"", b"", None),
            (b" ", b" ", None),
            (b"SELECT 99999999999999999999999", b"SELECT", None),
        ] {
            assert_eq!(command_tag(tag), (command, count), "{}", tag.escape_ascii());
        }
    }

    #[test]
    fn ready() {
        for (byte, status) in
            [(b'I', TransactionStatus::Idle), (b'T', TransactionStatus::Open), (b'E', TransactionStatus::Failed)]
        {
            let bytes = message(b'Z', &[byte]);
            assert_eq!(server(&bytes), Backend::ReadyForQuery(status));
            needs_every_byte(Direction::Server, &bytes);
        }
        assert_eq!(invalid_server(b'Z', b"X").offset, 5);
    }
}
