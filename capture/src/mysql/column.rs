//! What a column of a result, or a parameter of a prepared statement, is: [ColumnDefinition41].
//!
//! [ColumnDefinition41]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html

use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::kind::Kind;
use super::read::Reader;
use super::write;

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Always `def`.
    pub catalog: &'a [u8],
    /// Name of the database.
    pub schema: &'a [u8],
    /// Name or alias of the table.
    pub table: &'a [u8],
    /// Name of the table.
    pub org_table: &'a [u8],
    /// Name or alias of the column.
    pub name: &'a [u8],
    /// Name of the column in the table.
    pub org_name: &'a [u8],
    /// What MariaDB adds on the type, where agreed: a list of a number (0 type name, 1 format) and a length-encoded
    /// string.
    pub extended: &'a [u8],
    /// Collation of its values.
    pub collation: u16,
    /// Longest value in bytes.
    pub length: u32,
    /// Its type.
    pub kind: Kind,
    /// `NOT_NULL_FLAG` (1), `UNSIGNED_FLAG` (32), `BINARY_FLAG` (128) and others.
    pub flags: u16,
    /// Decimals shown; 31 where the value decides.
    pub decimals: u8,
    /// The default value, which only COM_FIELD_LIST tells, and not of every column.
    pub default: Option<&'a [u8]>,
}

const NAME: &str = "ColumnDefinition41";
/// Bytes behind the names; their number is sent.
const FIXED: u64 = 12;

impl<'a> Column<'a> {
    /// Reads the payload.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Invalid> {
        let mut read = Reader::new(NAME, payload);
        let catalog = read.string()?;
        let schema = read.string()?;
        let table = read.string()?;
        let org_table = read.string()?;
        let name = read.string()?;
        let org_name = read.string()?;
        let extended = match capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            true => read.string()?,
            false => b"",
        };
        let offset = read.offset();
        if read.int()? != FIXED {
            return Err(read.invalid(offset, "the fields of fixed length do not have 12 bytes"));
        }
        let collation = read.u16()?;
        let length = read.u32()?;
        let kind = Kind(read.u8()?);
        let flags = read.u16()?;
        let decimals = read.u8()?;
        read.u16()?;
        let default = match read.peek() {
            // NULL is the default.
            [0xfb] => {
                read.rest();
                None
            }
            [] => None,
            _ => Some(read.string()?),
        };
        read.end(Column {
            catalog,
            schema,
            table,
            org_table,
            name,
            org_name,
            extended,
            collation,
            length,
            kind,
            flags,
            decimals,
            default,
        })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, NAME, |out| {
            for name in [self.catalog, self.schema, self.table, self.org_table, self.name, self.org_name] {
                write::string(out, name);
            }
            if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
                write::string(out, self.extended);
            }
            write::int(out, FIXED);
            out.extend(self.collation.to_le_bytes());
            out.extend(self.length.to_le_bytes());
            out.push(self.kind.0);
            out.extend(self.flags.to_le_bytes());
            out.extend([self.decimals, 0, 0]);
            if let Some(default) = self.default {
                write::string(out, default);
            }
            Ok(())
        })
    }

    /// `UNSIGNED_FLAG`.
    pub fn unsigned(&self) -> bool {
        self.flags & 32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_every_byte, written};

    const NONE: Capabilities = Capabilities(0);

    /// The column of `SELECT @@version_comment`, as MySQL answers it.
    const EXAMPLE: &str =
        "03646566 00 00 00 11 40407665 7273696f 6e5f636f 6d6d656e 74 00 0c 0800 1c000000 fd 0000 1f 0000";

    fn decode(payload: &[u8], capabilities: Capabilities) -> Column<'_> {
        let column = Column::decode(payload, capabilities).unwrap();
        assert_eq!(written(|out| column.encode(capabilities, out)), payload);
        column
    }

    #[test]
    fn example() {
        let payload = hex(EXAMPLE);
        let column = decode(&payload, NONE);
        assert_eq!((column.catalog, column.name), (&b"def"[..], &b"@@version_comment"[..]));
        assert_eq!((column.collation, column.length, column.kind), (8, 28, Kind::VAR_STRING));
        assert_eq!((column.flags, column.decimals, column.default), (0, 31, None));
        for end in 0..payload.len() {
            assert!(Column::decode(&payload[..end], NONE).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn every_name_has_its_place() {
        let payload = hex("03646566 0473686f70 016f 066f7264657273 0164 0a6f726465725f64617465 0c
            3f00 0a000000 0c 2110 06 0000");
        let column = decode(&payload, NONE);
        let names = [column.schema, column.table, column.org_table, column.name, column.org_name];
        assert_eq!(names, [&b"shop"[..], b"o", b"orders", b"d", b"order_date"]);
        assert_eq!((column.kind, column.flags, column.decimals), (Kind::DATETIME, 0x1021, 6));
        assert!(column.unsigned());
    }

    #[test]
    fn defaults_of_a_field_list() {
        let example = hex(EXAMPLE);
        let payload = [&example[..], b"\x02ab"].concat();
        assert_eq!(decode(&payload, NONE).default, Some(&b"ab"[..]));
        needs_every_byte(&payload, example.len() + 1, |payload| Column::decode(payload, NONE).err());
        let null = [&example[..], b"\xfb"].concat();
        assert_eq!(Column::decode(&null, NONE).unwrap().default, None);
    }

    #[test]
    fn mariadb_adds_to_the_type() {
        let capabilities = Capabilities::MARIADB_EXTENDED_METADATA;
        let payload = hex("03646566 00 00 00 0161 00 06 00 04 75756964 0c 3f00 10000000 fe 0000 00 0000");
        assert_eq!(decode(&payload, capabilities).extended, b"\0\x04uuid");
        assert!(Column::decode(&payload, NONE).is_err());
    }
}
