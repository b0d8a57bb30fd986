//! A command is done: [OK packet], and the [EOF packet] that stands in its place at the end of results where
//! `DEPRECATE_EOF` is not agreed.
//!
//! [OK packet]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html
//! [EOF packet]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_eof_packet.html

use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::read::Reader;
use super::session_state::SessionState;
use super::status::Status;
use super::write;

/// A command, or one of its results, is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows changed (or found, with the capability `FOUND_ROWS`).
    pub affected: u64,
    /// The first value that an AUTO_INCREMENT column was given; 0 for none.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: Status,
    /// Number of warnings.
    pub warnings: u16,
    /// A line for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// What changed in the session; empty where nothing did, or tracking is not agreed.
    pub session: SessionState<'a>,
}

const OK: &str = "OK packet";
const EOF: &str = "EOF packet";

impl<'a> OkPacket<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 0x00;
    /// First byte of an EOF packet, and of an OK packet at the end of a result.
    pub const END_HEADER: u8 = 0xfe;

    /// Reads the payload of an OK packet, with either of its first bytes, or of an EOF packet, which tells only status and
    /// warnings.
    ///
    /// In a result set, a payload that begins with 0xfe can be a row: [`Exchange`](super::Exchange) knows.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Invalid> {
        match payload.first() {
            Some(&Self::HEADER) => Self::read(Reader::new(OK, payload), capabilities),
            // The shortest OK packet has 7 bytes, and 5 of them would be an EOF packet.
            Some(&Self::END_HEADER) if capabilities.contains(Capabilities::DEPRECATE_EOF) && payload.len() > 5 => {
                Self::read(Reader::new(OK, payload), capabilities)
            }
            Some(&Self::END_HEADER) => Self::read_eof(Reader::new(EOF, payload), capabilities),
            _ => Err(Invalid { message: OK, offset: 0, what: "the first byte is neither 0x00 nor 0xfe" }),
        }
    }

    fn read_eof(mut read: Reader<'a>, capabilities: Capabilities) -> Result<Self, Invalid> {
        read.u8()?;
        let mut packet = OkPacket::default();
        if capabilities.contains(Capabilities::PROTOCOL_41) && !read.is_empty() {
            packet.warnings = read.u16()?;
            packet.status = Status(read.u16()?);
        }
        read.end(packet)
    }

    fn read(mut read: Reader<'a>, capabilities: Capabilities) -> Result<Self, Invalid> {
        read.u8()?;
        let mut packet = OkPacket { affected: read.int()?, last_insert_id: read.int()?, ..OkPacket::default() };
        if capabilities.contains(Capabilities::PROTOCOL_41) {
            packet.status = Status(read.u16()?);
            packet.warnings = read.u16()?;
        } else if capabilities.contains(Capabilities::TRANSACTIONS) {
            packet.status = Status(read.u16()?);
        }
        if !capabilities.contains(Capabilities::SESSION_TRACK) {
            packet.info = info(&mut read);
            return Ok(packet);
        }
        if !read.is_empty() {
            packet.info = read.string()?;
        }
        if packet.status.contains(Status::SESSION_STATE_CHANGED) && !read.is_empty() {
            packet.session = SessionState::decode(&mut read)?;
        }
        read.end(packet)
    }

    /// Appends the payload of an OK packet to `out`.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        self.write(Self::HEADER, capabilities, out)
    }

    /// Appends the payload that ends a result to `out`: an EOF packet, or an OK packet where `DEPRECATE_EOF` is agreed.
    pub fn encode_end(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        match capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => self.write(Self::END_HEADER, capabilities, out),
            false => {
                self.encode_eof(capabilities, out);
                Ok(())
            }
        }
    }

    /// Appends the payload of an EOF packet to `out`.
    pub fn encode_eof(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::END_HEADER);
        if capabilities.contains(Capabilities::PROTOCOL_41) {
            out.extend(self.warnings.to_le_bytes());
            out.extend(self.status.0.to_le_bytes());
        }
    }

    fn write(&self, header: u8, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, OK, |out| {
            out.push(header);
            write::int(out, self.affected);
            write::int(out, self.last_insert_id);
            if capabilities.contains(Capabilities::PROTOCOL_41) {
                out.extend(self.status.0.to_le_bytes());
                out.extend(self.warnings.to_le_bytes());
            } else if capabilities.contains(Capabilities::TRANSACTIONS) {
                out.extend(self.status.0.to_le_bytes());
            }
            let tracked = capabilities.contains(Capabilities::SESSION_TRACK);
            let changed = tracked && self.status.contains(Status::SESSION_STATE_CHANGED);
            if changed || !self.info.is_empty() {
                write::string(out, self.info);
            }
            if changed {
                self.session.write(out);
            } else if !self.session.is_empty() {
                return Err("changes of the session need their capability and status flag");
            }
            Ok(())
        })
    }
}

/// Servers write the line with its length, although the documentation says that it goes on to the end.
fn info<'a>(read: &mut Reader<'a>) -> &'a [u8] {
    let rest = read.rest();
    match super::read::string(rest) {
        Some((info, b"")) => info,
        _ => rest,
    }
}
