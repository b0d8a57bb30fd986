//! Whether bytes of a client begin with a command, told from the bytes alone.
//!
//! Any four bytes can be the header of a packet, so a header proves nothing. What is asked for is that whole packets fill
//! the segment to its last byte, each with sequence number 0 and the length and form that its command has. A packet
//! longer than the segment is believed only of commands that can be long, and of texts only where they are text.

use crate::mysql::compressed::{self, Algorithm, Decompressor};
use crate::mysql::packet::{HEADER, header};
use crate::mysql::{Code, packet};

/// How packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// As they are.
    Plain,
    /// Inside compressed packets.
    Zlib,
    /// Inside compressed packets.
    Zstd,
}

impl Framing {
    /// The framing with this compression, or without.
    pub fn of(algorithm: Option<Algorithm>) -> Self {
        match algorithm {
            None => Framing::Plain,
            Some(Algorithm::Zlib) => Framing::Zlib,
            Some(Algorithm::Zstd) => Framing::Zstd,
        }
    }

    /// How pieces are compressed; `None` where they are not.
    pub fn algorithm(self) -> Option<Algorithm> {
        match self {
            Framing::Plain => None,
            Framing::Zlib => Some(Algorithm::Zlib),
            Framing::Zstd => Some(Algorithm::Zstd),
        }
    }
}

/// Bytes of a text that are looked at.
const TEXT: usize = 64;
/// A segment that is shorter than its packet is a full one.
const SEGMENT: usize = 500;

/// True when a whole payload can be that of a command.
pub(super) fn is_whole_command(payload: &[u8]) -> bool {
    is_command(payload, payload.len(), false)
}

/// How a segment of the client begins with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub framing: Framing,
    /// True when the segment ends with a command, too.
    pub whole: bool,
}

/// The framing of the commands that a segment of the client consists of; `None` when it does not begin with a command.
pub(super) fn begins_command(bytes: &[u8]) -> Option<Begun> {
    match are_commands(bytes) {
        true => Some(Begun { framing: Framing::Plain, whole: ends_with_packet(bytes) }),
        false => begins_compressed(bytes).map(|framing| Begun { framing, whole: true }),
    }
}

/// True when `bytes` are commands from the first to the last, which may be cut.
fn are_commands(mut bytes: &[u8]) -> bool {
    let all = bytes.len();
    loop {
        let Some((length, 0)) = header(bytes) else { return false };
        let rest = bytes.get(HEADER..).unwrap_or_default();
        let cut = rest.len() < length;
        if !is_command(rest.get(..length).unwrap_or(rest), length, cut && all >= SEGMENT) || (cut && all < SEGMENT) {
            return false;
        }
        match rest.get(length..) {
            None | Some([]) => return true,
            // A client that does not wait sends what has no answer, or does not wait for it; both begin anew.
            Some(next) => bytes = next,
        }
    }
}

/// True when a payload of this length can be that of a command. `cut` when only its beginning is there.
fn is_command(payload: &[u8], length: usize, cut: bool) -> bool {
    let Some((&code, body)) = payload.split_first() else { return false };
    match Code(code) {
        Code::QUIT | Code::STATISTICS | Code::PROCESS_INFO | Code::DEBUG | Code::PING | Code::RESET_CONNECTION => {
            length == 1
        }
        Code::STMT_CLOSE | Code::STMT_RESET | Code::PROCESS_KILL => length == 5,
        Code::STMT_FETCH => length == 9,
        Code::SET_OPTION => length == 3,
        Code::STMT_EXECUTE => length >= 10,
        Code::STMT_BULK_EXECUTE | Code::STMT_SEND_LONG_DATA => length >= 7,
        Code::QUERY | Code::STMT_PREPARE => length > 1 && is_text(without_attributes(body)),
        Code::INIT_DB | Code::FIELD_LIST => !cut && length > 1 && is_text(body.strip_suffix(b"\0").unwrap_or(body)),
        Code::CHANGE_USER => {
            !cut && memchr::memchr(0, body).is_some_and(|end| is_text(body.get(..end).unwrap_or_default()))
        }
        _ => false,
    }
}

/// Whether a text comes with query attributes, where that was not agreed on in our sight. No text has the byte 1 in second
/// place, and it is the number of sets of attributes.
pub(super) fn has_attributes(body: &[u8]) -> bool {
    matches!(body, [count, 1, ..] if *count < 0xfb)
}

