//! Results: [RowDescription] and [DataRow].
//!
//! [RowDescription]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
//! [DataRow]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DATAROW

use super::error::{Invalid, Unencodable};
use super::frame::Direction;
use super::list::Values;
use super::read::Reader;
use super::write;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRow<'a> {
    /// The columns; `None` is NULL.
    pub columns: Values<'a>,
}

impl<'a> DataRow<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let columns = read.values()?;
        read.end(DataRow { columns })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, Direction::Server, b'D', "DataRow", |out| self.columns.write(out))
    }

    /// Appends the DataRow message with these columns to `out`.
    pub fn write<'c>(
        out: &mut Vec<u8>,
        columns: impl IntoIterator<Item = Option<&'c [u8]>>,
    ) -> Result<(), Unencodable> {
        write::message(out, Direction::Server, b'D', "DataRow", |out| write::values(out, columns))
    }
}

/// What a column of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Name of the column.
    pub name: &'a [u8],
    /// OID of the table it comes from; 0 when it comes from none.
    pub table: u32,
    /// Number of the column in that table; 0 when it comes from none.
    pub attribute: i16,
    /// OID of its type.
    pub type_id: u32,
    /// Size of its type in bytes; negative when the size varies.
    pub type_size: i16,
    /// Modifier of its type, such as the length of a `varchar`; -1 when there is none.
    pub type_modifier: i32,
    /// Format code; 0 when a statement, not a portal, is described.
    pub format: i16,
}

impl<'a> Column<'a> {
    fn read(read: &mut Reader<'a>) -> Result<Self, Invalid> {
        Ok(Column {
            name: read.string()?,
            table: read.u32()?,
            attribute: read.i16()?,
            type_id: read.u32()?,
            type_size: read.i16()?,
            type_modifier: read.i32()?,
            format: read.i16()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> write::Field {
        write::string(out, self.name)?;
        out.extend(self.table.to_be_bytes());
        out.extend(self.attribute.to_be_bytes());
        out.extend(self.type_id.to_be_bytes());
        out.extend(self.type_size.to_be_bytes());
        out.extend(self.type_modifier.to_be_bytes());
        out.extend(self.format.to_be_bytes());
        Ok(())
    }
}

/// The columns of the rows that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDescription<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> RowDescription<'a> {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// True when the rows have no columns.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The columns in order.
    pub fn columns(&self) -> impl Iterator<Item = Column<'a>> + use<'a> {
        let mut read = Reader::untagged("RowDescription", self.bytes);
        (0..self.count).map_while(move |_| Column::read(&mut read).ok())
    }

    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let count = read.u16()?;
        let start = read.peek();
        for _ in 0..count {
            Column::read(&mut read)?;
        }
        let bytes = read.since(start);
        read.end(RowDescription { count, bytes })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, Direction::Server, b'T', "RowDescription", |out| write::list(out, self.len(), self.bytes))
    }

    /// Appends the RowDescription message with these columns to `out`.
    pub fn write<'c>(out: &mut Vec<u8>, columns: impl IntoIterator<Item = Column<'c>>) -> Result<(), Unencodable> {
        write::message(out, Direction::Server, b'T', "RowDescription", |out| {
            write::counted(out, |out| {
                let mut count = 0;
                for column in columns {
                    column.write(out)?;
                    count += 1;
                }
                Ok(count)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backend;
    use super::super::testing::{invalid_server, message, needs_every_byte, server};
    use super::*;

    #[test]
    fn data_row() {
        let bytes = message(b'D', b"\0\x03\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0");
        let Backend::DataRow(row) = server(&bytes) else { panic!("{bytes:?}") };
        let columns: Vec<_> = row.columns.iter().collect();
        assert_eq!(columns, [Some(&b"42"[..]), None, Some(b"")]);
        needs_every_byte(Direction::Server, &bytes);
        let mut out = Vec::new();
        DataRow::write(&mut out, columns).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn data_row_without_columns() {
        // SELECT FROM t
        let bytes = message(b'D', b"\0\0");
        let Backend::DataRow(row) = server(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(row.columns.iter().next(), None);
        needs_every_byte(Direction::Server, &bytes);
    }

    #[test]
    fn data_row_malformed() {
        assert_eq!(invalid_server(b'D', b"\0\x01\xff\xff\xff\xfe").offset, 7);
        assert_eq!(invalid_server(b'D', b"\0\x01\0\0\0\x03ab").offset, 11);
        assert_eq!(invalid_server(b'D', b"\xff\xff").offset, 7);
        assert_eq!(invalid_server(b'D', b"\0\x01\0\0\0\x01ab").offset, 12);
    }

    #[test]
    fn row_description() {
        let bytes = message(
            b'T',
            b"\0\x02id\0\0\0\x40\x01\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
              ?column?\0\0\0\0\0\0\0\0\0\x04\x13\xff\xff\0\0\0\x14\0\x01",
        );
        let Backend::RowDescription(description) = server(&bytes) else { panic!("{bytes:?}") };
        let id =
            Column { name: b"id", table: 16385, attribute: 1, type_id: 23, type_size: 4, type_modifier: -1, format: 0 };
        let computed = Column {
            name: b"?column?",
            table: 0,
            attribute: 0,
            type_id: 1043,
            type_size: -1,
            type_modifier: 20,
            format: 1,
        };
        let columns: Vec<_> = description.columns().collect();
        assert_eq!(columns, [id, computed]);
        assert_eq!(description.len(), 2);
        needs_every_byte(Direction::Server, &bytes);
        let mut out = Vec::new();
        RowDescription::write(&mut out, columns).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn row_description_malformed() {
        assert_eq!(invalid_server(b'T', b"\0\x01id").offset, 7);
        assert_eq!(invalid_server(b'T', b"\xff\xff").offset, 7);
    }
}
