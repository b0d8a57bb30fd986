//! Reads the fields of one payload, and knows where in the payload it stands.

use memchr::memchr;

use super::error::Invalid;

const OVERRUN: &str = "a field goes beyond the end of the message";

pub(super) struct Reader<'a> {
    message: &'static str,
    rest: &'a [u8],
    /// Offset in the payload at which the bytes end.
    end: usize,
}

impl<'a> Reader<'a> {
    pub fn new(message: &'static str, payload: &'a [u8]) -> Self {
        Reader { message, rest: payload, end: payload.len() }
    }

    /// For bytes that begin `offset` bytes into their payload.
    pub fn at(message: &'static str, offset: usize, bytes: &'a [u8]) -> Self {
        Reader { message, rest: bytes, end: offset + bytes.len() }
    }

    /// Offset in the payload of the next field.
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub fn invalid(&self, offset: usize, what: &'static str) -> Invalid {
        Invalid { message: self.message, offset, what }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Invalid> {
        match self.rest.split_at_checked(count) {
            Some((field, rest)) => {
                self.rest = rest;
                Ok(field)
            }
            None => Err(self.overrun()),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Invalid> {
        match self.rest.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.rest = rest;
                Ok(*field)
            }
            None => Err(self.overrun()),
        }
    }

    #[cold]
    fn overrun(&self) -> Invalid {
        self.invalid(self.offset(), OVERRUN)
    }

    pub fn u8(&mut self) -> Result<u8, Invalid> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, Invalid> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u24(&mut self) -> Result<u32, Invalid> {
        self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self) -> Result<u32, Invalid> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer; see [`int`].
    pub fn int(&mut self) -> Result<u64, Invalid> {
        match int(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            None => match self.rest.first() {
                Some(0xfb) => Err(self.invalid(self.offset(), "a length is NULL")),
                Some(0xff) => Err(self.invalid(self.offset(), "a length begins with 0xff")),
                _ => Err(self.overrun()),
            },
        }
    }

    /// A length-encoded string.
    pub fn string(&mut self) -> Result<&'a [u8], Invalid> {
        match usize::try_from(self.int()?) {
            Ok(length) => self.bytes(length),
            Err(_) => Err(self.overrun()),
        }
    }

    /// A string that ends with NUL, without the NUL.
    pub fn nul_string(&mut self) -> Result<&'a [u8], Invalid> {
        match memchr(0, self.rest) {
            Some(end) => {
                let string = self.bytes(end)?;
                self.bytes(1)?;
                Ok(string)
            }
            None => Err(self.invalid(self.offset(), "a string lacks its terminating NUL")),
        }
    }

    /// A string that ends with NUL or with the message.
    pub fn nul_string_or_rest(&mut self) -> &'a [u8] {
        self.nul_string().unwrap_or_else(|_| self.rest())
    }

    /// What was read since the rest was `start`.
    pub fn since(&self, start: &'a [u8]) -> &'a [u8] {
        start.split_at(start.len() - self.rest.len()).0
    }

    /// What has not been read yet, without reading it.
    pub fn peek(&self) -> &'a [u8] {
        self.rest
    }

    /// Everything up to the end of the message.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Checks that the message ends here, and passes its content on.
    pub fn end<T>(self, content: T) -> Result<T, Invalid> {
        if self.rest.is_empty() { Ok(content) } else { Err(self.invalid(self.offset(), "bytes follow the last field")) }
    }
}

/// The [length-encoded integer] at the start of `bytes`, and what follows it. `None` where it is cut off, and for 0xfb
/// (NULL) and 0xff, which begin no integer.
///
/// [length-encoded integer]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html
#[inline]
pub(super) fn int(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    match first {
        0..=0xfa => Some((first.into(), rest)),
        0xfc => rest.split_first_chunk().map(|(value, rest)| (u16::from_le_bytes(*value).into(), rest)),
        0xfd => rest.split_first_chunk().map(|(&[a, b, c], rest)| (u32::from_le_bytes([a, b, c, 0]).into(), rest)),
        0xfe => rest.split_first_chunk().map(|(value, rest)| (u64::from_le_bytes(*value), rest)),
        0xfb | 0xff => None,
    }
}

/// The length-encoded string at the start of `bytes`, and what follows it.
#[inline]
pub(super) fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = int(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length() {
        // The examples of the manual's page on integers, and the limits of each form.
        for (bytes, value) in [
            (&b"\x00"[..], 0),
            (b"\xfa", 250),
            (b"\xfc\xfb\x00", 251),
            (b"\xfc\xff\xff", 65_535),
            (b"\xfd\x00\x00\x01", 65_536),
            (b"\xfd\xff\xff\xff", 16_777_215),
            (b"\xfe\x00\x00\x00\x01\x00\x00\x00\x00", 16_777_216),
            (b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", u64::MAX),
        ] {
            let mut read = Reader::new("test", bytes);
            assert_eq!(read.int(), Ok(value));
            assert!(read.is_empty());
            for end in 0..bytes.len() {
                assert_eq!(Reader::new("test", &bytes[..end]).int().unwrap_err().what, OVERRUN);
            }
        }
    }

    #[test]
    fn bytes_that_begin_no_integer() {
        for bytes in [b"\xfb\0\0", b"\xff\0\0"] {
            let mut read = Reader::new("test", bytes);
            assert_eq!(read.int().unwrap_err().offset, 0);
            assert_eq!(read.peek(), bytes, "nothing is taken");
        }
    }

    #[test]
    fn offsets_count_from_the_start_of_the_payload() {
        let mut read = Reader::new("test", b"ab\0\x05cd");
        assert_eq!(read.nul_string(), Ok(&b"ab"[..]));
        assert_eq!(read.string().unwrap_err(), Invalid { message: "test", offset: 4, what: OVERRUN });
        assert_eq!(Reader::at("test", 10, b"x").u16().unwrap_err().offset, 10);
    }
}
