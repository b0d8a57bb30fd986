//! The start of a connection: the server's [HandshakeV10].
//!
//! [HandshakeV10]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html

use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::read::Reader;
use super::status::Status;
use super::write;

/// Bytes of the scramble in its first part.
const FIRST_PART: usize = 8;

/// The first message of a server. It may be an [`ErrPacket`](super::ErrPacket) instead, before any capability is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake<'a> {
    /// Version, as in `8.0.36` or `5.5.5-10.11.6-MariaDB-1`.
    pub version: &'a [u8],
    /// Identifier of the connection, as in `SHOW PROCESSLIST`.
    pub connection: u32,
    /// What the authentication method starts from: its first eight bytes.
    pub scramble_start: [u8; FIRST_PART],
    /// The rest of it, without the NUL that ends it.
    pub scramble_rest: &'a [u8],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The server's default collation (its lower byte).
    pub collation: u8,
    /// State of the new session.
    pub status: Status,
    /// The server's default authentication method; empty where it has none.
    pub plugin: &'a [u8],
}

impl<'a> Handshake<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 10;

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("HandshakeV10", payload);
        if read.u8()? != Self::HEADER {
            return Err(read.invalid(0, "the protocol version is not 10"));
        }
        let version = read.nul_string()?;
        let connection = read.u32()?;
        let scramble_start = read.array()?;
        read.u8()?;
        let base = read.u16()?;
        let mut handshake = Handshake {
            version,
            connection,
            scramble_start,
            scramble_rest: b"",
            capabilities: Capabilities(base.into()),
            collation: 0,
            status: Status::default(),
            plugin: b"",
        };
        // Servers before MySQL 4.1 end here.
        if read.is_empty() {
            return Ok(handshake);
        }
        handshake.collation = read.u8()?;
        handshake.status = Status(read.u16()?);
        let base = u32::from(base) | u32::from(read.u16()?) << 16;
        let scramble_len = usize::from(read.u8()?);
        read.bytes(6)?;
        let extended = read.u32()?;
        let base_only = Capabilities::from_halves(base, 0);
        handshake.capabilities = match base_only.contains(Capabilities::LONG_PASSWORD) {
            true => base_only,
            false => Capabilities::from_halves(base, extended),
        };
        if base_only.contains(Capabilities::SECURE_CONNECTION) {
            // At least 12 bytes and a NUL, whatever the length says.
            let rest = read.bytes(scramble_len.saturating_sub(FIRST_PART).max(13))?;
            handshake.scramble_rest = rest.strip_suffix(b"\0").unwrap_or(rest);
        }
        if base_only.contains(Capabilities::PLUGIN_AUTH) {
            // MySQL before 5.5.10 left the NUL out.
            handshake.plugin = read.nul_string_or_rest();
        }
        Ok(handshake)
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, "HandshakeV10", |out| {
            out.push(Self::HEADER);
            write::nul_string(out, self.version)?;
            out.extend(self.connection.to_le_bytes());
            out.extend(self.scramble_start);
            out.push(0);
            let [a, b, c, d] = self.capabilities.base().to_le_bytes();
            out.extend([a, b, self.collation]);
            out.extend(self.status.0.to_le_bytes());
            out.extend([c, d]);
            let secure = self.capabilities.contains(Capabilities::SECURE_CONNECTION);
            let rest = if secure { self.scramble_rest } else { b"" };
            let len = u8::try_from(FIRST_PART + rest.len() + 1).map_err(|_| "the scramble is longer than 254 bytes")?;
            let named = self.capabilities.contains(Capabilities::PLUGIN_AUTH);
            out.push(if named { len } else { 0 });
            out.extend([0; 6]);
            out.extend(self.capabilities.extended().to_le_bytes());
            if secure {
                if rest.len() < 12 || (rest.len() != 12 && !named) {
                    return Err("the scramble does not have the length that the protocol gives it");
                }
                out.extend_from_slice(rest);
                out.push(0);
            }
            if named {
                write::nul_string(out, self.plugin)?;
            }
            Ok(())
        })
    }

    /// What the authentication method starts from, whole.
    pub fn scramble(&self) -> Vec<u8> {
        [&self.scramble_start, self.scramble_rest].concat()
    }

    /// True when the server is of the MariaDB family.
    pub fn is_mariadb(&self) -> bool {
        !self.capabilities.contains(Capabilities::LONG_PASSWORD)
            || memchr::memmem::find(self.version, b"MariaDB").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_all, unwritten, written};

    fn decode(payload: &[u8]) -> Handshake<'_> {
        let handshake = Handshake::decode(payload).unwrap();
        assert_eq!(written(|out| handshake.encode(out)), payload);
        handshake
    }

    // The examples of the manual, of a server before authentication methods had names, and of one after.

    #[test]
    fn unnamed_method() {
        let payload = hex("0a 352e 352e 322d 6d32 00 0b00 0000 6476 4840 492d 434a 00 fff7 08 0200 0000 00
            000000000000 00000000 2a34 647c 635a 776b 345e 5d3a 00");
        let handshake = decode(&payload);
        assert_eq!((handshake.version, handshake.connection), (&b"5.5.2-m2"[..], 11));
        assert_eq!(handshake.scramble(), b"dvH@I-CJ*4d|cZwk4^]:");
        assert_eq!((handshake.collation, handshake.status, handshake.plugin), (8, Status::AUTOCOMMIT, &b""[..]));
        assert_eq!(handshake.capabilities, Capabilities(0xf7ff));
        // A server before MySQL 4.1 ends behind the lower capabilities.
        let old = payload.len() - 29;
        assert_eq!(Handshake::decode(&payload[..old]).unwrap().capabilities, Capabilities(0xf7ff));
        needs_all(&payload[..old], 0, |payload| Handshake::decode(payload).err());
        needs_all(&payload, old + 1, |payload| Handshake::decode(payload).err());
    }

    #[test]
    fn named_method() {
        let payload = hex("0a 352e 362e 342d 6d37 2d6c 6f67 00 560a 0000 5242 3376 7a26 4772 00 ffff 08 0200 0fc0 15
            000000000000 00000000 2b79 4426 2f5a 5a33 3035 5a47 00 6d79 7371 6c5f 6e61 7469 7665 5f70 6173 7377 6f72 6400");
        let handshake = decode(&payload);
        assert_eq!(handshake.plugin, b"mysql_native_password");
        assert_eq!(handshake.capabilities, Capabilities(0xc00f_ffff));
        assert_eq!(handshake.scramble().len(), 20);
        assert!(!handshake.is_mariadb());
        // MySQL before 5.5.10 left the last NUL out.
        assert_eq!(Handshake::decode(&payload[..payload.len() - 1]).unwrap(), handshake);
    }

    #[test]
    fn extended_capabilities_stand_where_bit_0_is_unset() {
        let mariadb = Handshake {
            version: b"5.5.5-10.11.6-MariaDB-1",
            connection: 1,
            scramble_start: *b"abcdefgh",
            scramble_rest: b"ijklmnopqrst",
            capabilities: Capabilities(0x81bf_f7fe) | Capabilities::MARIADB_CACHE_METADATA,
            collation: 45,
            status: Status::AUTOCOMMIT,
            plugin: b"mysql_native_password",
        };
        let payload = written(|out| mariadb.encode(out));
        assert_eq!(decode(&payload), mariadb);
        assert!(mariadb.is_mariadb());
        let mysql = Handshake { capabilities: mariadb.capabilities | Capabilities::LONG_PASSWORD, ..mariadb };
        let payload = written(|out| mysql.encode(out));
        assert_eq!(Handshake::decode(&payload).unwrap().capabilities.extended(), 0);
    }

    #[test]
    fn other_versions_are_refused() {
        assert_eq!(Handshake::decode(b"\x093.20\0").unwrap_err().offset, 0);
        assert!(Handshake::decode(b"").is_err());
    }

    #[test]
    fn a_short_scramble_cannot_be_written() {
        let short = Handshake {
            version: b"8.0.36",
            connection: 1,
            scramble_start: [1; 8],
            scramble_rest: b"short",
            capabilities: Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH,
            collation: 8,
            status: Status::AUTOCOMMIT,
            plugin: b"mysql_native_password",
        };
        unwritten(|out| short.encode(out));
    }
}
