//! How many columns the rows that follow have: the first packet of a [result set].
//!
//! [result set]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html

use super::capabilities::Capabilities;
use super::error::Invalid;
use super::read::Reader;
use super::write;

/// A result set begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnCount {
    /// How many columns it has.
    pub columns: u64,
    /// False where their descriptions do not follow: with MariaDB's metadata cache, because they are as in the answer
    /// before; with MySQL's optional metadata, because the session does not want them.
    pub described: bool,
}

impl ColumnCount {
    /// Reads the payload.
    ///
    /// The byte that says whether descriptions follow is there where it was agreed. It stands behind the number in both
    /// families, although MySQL's documentation shows it before: otherwise "none" would look like an OK packet.
    pub fn decode(payload: &[u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("column count", payload);
        let columns = read.int()?;
        let described = read.is_empty() || read.u8()? != 0;
        read.end(ColumnCount { columns, described })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        write::int(out, self.columns);
        if capabilities.may_omit_columns() {
            out.push(self.described.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let cached = Capabilities::MARIADB_CACHE_METADATA;
        for (payload, capabilities, columns, described) in [
            (&b"\x03"[..], Capabilities::default(), 3, true),
            (b"\xfc\x00\x10", Capabilities::default(), 4096, true),
            (b"\x03\x01", cached, 3, true),
            (b"\x03\x00", cached, 3, false),
            (b"\x03\x00", Capabilities::OPTIONAL_METADATA, 3, false),
        ] {
            let count = ColumnCount::decode(payload).unwrap();
            assert_eq!(count, ColumnCount { columns, described });
            let mut out = Vec::new();
            count.encode(capabilities, &mut out);
            assert_eq!(out, payload);
        }
        for payload in [&b""[..], b"\xfc\x00", b"\xfb", b"\x03\x01\x00"] {
            assert!(ColumnCount::decode(payload).is_err());
        }
    }
}
