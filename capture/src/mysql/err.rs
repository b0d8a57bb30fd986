//! A command has failed: [ERR packet]. MariaDB's progress reports take the same form.
//!
//! [ERR packet]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_err_packet.html

use super::error::Invalid;
use super::read::Reader;

/// A command has failed, or a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// Number of the error, such as 1064.
    pub code: u16,
    /// SQLSTATE; `None` where it is not sent: before capabilities are agreed, and before MySQL 4.1.
    pub sqlstate: Option<[u8; 5]>,
    /// The message.
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 0xff;

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("ERR packet", payload);
        if read.u8()? != Self::HEADER {
            return Err(read.invalid(0, "the first byte is not 0xff"));
        }
        let code = read.u16()?;
        let rest = read.rest();
        // Whether the state is sent follows from the marker, not from the capabilities, which may not be known.
        let state = rest.strip_prefix(b"#").and_then(<[u8]>::split_first_chunk);
        let (sqlstate, message) = match state {
            Some((state, message)) => (Some(*state), message),
            None => (None, rest),
        };
        Ok(ErrPacket { code, sqlstate, message })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend(self.code.to_le_bytes());
        if let Some(state) = self.sqlstate {
            out.push(b'#');
            out.extend(state);
        }
        out.extend_from_slice(self.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_all};

    fn decode(payload: &[u8]) -> ErrPacket<'_> {
        let error = ErrPacket::decode(payload).unwrap();
        let mut out = Vec::new();
        error.encode(&mut out);
        assert_eq!(out, payload);
        error
    }

    #[test]
    fn with_a_state() {
        // The example of the manual.
        let payload = hex("ff 4804 23 4859303030 4e6f207461626c65732075736564");
        let error = decode(&payload);
        assert_eq!((error.code, error.sqlstate, error.message), (1096, Some(*b"HY000"), &b"No tables used"[..]));
        needs_all(&payload[..3], 0, |payload| ErrPacket::decode(payload).err());
    }

    #[test]
    fn before_capabilities_are_agreed() {
        let error = decode(b"\xff\x10\x04Too many connections");
        assert_eq!((error.code, error.sqlstate, error.message), (1040, None, &b"Too many connections"[..]));
        assert_eq!(decode(b"\xff\x10\x04#abc").message, b"#abc", "too short for a state");
        assert!(ErrPacket::decode(b"\0\x10\x04").is_err());
    }
}
