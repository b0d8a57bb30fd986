//! Reads the fields of one message body, and knows where in the message it stands.

use memchr::memchr;

use super::error::Invalid;
use super::frame::{Frame, HEADER};
use super::list::{Formats, Oids, Strings, Values};

/// The field goes on beyond the bytes that are there, but not beyond the length that the message declares.
/// Only seen where a message is not complete; see [`super::chain`].
pub(super) const CUT: &str = "the message is not complete";

const OVERRUN: &str = "a field goes beyond the end of the message";

pub(super) struct Reader<'a> {
    message: &'static str,
    rest: &'a [u8],
    /// Offset in the message at which the bytes that are there end.
    end: usize,
    /// Bytes that the message declares after those.
    missing: usize,
}

impl<'a> Reader<'a> {
    pub fn new(message: &'static str, frame: Frame<'a>) -> Self {
        let end = HEADER + frame.body.len();
        Reader { message, rest: frame.body, end, missing: frame.len.saturating_sub(end) }
    }

    /// For a message without a type byte.
    pub fn untagged(message: &'static str, body: &'a [u8]) -> Self {
        Reader { message, rest: body, end: 4 + body.len(), missing: 0 }
    }

    /// The same bytes, as a message that is now known better.
    pub fn named(self, message: &'static str) -> Self {
        Reader { message, ..self }
    }

    /// Offset in the message of the next field.
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub fn invalid(&self, offset: usize, what: &'static str) -> Invalid {
        Invalid { message: self.message, offset, what }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Invalid> {
        match self.rest.split_at_checked(count) {
            Some((field, rest)) => {
                self.rest = rest;
                Ok(field)
            }
            None => Err(self.short(count)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Invalid> {
        match self.rest.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.rest = rest;
                Ok(*field)
            }
            None => Err(self.short(N)),
        }
    }

    #[cold]
    fn short(&self, count: usize) -> Invalid {
        self.invalid(self.offset(), if count <= self.left() { CUT } else { OVERRUN })
    }

    /// Bytes up to the end that the message declares.
    pub fn left(&self) -> usize {
        self.rest.len() + self.missing
    }

    pub fn u8(&mut self) -> Result<u8, Invalid> {
        self.array().map(u8::from_be_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, Invalid> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn i16(&mut self) -> Result<i16, Invalid> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Invalid> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn i32(&mut self) -> Result<i32, Invalid> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn salt(&mut self) -> Result<[u8; 4], Invalid> {
        self.array()
    }

    /// A string that ends with NUL, without the NUL.
    pub fn string(&mut self) -> Result<&'a [u8], Invalid> {
        match memchr(0, self.rest) {
            Some(end) => {
                let string = self.bytes(end)?;
                self.bytes(1)?;
                Ok(string)
            }
            None if self.missing > 0 => Err(self.invalid(self.offset(), CUT)),
            None => Err(self.invalid(self.offset(), "a string lacks its terminating NUL")),
        }
    }

    /// A length and that many bytes; the length -1 is NULL.
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, Invalid> {
        let offset = self.offset();
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(self.invalid(offset, "a value has a negative length other than -1, which is NULL")),
            },
        }
    }

    /// A count, and that many values.
    pub fn values(&mut self) -> Result<Values<'a>, Invalid> {
        let count = self.u16()?;
        let start = self.rest;
        for _ in 0..count {
            self.value()?;
        }
        Ok(Values::from_wire(count, self.since(start)))
    }

    /// A count, and that many format codes.
    pub fn formats(&mut self) -> Result<Formats<'a>, Invalid> {
        let count = self.u16()?;
        self.bytes(usize::from(count) * 2).map(Formats::from_wire)
    }

    /// A count, and that many object identifiers.
    pub fn oids(&mut self) -> Result<Oids<'a>, Invalid> {
        let count = self.u16()?;
        self.bytes(usize::from(count) * 4).map(Oids::from_wire)
    }

    /// Strings up to an empty one, which ends the list.
    pub fn strings_until_empty(&mut self) -> Result<Strings<'a>, Invalid> {
        let start = self.rest;
        let mut end = start;
        while !self.string()?.is_empty() {
            end = self.rest;
        }
        let (strings, _) = start.split_at(start.len() - end.len());
        Ok(Strings::from_wire(strings))
    }

    /// `count` strings.
    pub fn strings(&mut self, count: u32) -> Result<Strings<'a>, Invalid> {
        let start = self.rest;
        for _ in 0..count {
            self.string()?;
        }
        Ok(Strings::from_wire(self.since(start)))
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
        self.missing = 0;
        std::mem::take(&mut self.rest)
    }

    /// Checks that the message ends here, and passes its content on.
    pub fn end<T>(self, content: T) -> Result<T, Invalid> {
        if self.rest.is_empty() && self.missing == 0 {
            Ok(content)
        } else {
            Err(self.invalid(self.offset(), "bytes follow the last field"))
        }
    }
}
