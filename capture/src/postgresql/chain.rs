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
