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
