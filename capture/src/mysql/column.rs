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
