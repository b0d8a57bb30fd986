//! Where a message ends: its type byte, its length, and the lengths that make sense for its type.
//!
//! A length outside the limits of its type is refused before the message is complete. Otherwise a reader that lost its
//! place would wait for up to a gigabyte that never comes.

use super::error::Invalid;
use super::startup::{self, Startup};

/// Longest message of any type, without its type byte. PostgreSQL builds messages in buffers below 1 GiB.
const LARGE: u32 = 0x3fff_ffff;
/// `PQ_SMALL_MESSAGE_LIMIT` in PostgreSQL's `libpq.h`: what a server accepts of the messages that carry only names.
const SMALL_TO_SERVER: u32 = 10_000;
/// Limit in libpq's `pqParseInput3` for messages that have no reason to be long.
const SMALL_TO_CLIENT: u32 = 30_000;
/// `PG_MAX_AUTH_TOKEN_LENGTH` in PostgreSQL's `auth.c`.
const AUTH_TOKEN: u32 = 65_535;
/// `MAX_STARTUP_PACKET_LENGTH` in PostgreSQL's `pqcomm.h`; it does not count the length field itself.
pub(super) const STARTUP: u32 = 10_000 + 4;

/// Bytes before the body: type and length.
pub(super) const HEADER: usize = 5;

/// Who sends a message. The same type byte means different messages in the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Sent by the client (frontend).
    Client,
    /// Sent by the server (backend).
    Server,
}

/// One message with a type byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Type byte.
    pub tag: u8,
    /// What follows the length.
    pub body: &'a [u8],
    /// Bytes of the whole message: type, length and body.
    pub len: usize,
}

/// The message at the start of `buf`, whoever sent it. `Ok(None)` when it is not complete yet.
///
/// Prefer [`next_from`] where the direction is known: it knows tighter limits.
pub fn next(buf: &[u8]) -> Result<Option<Frame<'_>>, Invalid> {
    let limits = |tag| match (limits(Direction::Client, tag), limits(Direction::Server, tag)) {
        (Some((min, max)), Some((other_min, other_max))) => Some((min.min(other_min), max.max(other_max))),
        (one, other) => one.or(other),
    };
    Ok(split(buf, limits)?.filter(|frame| frame.body.len() + HEADER == frame.len))
}

/// The message at the start of `buf`, which `direction` sent. `Ok(None)` when it is not complete yet.
pub fn next_from(direction: Direction, buf: &[u8]) -> Result<Option<Frame<'_>>, Invalid> {
    Ok(split(buf, |tag| limits(direction, tag))?.filter(|frame| frame.body.len() + HEADER == frame.len))
}

/// The message at the start of `buf`, which `direction` sent, with as much of its body as is there.
/// `Ok(None)` when not even its length is complete.
pub(super) fn partial(direction: Direction, buf: &[u8]) -> Result<Option<Frame<'_>>, Invalid> {
    split(buf, |tag| limits(direction, tag))
}

/// The first message of a connection, which has no type byte: what the client wants to begin.
/// `Ok(None)` when it is not complete yet.
///
/// After the answer to an SSL or GSS request another such message follows. Its length is [`Startup::wire_len`].
pub fn next_startup(buf: &[u8]) -> Result<Option<Startup<'_>>, Invalid> {
    let Some((length, rest)) = buf.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    if !(8..=STARTUP).contains(&length) {
        let what = "the length is outside 8 to 10004, so this is not the start of a PostgreSQL connection";
        return Err(Invalid { message: "StartupMessage", offset: 0, what });
    }
    match rest.get(..length as usize - 4) {
        Some(body) => startup::decode(body).map(Some),
        None => Ok(None),
    }
}

/// Length of the message that `buf` begins, by its length field, which `before` bytes stand before; the bytes up to the end
/// of that field where it is not complete. For a reader that waits: only [`next_from`] judges the length.
pub(crate) fn length(before: usize, buf: &[u8]) -> usize {
    let length = buf.get(before..).and_then(|rest| rest.first_chunk::<4>());
    before + length.map_or(4, |length| u32::from_be_bytes(*length) as usize)
}

fn split(buf: &[u8], limits: impl Fn(u8) -> Option<(u32, u32)>) -> Result<Option<Frame<'_>>, Invalid> {
    let Some((&tag, rest)) = buf.split_first() else {
        return Ok(None);
    };
    let Some((min, max)) = limits(tag) else {
        return Err(Invalid { message: "message", offset: 0, what: "unknown message type" });
    };
    let Some((length, rest)) = rest.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    if length < min {
        return Err(Invalid { message: "message", offset: 1, what: "the length is too small for the message type" });
    }
    if length > max {
        return Err(Invalid { message: "message", offset: 1, what: "the length is too large for the message type" });
    }
    let body = rest.get(..length as usize - 4).unwrap_or(rest);
    Ok(Some(Frame { tag, body, len: length as usize + 1 }))
}

