//! Rows, in the [text protocol] and in the [binary protocol].
//!
//! [text protocol]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_row.html
//! [binary protocol]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html#sect_protocol_binary_resultset_row

use std::iter::FusedIterator;

use super::error::{Invalid, Unencodable};
use super::kind::Kind;
use super::read::{self, Reader};
use super::write;

/// First byte of a NULL in a text row.
const NULL: u8 = 0xfb;
/// Null bits of a binary row begin with the third.
const NULL_OFFSET: usize = 2;

/// A row of the text protocol. Its bytes were checked when it was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRow<'a>(&'a [u8]);

impl<'a> TextRow<'a> {
    /// Reads the payload of a row with this many columns.
    pub fn decode(payload: &'a [u8], columns: u64) -> Result<Self, Invalid> {
        let mut read = Reader::new("text row", payload);
        for _ in 0..columns {
            match read.peek().first() {
                Some(&NULL) => drop(read.u8()?),
                _ => drop(read.string()?),
            }
        }
        read.end(TextRow(payload))
    }

    /// The columns as text; `None` is NULL.
    pub fn iter(&self) -> TextRowIter<'a> {
        TextRowIter(self.0)
    }

    /// Appends the payload of a row to `out`.
    pub fn write<'v>(out: &mut Vec<u8>, columns: impl IntoIterator<Item = Option<&'v [u8]>>) {
        for column in columns {
            match column {
                Some(text) => write::string(out, text),
                None => out.push(NULL),
            }
        }
    }
}

impl<'a> IntoIterator for TextRow<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = TextRowIter<'a>;

    fn into_iter(self) -> TextRowIter<'a> {
        self.iter()
    }
}

/// Iterator over a [`TextRow`].
#[derive(Clone, Debug)]
pub struct TextRowIter<'a>(&'a [u8]);

impl<'a> Iterator for TextRowIter<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((&NULL, rest)) = self.0.split_first() {
            self.0 = rest;
            return Some(None);
        }
        let (text, rest) = read::string(self.0)?;
        self.0 = rest;
        Some(Some(text))
    }
}

impl FusedIterator for TextRowIter<'_> {}

/// A row of the binary protocol. Its bytes were checked when it was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryRow<'a> {
    nulls: &'a [u8],
    values: &'a [u8],
    kinds: &'a [Kind],
}

impl<'a> BinaryRow<'a> {
    /// Reads the payload of a row whose columns have these types.
    pub fn decode(payload: &'a [u8], kinds: &'a [Kind]) -> Result<Self, Invalid> {
        let mut read = Reader::new("binary row", payload);
        if read.u8()? != 0 {
            return Err(read.invalid(0, "the first byte is not 0x00"));
        }
        let nulls = read.bytes((kinds.len() + NULL_OFFSET).div_ceil(8))?;
        let values = read.peek();
        for (index, kind) in kinds.iter().enumerate() {
            if !is_null(nulls, index) {
                kind.read(&mut read)?;
            }
        }
        read.end(BinaryRow { nulls, values, kinds })
    }

    /// The columns: their type and their value without its length; `None` is NULL.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, Option<&'a [u8]>)> + use<'a> {
        let BinaryRow { nulls, values: mut rest, kinds } = *self;
        kinds.iter().enumerate().map_while(move |(index, &kind)| {
            if is_null(nulls, index) {
                return Some((kind, None));
            }
            let (value, after) = kind.split(rest)?;
            rest = after;
            Some((kind, Some(value)))
        })
    }

    /// Appends the payload of a row with these columns to `out`.
    pub fn write(out: &mut Vec<u8>, columns: &[(Kind, Option<&[u8]>)]) -> Result<(), Unencodable> {
        write::message(out, "binary row", |out| {
            out.push(0);
            let nulls = out.len();
            out.resize(nulls + (columns.len() + NULL_OFFSET).div_ceil(8), 0);
            for (index, (kind, value)) in columns.iter().enumerate() {
                let bit = index + NULL_OFFSET;
                match value {
                    Some(value) => kind.write(out, value)?,
                    None => {
                        if let Some(bits) = out.get_mut(nulls + bit / 8) {
                            *bits |= 1 << (bit % 8);
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

fn is_null(nulls: &[u8], index: usize) -> bool {
    let bit = index + NULL_OFFSET;
    nulls.get(bit / 8).is_some_and(|bits| bits >> (bit % 8) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_every_byte, unwritten, written};

    #[test]
    fn text() {
        let payload = b"\x0242\xfb\x00";
        let row = TextRow::decode(payload, 3).unwrap();
        let columns: Vec<_> = row.iter().collect();
        assert_eq!(columns, [Some(&b"42"[..]), None, Some(b"")]);
        let mut out = Vec::new();
        TextRow::write(&mut out, columns);
        assert_eq!(out, payload);
        needs_every_byte(payload, 0, |payload| TextRow::decode(payload, 3).err());
        assert!(TextRow::decode(b"\xff", 1).is_err());
    }

    #[test]
    fn binary() {
        // The example of the manual.
        let payload = hex("00 00 06 666f6f626172");
        let row = BinaryRow::decode(&payload, &[Kind::VAR_STRING]).unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), [(Kind::VAR_STRING, Some(&b"foobar"[..]))]);
        needs_every_byte(&payload, 0, |payload| BinaryRow::decode(payload, &[Kind::VAR_STRING]).err());
        assert_eq!(BinaryRow::decode(b"\x01\0", &[Kind::TINY]).unwrap_err().offset, 0);
    }

    #[test]
    fn null_bits_begin_with_the_third() {
        let kinds = [Kind::TINY; 8];
        // Columns 0 and 6 are NULL: bit 2 of the first byte, bit 0 of the second.
        let payload = hex("00 04 01 01 02 03 04 05 07");
        let columns: Vec<_> = BinaryRow::decode(&payload, &kinds).unwrap().iter().collect();
        let values: Vec<_> = columns.iter().map(|(_, value)| value.map(|value| value[0])).collect();
        assert_eq!(values, [None, Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(7)]);
        assert_eq!(written(|out| BinaryRow::write(out, &columns)), payload);
    }

    #[test]
    fn a_value_must_have_the_length_of_its_type() {
        unwritten(|out| BinaryRow::write(out, &[(Kind::LONG, Some(b"abc"))]));
    }
}
