//! What every message has to stand in a test.

use super::chain::{Chain, plausible};
use super::error::Invalid;
use super::frame::{self, Direction, Frame, HEADER};
use super::{Backend, Frontend};

/// A message with this type and body.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

/// Decodes a whole message of the client, and checks what holds for every message.
pub fn client(bytes: &[u8]) -> Frontend<'_> {
    let frame = framed(Direction::Client, bytes);
    let message = Frontend::decode(frame).unwrap();
    assert_eq!(message.tag(), frame.tag);
    let mut out = b"before".to_vec();
    message.encode(&mut out).unwrap();
    assert_eq!(out.strip_prefix(b"before").unwrap(), bytes);
    message
}

/// Decodes a whole message of the server, and checks what holds for every message.
pub fn server(bytes: &[u8]) -> Backend<'_> {
    let frame = framed(Direction::Server, bytes);
    let message = Backend::decode(frame).unwrap();
    assert_eq!(message.tag(), frame.tag);
    let mut out = b"before".to_vec();
    message.encode(&mut out).unwrap();
    assert_eq!(out.strip_prefix(b"before").unwrap(), bytes);
    message
}

/// Why the client cannot have sent this body.
pub fn invalid_client(tag: u8, body: &[u8]) -> Invalid {
    Frontend::decode(Frame { tag, body, len: body.len() + HEADER }).unwrap_err()
}

/// Why the server cannot have sent this body.
pub fn invalid_server(tag: u8, body: &[u8]) -> Invalid {
    Backend::decode(Frame { tag, body, len: body.len() + HEADER }).unwrap_err()
}

/// Checks that a body with its end missing is refused wherever it is cut, and so is one with a byte too many.
pub fn needs_every_byte(direction: Direction, bytes: &[u8]) {
    let (tag, body) = (bytes[0], &bytes[HEADER..]);
    let longer = [body, b"\0"].concat();
    for body in (0..body.len()).map(|end| &body[..end]).chain([&longer[..]]) {
        let invalid = match direction {
            Direction::Client => invalid_client(tag, body),
            Direction::Server => invalid_server(tag, body),
        };
        assert!(invalid.offset <= HEADER + body.len(), "{invalid}");
    }
}

fn framed(direction: Direction, bytes: &[u8]) -> Frame<'_> {
    for end in 0..bytes.len() {
        let start = &bytes[..end];
        assert_eq!(frame::next(start), Ok(None), "{end} bytes are not complete");
        assert_eq!(frame::next_from(direction, start), Ok(None), "{end} bytes are not complete");
        assert_eq!(plausible(direction, start), Ok(Chain { messages: 0, len: 0 }), "{end} bytes can be a start");
    }
    assert_eq!(plausible(direction, bytes), Ok(Chain { messages: 1, len: bytes.len() }));
    let frame = frame::next(bytes).unwrap().unwrap();
    assert_eq!(frame.len, bytes.len());
    assert_eq!(frame::next_from(direction, bytes), Ok(Some(frame)));
    frame
}