/// Shortest and longest value of the length field of a message type; `None` for a type that `direction` never sends.
pub(super) fn limits(direction: Direction, tag: u8) -> Option<(u32, u32)> {
    let limits = match direction {
        Direction::Client => match tag {
            b'Q' => (5, LARGE),
            b'P' => (8, LARGE),
            b'B' => (12, LARGE),
            b'D' | b'C' => (6, SMALL_TO_SERVER),
            b'E' => (9, SMALL_TO_SERVER),
            b'S' | b'H' | b'c' | b'X' => (4, 4),
            b'F' => (14, LARGE),
            b'd' => (4, LARGE),
            b'f' => (5, SMALL_TO_SERVER),
            b'p' => (4, AUTH_TOKEN),
            _ => return None,
        },
        Direction::Server => match tag {
            b'R' => (8, SMALL_TO_CLIENT),
            b'K' => (12, 8 + startup::LONGEST_SECRET as u32),
            b'v' => (12, SMALL_TO_CLIENT),
            // libpq takes 30000 here. Other clients take any, and search_path is reported and can be long.
            b'S' => (6, LARGE),
            b'Z' => (5, 5),
            b'T' | b'D' => (6, LARGE),
            b't' => (6, LARGE),
            b'C' => (5, SMALL_TO_CLIENT),
            b'I' | b'1' | b'2' | b'3' | b'n' | b's' | b'c' => (4, 4),
            b'E' | b'N' => (5, LARGE),
            b'A' => (10, LARGE),
            b'G' | b'H' | b'W' => (7, SMALL_TO_CLIENT),
            b'd' => (4, LARGE),
            b'V' => (8, LARGE),
            _ => return None,
        },
    };
    Some(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_incomplete_until_its_last_byte() {
        let bytes = b"Q\0\0\0\x06a\0rest";
        for end in 0..7 {
            assert_eq!(next(&bytes[..end]), Ok(None), "{end} bytes");
            assert_eq!(next_from(Direction::Client, &bytes[..end]), Ok(None), "{end} bytes");
        }
        let frame = next(bytes).unwrap().unwrap();
        assert_eq!(frame, Frame { tag: b'Q', body: b"a\0", len: 7 });
        assert_eq!(next_from(Direction::Client, bytes), Ok(Some(frame)));
    }

    #[test]
    fn lengths_outside_the_limits_are_invalid_before_the_message_is_complete() {
        for (direction, bytes) in [
            (Direction::Client, &b"Q\0\0\0\x03"[..]),
            (Direction::Client, b"Q\0\0\0\x04"),
            (Direction::Client, b"Q\xff\xff\xff\xff"),
            (Direction::Client, b"Q\x40\0\0\0"),
            (Direction::Client, b"S\0\0\0\x05"),
            (Direction::Client, b"E\0\0\x27\x11"),
            (Direction::Server, b"Z\0\0\0\x06"),
            (Direction::Server, b"C\0\0\x75\x31"),
            (Direction::Server, b"K\0\0\x01\x09"),
            (Direction::Server, b"D\x40\0\0\0"),
        ] {
            assert_eq!(next_from(direction, bytes).unwrap_err().offset, 1, "{bytes:?}");
        }
    }

    #[test]
    fn long_messages_of_the_types_that_may_be_long_are_awaited() {
        for tag in *b"DdTtVENAS" {
            assert_eq!(next_from(Direction::Server, &[tag, 0x3f, 0xff, 0xff, 0xff, 0]), Ok(None));
        }
        for tag in *b"QPBdF" {
            assert_eq!(next_from(Direction::Client, &[tag, 0x3f, 0xff, 0xff, 0xff, 0]), Ok(None));
        }
    }

    #[test]
    fn a_type_byte_belongs_to_its_direction() {
        let unknown = |direction, tag| next_from(direction, &[tag]).is_err_and(|invalid| invalid.offset == 0);
        assert!(unknown(Direction::Server, b'Q') && !unknown(Direction::Client, b'Q'));
        assert!(unknown(Direction::Client, b'Z') && !unknown(Direction::Server, b'Z'));
        assert!(next(b"Q").is_ok() && next(b"Z").is_ok() && next(b"!").is_err());
    }

    #[test]
    fn a_reader_waits_for_the_length_and_then_for_the_rest() {
        assert_eq!([&b""[..], b"Q\0\0\0"].map(|bytes| length(1, bytes)), [5, 5]);
        assert_eq!([&b"Q\0\0\0\x08"[..], b"Q\0\0\0\x08ab", b"Q\0\0\0\0"].map(|bytes| length(1, bytes)), [9, 9, 1]);
        assert_eq!([&b"\0\0\0"[..], b"\0\0\0\x08"].map(|bytes| length(0, bytes)), [4, 8]);
    }

    #[test]
    fn either_direction_takes_the_wider_limits() {
        // Sync of the client has no body; ParameterStatus of the server has the same type byte and any length.
        assert!(next(b"S\0\0\0\x04").unwrap().is_some());
        assert!(next(b"S\0\0\0\x06\0\0").unwrap().is_some());
        assert!(next(b"S\0\0\0\x03").is_err());
    }
}
