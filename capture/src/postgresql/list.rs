//! Lists inside messages. Their bytes were checked when the message was decoded; items are read as they are asked for.

use std::iter::FusedIterator;

use super::write;

/// Values that may be NULL: the columns of a row, the parameters of a Bind, the arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// `bytes` must hold exactly `count` values, each a length and that many bytes.
    pub(super) fn from_wire(count: u16, bytes: &'a [u8]) -> Self {
        Values { count, bytes }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values in order; `None` is NULL.
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter { left: self.count, bytes: self.bytes }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        write::list(out, self.len(), self.bytes)
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Values`].
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    left: u16,
    bytes: &'a [u8],
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        self.left = self.left.checked_sub(1)?;
        let (length, rest) = self.bytes.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.bytes = rest;
            return Some(None);
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.bytes = rest;
        Some(Some(value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.into(), Some(self.left.into()))
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}
impl FusedIterator for ValuesIter<'_> {}

/// Format codes: 0 is text, 1 is binary. None means that all is text, and a single one holds for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats<'a>(&'a [[u8; 2]]);

impl<'a> Formats<'a> {
    pub(super) fn from_wire(bytes: &'a [u8]) -> Self {
        Formats(bytes.as_chunks().0)
    }

    /// How many codes were sent.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when none was sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The codes as sent.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i16> + Clone + use<'a> {
        self.0.iter().map(|code| i16::from_be_bytes(*code))
    }

    /// The code that holds for the item at `index`, by the rule for none, one or many codes.
    /// `None` when many were sent, but not for this item.
    pub fn code(&self, index: usize) -> Option<i16> {
        match self.0 {
            [] => Some(0),
            [all] => Some(i16::from_be_bytes(*all)),
            each => each.get(index).map(|code| i16::from_be_bytes(*code)),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        write::list(out, self.len(), self.0.as_flattened())
    }
}

/// Object identifiers of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oids<'a>(&'a [[u8; 4]]);

impl<'a> Oids<'a> {
    pub(super) fn from_wire(bytes: &'a [u8]) -> Self {
        Oids(bytes.as_chunks().0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The identifiers in order; 0 is a type left open.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        self.0.iter().map(|oid| u32::from_be_bytes(*oid))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        write::list(out, self.len(), self.0.as_flattened())
    }
}

/// Strings, each ended by NUL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strings<'a>(&'a [u8]);

impl<'a> Strings<'a> {
    /// `bytes` must be empty or end with NUL.
    pub(super) fn from_wire(bytes: &'a [u8]) -> Self {
        Strings(bytes)
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The strings in order, without their NUL.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let end = memchr::memchr(0, rest)?;
            let (string, tail) = rest.split_at_checked(end)?;
            rest = tail.get(1..)?;
            Some(string)
        })
    }

    /// The bytes as they stand in the message, each string with its NUL.
    pub fn as_wire(&self) -> &'a [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_tell_null_from_empty() {
        let values = Values::from_wire(3, b"\xff\xff\xff\xff\0\0\0\0\0\0\0\x02hi");
        let items: Vec<_> = values.iter().collect();
        assert_eq!(items, [None, Some(&b""[..]), Some(b"hi")]);
        assert_eq!(values.iter().len(), 3);
    }

    #[test]
    fn values_end_early_rather_than_panic_on_bytes_that_were_not_checked() {
        assert_eq!(Values::from_wire(9, b"\0\0\0\x05hi").iter().count(), 0);
    }

    #[test]
    fn format_codes_hold_for_none_one_or_each() {
        let codes = |bytes| (0..3).map(|index| Formats::from_wire(bytes).code(index)).collect::<Vec<_>>();
        assert_eq!(codes(b""), [Some(0), Some(0), Some(0)]);
        assert_eq!(codes(b"\0\x01"), [Some(1), Some(1), Some(1)]);
        assert_eq!(codes(b"\0\x01\0\0"), [Some(1), Some(0), None]);
    }

    #[test]
    fn strings_may_be_empty() {
        let strings: Vec<_> = Strings::from_wire(b"a\0\0bc\0").iter().collect();
        assert_eq!(strings, [&b"a"[..], b"", b"bc"]);
        assert_eq!(Strings::default().iter().count(), 0);
    }
}
