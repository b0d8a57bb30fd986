//! A stream of bytes, looked at record by record.

use std::io::{self, Read};

/// Bytes that are read together.
const CHUNK: usize = 1 << 18;

/// What has been read of a stream and is not used yet. Records are handed out where they stand, without a copy.
pub(super) struct Buffer {
    raw: Box<dyn Read>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes that were used before `start`.
    offset: u64,
    ended: bool,
    failure: Option<io::Error>,
}

impl Buffer {
    pub fn new(raw: Box<dyn Read>) -> Self {
        Buffer { raw, bytes: Vec::new(), start: 0, end: 0, offset: 0, ended: false, failure: None }
    }

    /// Bytes that were used so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `n` bytes, which stay; fewer only at the end of the stream.
    #[inline]
    pub fn peek(&mut self, n: usize) -> &[u8] {
        if self.end - self.start < n {
            self.fill(n);
        }
        let end = self.end.min(self.start.saturating_add(n));
        self.bytes.get(self.start..end).unwrap_or_default()
    }

    /// The next `N` bytes, which stay; `None` where the stream ends before.
    #[inline]
    pub fn header<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.peek(N).first_chunk().copied()
    }

    /// Uses the next `n` bytes; `None` where the stream ends before, and nothing is used then.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&[u8]> {
        if self.peek(n).len() < n {
            return None;
        }
        let from = self.start;
        self.start += n;
        self.offset += n as u64;
        self.bytes.get(from..self.start)
    }

    /// Why the stream ended, where that was not its end.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    #[cold]
    fn fill(&mut self, n: usize) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.bytes.len() < n.max(CHUNK) {
            self.bytes.resize(n.max(CHUNK), 0);
        }
        while self.end < n && !self.ended {
            match self.raw.read(self.bytes.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.failure = Some(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, and an error at the end.
    struct Slow(u8);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 10 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer[0] = self.0;
            self.0 += 1;
            Ok(1)
        }
    }

    #[test]
    fn bytes_are_used_once_and_in_order() {
        let mut buffer = Buffer::new(Box::new(Slow(0)));
        assert_eq!(buffer.header(), Some([0, 1, 2]));
        assert_eq!(buffer.take(2), Some(&[0, 1][..]));
        assert_eq!(buffer.peek(3), [2, 3, 4]);
        assert_eq!(buffer.offset(), 2);
        assert_eq!(buffer.take(9), None);
        assert_eq!(buffer.header::<9>(), None);
        assert_eq!(buffer.take(8), Some(&[2, 3, 4, 5, 6, 7, 8, 9][..]));
        assert!(buffer.peek(1).is_empty());
        assert_eq!(buffer.offset(), 10);
        assert_eq!(buffer.failure().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
    }
}
