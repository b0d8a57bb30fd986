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
    /// True when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Holds the start of a message, whose first byte arrived at `since_ns`.
    pub fn hold(&mut self, since_ns: i64, bytes: &[u8]) {
        self.since_ns = since_ns;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes from `rest` what is missing of a message that is `length` bytes long, or one byte where nothing is, and
    /// returns what it leaves.
    pub fn fill<'a>(&mut self, length: usize, rest: &'a [u8]) -> &'a [u8] {
        let wanted = length.saturating_sub(self.bytes.len()).max(1);
        let (now, later) = rest.split_at(wanted.min(rest.len()));
        self.bytes.extend_from_slice(now);
        later
    }

    /// Forgets the bytes and returns how many there were.
    pub fn clear(&mut self) -> u64 {
        let count = self.bytes.len() as u64;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_what_is_missing_and_goes_on_where_the_length_is_wrong() {
        let mut held = Held::default();
        held.hold(7, b"Q\0");
        assert_eq!(held.fill(5, b"\0\0\x08ab"), b"ab");
        assert_eq!(held.fill(9, b"ab"), b"");
        assert_eq!(held.fill(9, b"c\0X"), b"X");
        assert_eq!((held.bytes.as_slice(), held.since_ns), (&b"Q\0\0\0\x08abc\0"[..], 7));
        // The codec refuses such a message as soon as it sees more.
        assert_eq!(held.fill(0, b"XY"), b"Y");
        assert_eq!(held.clear(), 10);
        assert!(held.is_empty());
    }
}