/// A text without its query attributes, where that is easy to tell: where there are none.
fn without_attributes(body: &[u8]) -> &[u8] {
    match body {
        [0, 1, text @ ..] => text,
        _ if has_attributes(body) => b"",
        _ => body,
    }
}

/// True when no byte is a control character that texts do not have.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().take(TEXT).all(|byte| !matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1f | 0x7f))
}

/// The same for a segment that holds one compressed packet and nothing else.
fn begins_compressed(bytes: &[u8]) -> Option<Framing> {
    let (&[_, _, _, sequence, ..], _) = bytes.split_first_chunk::<{ compressed::HEADER }>()?;
    let packet = compressed::next(bytes).filter(|packet| packet.len() == bytes.len() && sequence == 0)?;
    if packet.original == 0 {
        // zlib is by far the more common; pieces that are compressed will tell.
        return (are_commands(packet.piece) && ends_with_packet(packet.piece)).then_some(Framing::Zlib);
    }
    let algorithm = match packet.piece {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Algorithm::Zstd,
        [first, second, ..] if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0 => Algorithm::Zlib,
        _ => return None,
    };
    let mut plain = Vec::new();
    Decompressor::new(algorithm).ok()?.push(packet, &mut plain).ok()?;
    are_commands(&plain).then_some(Framing::of(Some(algorithm)))
}

/// True when the last packet of the bytes is not cut, nor continued.
fn ends_with_packet(mut bytes: &[u8]) -> bool {
    while let Some(packet) = packet::next(bytes).filter(|packet| !packet.continues()) {
        bytes = bytes.get(packet.len()..).unwrap_or_default();
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::compressed::Compressor;

    fn framing(bytes: &[u8]) -> Option<Framing> {
        begins_command(bytes).map(|begun| begun.framing)
    }

    fn plain(payload: &[u8]) -> Vec<u8> {
        let (mut out, mut sequence) = (Vec::new(), 0);
        packet::write(&mut out, &mut sequence, payload);
        out
    }

    fn compressed(algorithm: Algorithm, payload: &[u8]) -> Vec<u8> {
        let (mut out, mut sequence) = (Vec::new(), 0);
        Compressor::new(algorithm, 3).unwrap().write(&plain(payload), &mut sequence, &mut out).unwrap();
        out
    }

    #[test]
    fn commands_are_known_by_their_form() {
        for payload in [
            &b"\x03SELECT 1"[..],
            b"\x03\0\x01SELECT 1",
            "\x03SELECT 'ü'".as_bytes(),
            b"\x0e",
            b"\x01",
            b"\x19\x01\0\0\0",
            b"\x02shop",
            b"\x17\x01\0\0\0\0\x01\0\0\0",
            b"\x1c\x01\0\0\0\x05\0\0\0",
        ] {
            assert_eq!(framing(&plain(payload)), Some(Framing::Plain), "{payload:?}");
            assert_eq!(framing(&compressed(Algorithm::Zlib, payload)), Some(Framing::Zlib), "{payload:?}");
        }
        let both = [plain(b"\x19\x01\0\0\0"), plain(b"\x03SELECT 1")].concat();
        assert_eq!(framing(&both), Some(Framing::Plain));
    }

    #[test]
    fn compression_is_known_by_its_header() {
        let text = [b"\x03".as_slice(), &b"SELECT 'a lot of the same' ".repeat(9)].concat();
        assert_eq!(framing(&compressed(Algorithm::Zlib, &text)), Some(Framing::Zlib));
        assert_eq!(framing(&compressed(Algorithm::Zstd, &text)), Some(Framing::Zstd));
    }

    #[test]
    fn a_long_text_may_go_on_in_the_next_segment() {
        let long = plain(&[b"\x03".as_slice(), &b"INSERT INTO t VALUES ".repeat(100)].concat());
        assert_eq!(framing(&long[..1448]), Some(Framing::Plain));
        assert_eq!(framing(&long[..100]), None, "no segment ends so early");
    }

    #[test]
    fn other_bytes_are_no_command() {
        for bytes in [
            &b""[..],
            b"\x01\0\0",
            b"\x01\0\0\x01\x0e",
            b"\x02\0\0\0\x0e\0",
            b"\x08\0\0\0\x03\0\0\0\0\0\0\0",
            b"SELECT 1 FROM t WHERE a = 1",
            b"\x05\0\0\0\x21abcd",
            b"\x01\0\0\0\x0e rest",
        ] {
            assert_eq!(framing(bytes), None, "{bytes:?}");
        }
    }
}
