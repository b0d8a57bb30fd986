//! Whether bytes look like a run of whole messages: how a reader finds its place again after a gap, or when it joins a
//! connection midway.
//!
//! The protocol has no marker for the start of a message. But senders often begin a TCP segment with a message, and the
//! fields of consecutive messages have to add up, so that a run of messages up to the end of a segment is hard to mistake.

use super::backend::Backend;
use super::error::Invalid;
use super::frame::{self, Direction, Frame};
use super::frontend::Frontend;
use super::read::CUT;

/// A run of messages from the start of some bytes to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Complete messages. With none there is no evidence: the bytes are merely not contradicted.
    pub messages: usize,
    /// Bytes of the complete messages. Less than all where the last message is not complete.
    pub len: usize,
}

/// Reads `bytes`, which `direction` sent, as messages up to the end. The last one may be incomplete.
///
/// Fails where the bytes cannot be a run of messages, with the offset from their start. An incomplete last message is
/// checked as far as it goes. A body that may be anything (CopyData, authentication) is no evidence beyond its length.
pub fn plausible(direction: Direction, bytes: &[u8]) -> Result<Chain, Invalid> {
    let mut chain = Chain::default();
    while let Some(rest) = bytes.get(chain.len..).filter(|rest| !rest.is_empty()) {
        let at = |invalid: Invalid| Invalid { offset: chain.len + invalid.offset, ..invalid };
        let Some(frame) = frame::partial(direction, rest).map_err(at)? else { break };
        match check(direction, frame) {
            Err(invalid) if invalid.what != CUT => return Err(at(invalid)),
            _ if rest.len() < frame.len => break,
            _ => {}
        }
        chain.messages += 1;
        chain.len += frame.len;
    }
    Ok(chain)
}

fn check(direction: Direction, frame: Frame<'_>) -> Result<(), Invalid> {
    match direction {
        Direction::Client => Frontend::decode(frame).map(drop),
        Direction::Server => Backend::decode(frame).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::message;
    use super::*;

    fn answer() -> Vec<u8> {
        [message(b'D', b"\0\x01\0\0\0\x0242"), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()
    }

    #[test]
    fn an_answer_is_a_chain_wherever_it_is_cut() {
        let bytes = answer();
        let ends = [13, 27, 33];
        for end in 0..=bytes.len() {
            let messages = ends.iter().filter(|&&message| message <= end).count();
            let len = messages.checked_sub(1).map_or(0, |last| ends[last]);
            assert_eq!(plausible(Direction::Server, &bytes[..end]), Ok(Chain { messages, len }), "{end} bytes");
        }
    }

    #[test]
    fn the_middle_of_an_answer_is_no_chain() {
        let bytes = answer();
        // The last bytes are too few to contradict anything.
        for start in (1..bytes.len() - 4).filter(|start| ![13, 27].contains(start)) {
            let chain = plausible(Direction::Server, &bytes[start..]);
            assert!(chain.is_err_and(|invalid| invalid.offset < bytes.len() - start), "from {start}");
        }
        for start in bytes.len() - 4..bytes.len() {
            let chain = plausible(Direction::Server, &bytes[start..]);
            assert!(chain.is_err() || chain == Ok(Chain { messages: 0, len: 0 }), "from {start}");
        }
    }

    #[test]
    fn an_incomplete_message_is_checked_as_far_as_it_goes() {
        let long = 1000u32.to_be_bytes();
        for (what, direction, body) in [
            ("text goes on after its end", Direction::Client, [b"Q", &long[..], b"SELECT 1\0S"].concat()),
            ("neither statement nor portal", Direction::Client, [b"D", &long[..], b"x"].concat()),
            ("column longer than the message", Direction::Server, [b"D", &long[..], b"\0\x01\0\0\x04\0ab"].concat()),
            ("column with a negative length", Direction::Server, [b"D", &long[..], b"\0\x01\xf0\0\0\0"].concat()),
            ("row ends before the message", Direction::Server, [b"D", &long[..], b"\0\x01\0\0\0\x01a"].concat()),
            ("unknown authentication", Direction::Server, [b"R", &long[..], b"\0\0\0\x63"].concat()),
        ] {
            assert!(plausible(direction, &body).is_err(), "{what}");
        }
    }

    #[test]
    fn the_directions_differ() {
        let bytes = message(b'S', b"");
        assert_eq!(plausible(Direction::Client, &bytes), Ok(Chain { messages: 1, len: 5 }));
        assert!(plausible(Direction::Server, &bytes).is_err());
    }

    #[test]
    fn nothing_is_no_evidence() {
        assert_eq!(plausible(Direction::Client, b""), Ok(Chain { messages: 0, len: 0 }));
    }
}
