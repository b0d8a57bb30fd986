//! The start of a packet whose end has not arrived.

use crate::mysql::packet::{HEADER, header};

/// Capacity that is kept for the next packet. Larger buffers are given back.
const KEPT: usize = 64 << 10;

/// What is held back of one direction. Mostly empty: packets are read straight from what arrives, and only one that is
/// cut by the end of a piece is copied.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub bytes: Vec<u8>,
    /// When the first of them arrived.
    pub since_ns: i64,
}

impl Held {
    /// Forgets the bytes and returns how many there were.
    pub fn clear(&mut self) -> u64 {
        let count = self.bytes.len() as u64;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        count
    }

    /// How many more bytes are needed to know the length of the packet, or else to have all of it; at least 1.
    pub fn wanted(&self) -> usize {
        let end = header(&self.bytes).map_or(HEADER, |(length, _)| HEADER + length);
        end.saturating_sub(self.bytes.len()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wants_the_header_and_then_the_rest() {
        let held = |bytes: &[u8]| Held { bytes: bytes.to_vec(), since_ns: 0 };
        assert_eq!(held(b"").wanted(), 4);
        assert_eq!(held(b"\x05\0").wanted(), 2);
        assert_eq!(held(b"\x05\0\0\0\x03S").wanted(), 3);
        assert_eq!(held(b"\0\0\0\0").wanted(), 1);
    }
}
