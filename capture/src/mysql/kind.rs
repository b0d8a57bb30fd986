//! Types of values: [of columns](https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html), and of
//! parameters, which add a sign.

use super::error::Invalid;
use super::read::{self, Reader};
use super::write;

/// Type of a column or of a value, `enum_field_types` in the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

macro_rules! kinds {
    ($($name:ident = $code:expr;)*) => {
        impl Kind {
            $(
                #[doc = concat!("`MYSQL_TYPE_", stringify!($name), "`.")]
                pub const $name: Kind = Kind($code);
            )*

            /// The name behind `MYSQL_TYPE_`; `None` for a type that neither MySQL nor MariaDB has.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    DECIMAL = 0;
    TINY = 1;
    SHORT = 2;
    LONG = 3;
    FLOAT = 4;
    DOUBLE = 5;
    NULL = 6;
    TIMESTAMP = 7;
    LONGLONG = 8;
    INT24 = 9;
    DATE = 10;
    TIME = 11;
    DATETIME = 12;
    YEAR = 13;
    NEWDATE = 14;
    VARCHAR = 15;
    BIT = 16;
    TIMESTAMP2 = 17;
    DATETIME2 = 18;
    TIME2 = 19;
    TYPED_ARRAY = 20;
    VECTOR = 242;
    INVALID = 243;
    BOOL = 244;
    JSON = 245;
    NEWDECIMAL = 246;
    ENUM = 247;
    SET = 248;
    TINY_BLOB = 249;
    MEDIUM_BLOB = 250;
    LONG_BLOB = 251;
    BLOB = 252;
    VAR_STRING = 253;
    STRING = 254;
    GEOMETRY = 255;
}

/// How a value of a type is laid out in the [binary protocol].
///
/// [binary protocol]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html#sect_protocol_binary_resultset_row_value
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// This many bytes.
    Fixed(usize),
    /// A length in one byte, and that many bytes: dates and times, without trailing zero fields.
    Temporal,
    /// A length-encoded string.
    String,
}

impl Kind {
    /// How a value of this type is laid out.
    #[inline]
    pub fn layout(self) -> Layout {
        match self {
            Kind::NULL => Layout::Fixed(0),
            Kind::TINY | Kind::BOOL => Layout::Fixed(1),
            Kind::SHORT | Kind::YEAR => Layout::Fixed(2),
            Kind::LONG | Kind::INT24 | Kind::FLOAT => Layout::Fixed(4),
            Kind::LONGLONG | Kind::DOUBLE => Layout::Fixed(8),
            Kind::DATE | Kind::DATETIME | Kind::TIMESTAMP | Kind::TIME | Kind::NEWDATE => Layout::Temporal,
            _ => Layout::String,
        }
    }

    /// The content of the value at the start of `bytes`, without its length, and what follows it. `None` where it is
    /// cut off.
    #[inline]
    pub(super) fn split(self, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        match self.layout() {
            Layout::Fixed(length) => bytes.split_at_checked(length),
            Layout::Temporal => {
                let (&length, rest) = bytes.split_first()?;
                rest.split_at_checked(length.into())
            }
            Layout::String => read::string(bytes),
        }
    }

    /// Reads a value of this type: its content, without its length.
    pub(super) fn read<'a>(self, read: &mut Reader<'a>) -> Result<&'a [u8], Invalid> {
        match self.layout() {
            Layout::Fixed(length) => read.bytes(length),
            Layout::Temporal => {
                let length = read.u8()?;
                read.bytes(length.into())
            }
            Layout::String => read.string(),
        }
    }

    /// Writes a value of this type with this content, and its length where the type has one.
    pub(super) fn write(self, out: &mut Vec<u8>, content: &[u8]) -> write::Field {
        match self.layout() {
            Layout::Fixed(length) if content.len() == length => out.extend_from_slice(content),
            Layout::Fixed(_) => return Err("a value does not have the length of its type"),
            Layout::Temporal => write::short_string(out, content)?,
            Layout::String => write::string(out, content),
        }
        Ok(())
    }
}

/// Type of a parameter as the client sends it: a [`Kind`], and in the highest bit whether it is unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamType(pub u16);

impl ParamType {
    const UNSIGNED: u16 = 0x8000;

    /// The type of this kind.
    pub const fn new(kind: Kind, unsigned: bool) -> Self {
        ParamType(kind.0 as u16 | if unsigned { Self::UNSIGNED } else { 0 })
    }

    /// The type without its sign.
    #[inline]
    pub const fn kind(self) -> Kind {
        Kind(self.0 as u8)
    }

    /// True when the values are unsigned.
    pub const fn unsigned(self) -> bool {
        self.0 & Self::UNSIGNED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::hex;

    #[test]
    fn layouts() {
        for (kind, wire, content) in [
            (Kind::NULL, "", ""),
            (Kind::TINY, "07", "07"),
            (Kind::SHORT, "0708", "0708"),
            (Kind::YEAR, "e007", "e007"),
            (Kind::INT24, "07080900", "07080900"),
            (Kind::DOUBLE, "6666666666662440", "6666666666662440"),
            (Kind::DATE, "04da07 0a11", "da070a11"),
            (Kind::TIME, "00", ""),
            (Kind::NEWDECIMAL, "04 31302e32", "31302e32"),
            (Kind::VECTOR, "04 0000803f", "0000803f"),
            (Kind(200), "00", ""),
        ] {
            let (wire, content) = (hex(wire), hex(content));
            let mut read = Reader::new("test", &wire);
            assert_eq!(kind.read(&mut read), Ok(&content[..]), "{kind:?}");
            assert_eq!(kind.split(&wire), Some((&content[..], &b""[..])), "{kind:?}");
            let mut out = Vec::new();
            kind.write(&mut out, &content).unwrap();
            assert_eq!(out, wire, "{kind:?}");
            if let Some(end) = wire.len().checked_sub(1) {
                assert_eq!(kind.split(&wire[..end]), None);
                assert!(kind.read(&mut Reader::new("test", &wire[..end])).is_err());
            }
        }
    }

    #[test]
    fn a_date_longer_than_its_length_can_tell() {
        assert!(Kind::DATETIME.write(&mut Vec::new(), &[0; 256]).is_err());
    }

    #[test]
    fn names_and_signs() {
        assert_eq!((Kind::LONGLONG.name(), Kind(200).name()), (Some("LONGLONG"), None));
        let unsigned = ParamType::new(Kind::LONGLONG, true);
        assert_eq!((unsigned.0, unsigned.kind(), unsigned.unsigned()), (0x8008, Kind::LONGLONG, true));
        assert!(!ParamType::new(Kind::GEOMETRY, false).unsigned());
    }
}
