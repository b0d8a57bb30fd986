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
    /// Bytes of an EOF packet; an OK packet has at least seven.
    pub(super) const LONGEST_EOF: usize = 5;

    /// Reads the payload of an OK packet, with either of its first bytes, or of an EOF packet, which tells only status and
    /// warnings.
    ///
    /// In a result set, a payload that begins with 0xfe can be a row: [`Exchange`](super::Exchange) knows.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Invalid> {
        match payload.first() {
            Some(&Self::HEADER) => Self::read(Reader::new(OK, payload), capabilities),
            Some(&Self::END_HEADER)
                if capabilities.contains(Capabilities::DEPRECATE_EOF) && payload.len() > Self::LONGEST_EOF =>
            {
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
        // The status flag is only set where tracking is agreed, which may not be known.
        let changed = packet.status.contains(Status::SESSION_STATE_CHANGED);
        if !changed && !capabilities.contains(Capabilities::SESSION_TRACK) {
            packet.info = info(&mut read);
            return Ok(packet);
        }
        if !read.is_empty() {
            packet.info = read.string()?;
        }
        if changed && !read.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::session_state::Change;
    use crate::mysql::testing::{hex, needs_all, needs_every_byte, unwritten, usual, written};

    const TRACKED: Capabilities = Capabilities(Capabilities::ASSUMED.0 | Capabilities::SESSION_TRACK.0);

    fn ok(payload: &[u8], capabilities: Capabilities) -> OkPacket<'_> {
        let packet = OkPacket::decode(payload, capabilities).unwrap();
        assert_eq!(written(|out| packet.encode(capabilities, out)), payload);
        packet
    }

    #[test]
    fn plain() {
        // The example of the manual.
        let payload = hex("00 00 00 0200 0000");
        for capabilities in [usual(Capabilities::default()), TRACKED] {
            let packet = ok(&payload, capabilities);
            assert_eq!(packet, OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() });
            needs_all(&payload, 0, |payload| OkPacket::decode(payload, capabilities).err());
        }
    }

    #[test]
    fn numbers_and_info() {
        let info = b"Rows matched: 1  Changed: 1  Warnings: 0";
        let payload = [&hex("00 fc0001 fd000001 0300 0500 28")[..], info].concat();
        for capabilities in [usual(Capabilities::default()), TRACKED] {
            let packet = ok(&payload, capabilities);
            assert_eq!((packet.affected, packet.last_insert_id, packet.warnings), (256, 65536, 5));
            assert_eq!((packet.status, packet.info), (Status::IN_TRANS | Status::AUTOCOMMIT, &info[..]));
        }
        // As the documentation shows it, and no server sends it: up to the end.
        let payload = [&hex("00 00 00 0200 0000")[..], b"done"].concat();
        assert_eq!(OkPacket::decode(&payload, Capabilities::ASSUMED).unwrap().info, b"done");
        assert!(OkPacket::decode(&payload, TRACKED).is_err());
    }

    #[test]
    fn changes_of_the_session() {
        let payload = hex("00 00 00 0240 0000 00 07 01 05 0474657374");
        let packet = ok(&payload, TRACKED);
        assert_eq!(packet.session.iter().collect::<Vec<_>>(), [Change::Schema(b"test")]);
        needs_every_byte(&payload, 9, |payload| OkPacket::decode(payload, TRACKED).err());
        // The status flag shows that tracking is agreed where the handshake was not seen.
        assert_eq!(OkPacket::decode(&payload, Capabilities::ASSUMED).unwrap(), packet);
        unwritten(|out| packet.encode(Capabilities::ASSUMED, out));
    }

    #[test]
    fn eof() {
        // The example of the manual.
        let payload = hex("fe 0000 0200");
        for capabilities in [Capabilities::ASSUMED, usual(Capabilities::default())] {
            let packet = OkPacket::decode(&payload, capabilities).unwrap();
            assert_eq!(packet, OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() });
        }
        let packet = OkPacket { warnings: 3, status: Status::MORE_RESULTS, ..OkPacket::default() };
        assert_eq!(written(|out| packet.encode_end(Capabilities::ASSUMED, out)), hex("fe 0300 0800"));
        needs_every_byte(&payload, 2, |payload| OkPacket::decode(payload, Capabilities::ASSUMED).err());
        assert_eq!(OkPacket::decode(b"\xfe", Capabilities::default()), Ok(OkPacket::default()));
    }

    #[test]
    fn ok_in_place_of_eof() {
        let payload = hex("fe 00 00 0200 0100");
        let packet = OkPacket::decode(&payload, usual(Capabilities::default())).unwrap();
        assert_eq!((packet.status, packet.warnings), (Status::AUTOCOMMIT, 1));
        assert_eq!(written(|out| packet.encode_end(usual(Capabilities::default()), out)), payload);
        assert!(OkPacket::decode(&payload, Capabilities::ASSUMED).is_err(), "not agreed");
    }

    #[test]
    fn other_first_bytes() {
        for payload in [&b""[..], b"\x01\0\0\0\0\0\0", b"\xff\0\0"] {
            assert_eq!(OkPacket::decode(payload, TRACKED).unwrap_err().offset, 0);
        }
    }
}
