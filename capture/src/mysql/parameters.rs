//! Values that the client sends in the binary protocol: the parameters of an execution, and [query attributes].
//!
//! [query attributes]: https://dev.mysql.com/doc/refman/8.4/en/query-attributes.html

use std::iter::FusedIterator;

use super::error::Invalid;
use super::kind::{Kind, ParamType};
use super::read::{self, Reader};
use super::write;

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name, which only query attributes have; else empty.
    pub name: &'a [u8],
    /// Its type.
    pub kind: ParamType,
    /// Its value.
    pub value: Content<'a>,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// NULL.
    Null,
    /// The value without its length; [`Value`](super::Value) reads it.
    Bytes(&'a [u8]),
    /// It was sent before, by COM_STMT_SEND_LONG_DATA.
    Long,
}

/// What has to be known of a prepared statement to read an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known<'a> {
    /// Parameters, as the answer to COM_STMT_PREPARE told.
    pub parameters: u16,
    /// Their types as last sent, for an execution that does not send them; else empty.
    pub types: &'a [ParamType],
    /// Numbers (from 0) of the parameters that were sent as long data since the last execution or reset.
    pub long: &'a [u16],
}

/// Parameters. Their bytes were checked when they were decoded; items are read as they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters<'a> {
    count: u16,
    nulls: &'a [u8],
    types: Types<'a>,
    values: &'a [u8],
    long: &'a [u16],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Types<'a> {
    Sent { bytes: &'a [u8], named: bool },
    Known(&'a [ParamType]),
}

impl Default for Types<'_> {
    fn default() -> Self {
        Types::Known(&[])
    }
}

impl<'a> Types<'a> {
    /// Takes the next type and name.
    fn split(&mut self) -> Option<(ParamType, &'a [u8])> {
        match self {
            Types::Sent { bytes, named } => {
                let (kind, rest) = bytes.split_first_chunk()?;
                let (name, rest) = if *named { read::string(rest)? } else { (&b""[..], rest) };
                *bytes = rest;
                Some((ParamType(u16::from_le_bytes(*kind)), name))
            }
            Types::Known(types) => {
                let (kind, rest) = types.split_first()?;
                *types = rest;
                Some((*kind, b""))
            }
        }
    }
}

impl<'a> Parameters<'a> {
    /// Parameters in the order of the statement.
    pub fn iter(&self) -> ParametersIter<'a> {
        ParametersIter { rest: *self, index: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True when the types were sent with the values ("new parameters bound").
    pub fn sent_types(&self) -> bool {
        matches!(self.types, Types::Sent { .. })
    }

    /// Reads null bits, types and values of `known.parameters` parameters; nothing when there is none.
    pub(super) fn decode(read: &mut Reader<'a>, known: Known<'a>, named: bool) -> Result<Self, Invalid> {
        let count = known.parameters;
        if count == 0 {
            return Ok(Parameters::default());
        }
        let nulls = read.bytes(usize::from(count).div_ceil(8))?;
        let offset = read.offset();
        let types = match read.u8()? {
            0 if known.types.len() < count.into() => {
                return Err(read.invalid(offset, "types are not sent, and were not sent before"));
            }
            0 => Types::Known(known.types),
            _ => {
                let start = read.peek();
                for _ in 0..count {
                    read.u16()?;
                    if named {
                        read.string()?;
                    }
                }
                Types::Sent { bytes: read.since(start), named }
            }
        };
        let start = read.peek();
        let parameters = Parameters { count, nulls, types, values: start, long: known.long };
        let mut list = types;
        for index in 0..count {
            if let Some((kind, _)) = list.split()
                && parameters.has_value(index)
            {
                kind.kind().read(read)?;
            }
        }
        Ok(Parameters { values: read.since(start), ..parameters })
    }

    fn is_null(&self, index: u16) -> bool {
        self.nulls.get(usize::from(index / 8)).is_some_and(|bits| bits >> (index % 8) & 1 != 0)
    }

    fn has_value(&self, index: u16) -> bool {
        !self.long.contains(&index) && !self.is_null(index)
    }
}

impl<'a> IntoIterator for Parameters<'a> {
    type Item = Parameter<'a>;
    type IntoIter = ParametersIter<'a>;

    fn into_iter(self) -> ParametersIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Parameters`].
#[derive(Clone, Debug)]
pub struct ParametersIter<'a> {
    rest: Parameters<'a>,
    index: u16,
}

impl<'a> Iterator for ParametersIter<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        if self.index == self.rest.count {
            return None;
        }
        let (kind, name) = self.rest.types.split()?;
        let value = if self.rest.long.contains(&self.index) {
            Content::Long
        } else if self.rest.is_null(self.index) || kind.kind() == Kind::NULL {
            Content::Null
        } else {
            let (content, rest) = kind.kind().split(self.rest.values)?;
            self.rest.values = rest;
            Content::Bytes(content)
        };
        self.index += 1;
        Some(Parameter { name, kind, value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.rest.count - self.index);
        (left, Some(left))
    }
}

impl ExactSizeIterator for ParametersIter<'_> {}
impl FusedIterator for ParametersIter<'_> {}

/// Writes null bits, types if `send_types`, names if also `named`, and values; nothing when there is no parameter.
///
/// A value of [`Kind::NULL`] is written as NULL, whatever it holds.
pub(super) fn write(out: &mut Vec<u8>, parameters: &[Parameter<'_>], send_types: bool, named: bool) -> write::Field {
    if parameters.is_empty() {
        return Ok(());
    }
    let nulls = out.len();
    out.resize(nulls + parameters.len().div_ceil(8), 0);
    out.push(send_types.into());
    if send_types {
        for parameter in parameters {
            out.extend(parameter.kind.0.to_le_bytes());
            if named {
                write::string(out, parameter.name);
            }
        }
    }
    for (index, parameter) in parameters.iter().enumerate() {
        match parameter.value {
            Content::Bytes(content) if parameter.kind.kind() != Kind::NULL => {
                parameter.kind.kind().write(out, content)?;
            }
            Content::Long => {}
            Content::Null | Content::Bytes(_) => {
                if let Some(bits) = out.get_mut(nulls + index / 8) {
                    *bits |= 1 << (index % 8);
                }
            }
        }
    }
    Ok(())
}
