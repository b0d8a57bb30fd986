//! Names and values with which a client describes itself when it connects or changes its user: [connection attributes].
//!
//! [connection attributes]: https://dev.mysql.com/doc/refman/8.4/en/performance-schema-connection-attribute-tables.html

use std::iter::FusedIterator;

use super::error::Invalid;
use super::read::{self, Reader};
use super::write;

/// Connection attributes. Their bytes were checked when they were decoded; pairs are read as they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// Pairs of name and value, such as `program_name` and `mysql`.
    pub fn iter(&self) -> AttributesIter<'a> {
        AttributesIter(self.0)
    }

    /// The value of the attribute of this name.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Bytes that hold these pairs, for [`Attributes::from_bytes`].
    pub fn bytes<'v>(pairs: impl IntoIterator<Item = (&'v [u8], &'v [u8])>) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in pairs {
            write::string(&mut out, name);
            write::string(&mut out, value);
        }
        out
    }

    /// The attributes in `bytes`, which hold pairs and nothing else.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Invalid> {
        Self::check(Reader::new("connection attributes", bytes))
    }

    /// Reads the length of all pairs, and the pairs.
    pub(super) fn decode(read: &mut Reader<'a>) -> Result<Self, Invalid> {
        let pairs = read.string()?;
        Self::check(Reader::at("connection attributes", read.offset() - pairs.len(), pairs))
    }

    fn check(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let pairs = read.peek();
        while !read.is_empty() {
            read.string()?;
            read.string()?;
        }
        Ok(Attributes(pairs))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write::string(out, self.0);
    }
}

impl<'a> IntoIterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = AttributesIter<'a>;

    fn into_iter(self) -> AttributesIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Attributes`].
#[derive(Clone, Debug)]
pub struct AttributesIter<'a>(&'a [u8]);

impl<'a> Iterator for AttributesIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = read::string(self.0)?;
        let (value, rest) = read::string(rest)?;
        self.0 = rest;
        Some((name, value))
    }
}

impl FusedIterator for AttributesIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let bytes = Attributes::bytes([(&b"_os"[..], &b"Linux"[..]), (b"program_name", b"mysql"), (b"empty", b"")]);
        assert_eq!(bytes[..10], *b"\x03_os\x05Linux");
        let attributes = Attributes::from_bytes(&bytes).unwrap();
        assert_eq!(attributes.get(b"program_name"), Some(&b"mysql"[..]));
        assert_eq!(attributes.get(b"empty"), Some(&b""[..]));
        assert_eq!(attributes.get(b"pid"), None);
        assert_eq!(attributes.into_iter().count(), 3);
    }

    #[test]
    fn a_name_without_value_is_invalid() {
        assert_eq!(Attributes::from_bytes(b"\x01a").unwrap_err().offset, 2);
        assert_eq!(Attributes::from_bytes(b"\x01a\x05b").unwrap_err().offset, 3);
        let mut read = Reader::at("test", 40, b"\x04\x01a\x05b");
        assert_eq!(
            Attributes::decode(&mut read).unwrap_err().offset,
            44,
            "offsets count from the start of the message"
        );
    }
}
