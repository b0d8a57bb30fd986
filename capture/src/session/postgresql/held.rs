//! The start of a message whose end has not arrived.

/// Capacity that is kept for the next message. Larger buffers are given back.
const KEPT: usize = 64 << 10;

/// What is held back of one direction. Mostly empty: messages are read straight from what arrives, and only one that
/// is cut by the end of a piece is copied.
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

    /// How many more bytes are needed to know the length of the message, or else to have all of it.
    /// `header` is the number of bytes up to the end of its length field, which counts itself.
    pub fn wanted(&self, header: usize) -> usize {
        let length = self.bytes.get(header - 4..).and_then(|rest| rest.first_chunk::<4>());
        let end = match length {
            Some(length) => header - 4 + u32::from_be_bytes(*length) as usize,
            None => header,
        };
        end.saturating_sub(self.bytes.len()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wants_the_length_and_then_the_rest() {
        let held = |bytes: &[u8]| Held { bytes: bytes.to_vec(), since_ns: 0 };
        assert_eq!(held(b"").wanted(5), 5);
        assert_eq!(held(b"Q\0\0").wanted(5), 2);
        assert_eq!(held(b"Q\0\0\0\x08ab").wanted(5), 2);
        assert_eq!(held(b"\0\0\0\x08").wanted(4), 4);
        // A length that is no length: the codec refuses it as soon as it sees more.
        assert_eq!(held(b"Q\0\0\0\0").wanted(5), 1);
    }
}
