//! One statement executed for many rows of parameters: MariaDB's [COM_STMT_BULK_EXECUTE].
//!
//! [COM_STMT_BULK_EXECUTE]: https://mariadb.com/kb/en/com_stmt_bulk_execute/

use super::error::{Invalid, Unencodable};
use super::flags::flags;
use super::kind::ParamType;
use super::parameters::Known;
use super::read::Reader;
use super::write;

flags! {
    /// How a bulk execution is sent and answered.
    BulkFlags: u16 {
        /// `SEND_UNIT_RESULTS`: answer with a result set that tells what each row did.
        UNIT_RESULTS = 64;
        /// `SEND_TYPES_TO_SERVER`: the types are sent.
        SEND_TYPES = 128;
    }
}

/// Execute a prepared statement for many rows of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    /// Identifier of the statement.
    pub statement: u32,
    /// How it is sent and answered.
    pub flags: BulkFlags,
    /// The rest, which can only be read with what is [`Known`] of the statement; see [`BulkExecute::rows`].
    pub body: &'a [u8],
}

/// The value of a parameter in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkValue<'a> {
    /// The value without its length.
    Bytes(&'a [u8]),
    /// NULL.
    Null,
    /// The default of the column.
    Default,
    /// No value: the column of an UPDATE keeps its own.
    Ignore,
}

const NAME: &str = "COM_STMT_BULK_EXECUTE";
/// Bytes before the body.
const HEAD: usize = 7;

impl<'a> BulkExecute<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        Ok(BulkExecute { statement: read.u32()?, flags: BulkFlags(read.u16()?), body: read.rest() })
    }

    /// Reads types and rows.
    pub fn rows(&self, known: Known<'_>) -> Result<BulkRows<'a>, Invalid> {
        let mut read = Reader::at(NAME, HEAD, self.body);
        let count = usize::from(known.parameters);
        let types: Vec<_> = if self.flags.contains(BulkFlags::SEND_TYPES) {
            (0..count).map(|_| read.u16().map(ParamType)).collect::<Result<_, _>>()?
        } else if known.types.len() >= count {
            known.types.iter().take(count).copied().collect()
        } else {
            return Err(read.invalid(HEAD, "types are not sent, and were not sent before"));
        };
        if types.is_empty() {
            return read.end(BulkRows { types, values: b"" });
        }
        let values = read.peek();
        while !read.is_empty() {
            for kind in &types {
                let offset = read.offset();
                match read.u8()? {
                    0 => drop(kind.kind().read(&mut read)?),
                    1..=3 => {}
                    _ => return Err(read.invalid(offset, "the indicator of a value is not 0 to 3")),
                }
            }
        }
        Ok(BulkRows { types, values })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(super::Code::STMT_BULK_EXECUTE.0);
        out.extend(self.statement.to_le_bytes());
        out.extend(self.flags.0.to_le_bytes());
        out.extend_from_slice(self.body);
    }

    /// Appends the payload of a bulk execution to `out`. Each row has as many values as there are types.
    pub fn write<'v>(
        out: &mut Vec<u8>,
        statement: u32,
        flags: BulkFlags,
        types: &[ParamType],
        rows: impl IntoIterator<Item = &'v [BulkValue<'v>]>,
    ) -> Result<(), Unencodable> {
        write::message(out, NAME, |out| {
            BulkExecute { statement, flags, body: b"" }.put(out);
            if flags.contains(BulkFlags::SEND_TYPES) {
                out.extend(types.iter().flat_map(|kind| kind.0.to_le_bytes()));
            }
            for row in rows {
                if row.len() != types.len() {
                    return Err("a row does not have a value for each type");
                }
                for (kind, value) in types.iter().zip(row) {
                    match value {
                        BulkValue::Bytes(content) => {
                            out.push(0);
                            kind.kind().write(out, content)?;
                        }
                        BulkValue::Null => out.push(1),
                        BulkValue::Default => out.push(2),
                        BulkValue::Ignore => out.push(3),
                    }
                }
            }
            Ok(())
        })
    }
}

/// The rows of a bulk execution, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkRows<'a> {
    /// Types of the parameters.
    pub types: Vec<ParamType>,
    values: &'a [u8],
}

impl<'a> BulkRows<'a> {
    /// The values of all rows, one row after the other; each row has as many as there are [types](BulkRows::types).
    pub fn values(&self) -> impl Iterator<Item = (ParamType, BulkValue<'a>)> {
        let mut rest = self.values;
        self.types.iter().cycle().map_while(move |&kind| {
            let (&indicator, after) = rest.split_first()?;
            let value = match indicator {
                0 => {
                    let (content, after) = kind.kind().split(after)?;
                    rest = after;
                    return Some((kind, BulkValue::Bytes(content)));
                }
                1 => BulkValue::Null,
                2 => BulkValue::Default,
                _ => BulkValue::Ignore,
            };
            rest = after;
            Some((kind, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{command, hex, unwritten, written};
    use crate::mysql::{Capabilities, Command, Kind};

    fn known() -> Known<'static> {
        Known { parameters: 2, ..Known::default() }
    }

    #[test]
    fn rows_of_values_and_indicators() {
        // Two rows: (7, 'ab') and (NULL, DEFAULT).
        let payload = hex("fa 05000000 8000 0300 fd00  00 07000000 00 026162  01 02");
        let Command::BulkExecute(bulk) = command(&payload, Capabilities::default()) else { panic!("no bulk") };
        assert_eq!((bulk.statement, bulk.flags), (5, BulkFlags::SEND_TYPES));
        let rows = bulk.rows(known()).unwrap();
        let values: Vec<_> = rows.values().map(|(_, value)| value).collect();
        let expected = [BulkValue::Bytes(&[7, 0, 0, 0]), BulkValue::Bytes(b"ab"), BulkValue::Null, BulkValue::Default];
        assert_eq!(values, expected);
        let again = written(|out| BulkExecute::write(out, 5, bulk.flags, &rows.types, expected.chunks(2)));
        assert_eq!(again, payload);

        // Rows end only where a row ends.
        for end in 0..bulk.body.len() {
            let whole = [4, 13].contains(&end);
            assert_eq!(BulkExecute { body: &bulk.body[..end], ..bulk }.rows(known()).is_ok(), whole, "{end} bytes");
        }
    }

    #[test]
    fn types_are_remembered() {
        let types = [ParamType::new(Kind::TINY, false), ParamType::new(Kind::TINY, false)];
        let bulk = BulkExecute { statement: 1, flags: BulkFlags::default(), body: b"\0\x01\x03" };
        let rows = bulk.rows(Known { types: &types, ..known() }).unwrap();
        assert_eq!(rows.values().last().unwrap().1, BulkValue::Ignore);
        assert_eq!(bulk.rows(known()).unwrap_err().offset, 7);
        let unknown = BulkExecute { body: b"\x04\x01", ..bulk };
        assert_eq!(unknown.rows(Known { types: &types, ..known() }).unwrap_err().offset, 7);
    }

    #[test]
    fn statements_without_parameters_have_no_rows() {
        let bulk = BulkExecute { statement: 1, flags: BulkFlags::SEND_TYPES, body: b"" };
        assert_eq!(bulk.rows(Known::default()).unwrap().values().count(), 0);
        assert!(BulkExecute { body: b"\0", ..bulk }.rows(Known::default()).is_err());
    }

    #[test]
    fn a_row_has_a_value_for_each_type() {
        let types = [ParamType::new(Kind::TINY, false)];
        unwritten(|out| BulkExecute::write(out, 1, BulkFlags::SEND_TYPES, &types, [&[][..]]));
    }
}
