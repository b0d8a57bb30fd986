//! Prepared statements: [COM_STMT_EXECUTE], [COM_STMT_SEND_LONG_DATA], [COM_STMT_FETCH]. COM_STMT_PREPARE, COM_STMT_CLOSE and
//! COM_STMT_RESET have a single field and live in [`Command`](super::Command) alone.
//!
//! [COM_STMT_EXECUTE]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html
//! [COM_STMT_SEND_LONG_DATA]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_send_long_data.html
//! [COM_STMT_FETCH]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_fetch.html

use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::flags::flags;
use super::parameters::{self, Known, Parameter, Parameters};
use super::read::Reader;
use super::write;

/// Statement id that stands for the statement prepared last (MariaDB).
pub const LAST_PREPARED: u32 = u32::MAX;

flags! {
    /// What an execution asks for besides the result.
    ExecuteFlags: u8 {
        /// `CURSOR_TYPE_READ_ONLY`: rows are fetched with COM_STMT_FETCH.
        READ_ONLY = 1;
        /// `CURSOR_TYPE_FOR_UPDATE`.
        FOR_UPDATE = 1 << 1;
        /// `CURSOR_TYPE_SCROLLABLE`.
        SCROLLABLE = 1 << 2;
        /// `PARAMETER_COUNT_AVAILABLE`: the number of parameters is sent, as it may exceed that of the statement.
        PARAMETER_COUNT = 1 << 3;
    }
}

impl ExecuteFlags {
    /// Any of the cursor types.
    pub const CURSOR: ExecuteFlags = ExecuteFlags(7);
}

/// Execute a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Identifier of the statement.
    pub statement: u32,
    /// Cursor type, and more.
    pub flags: ExecuteFlags,
    /// Always 1.
    pub iterations: u32,
    /// The rest, which can only be read with what is [`Known`] of the statement; see [`Execute::parameters`].
    pub body: &'a [u8],
}

const EXECUTE: &str = "COM_STMT_EXECUTE";
/// Bytes before the body.
const EXECUTE_HEAD: usize = 10;

impl<'a> Execute<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        Ok(Execute {
            statement: read.u32()?,
            flags: ExecuteFlags(read.u8()?),
            iterations: read.u32()?,
            body: read.rest(),
        })
    }

    /// Reads the parameters. With query attributes there may be more than the statement has; those have names.
    pub fn parameters(&self, capabilities: Capabilities, known: Known<'a>) -> Result<Parameters<'a>, Invalid> {
        let mut read = Reader::at(EXECUTE, EXECUTE_HEAD, self.body);
        let named = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let mut known = known;
        if named && self.flags.contains(ExecuteFlags::PARAMETER_COUNT) {
            let offset = read.offset();
            let Ok(parameters) = u16::try_from(read.int()?) else {
                return Err(read.invalid(offset, "there are more than 65535 parameters"));
            };
            known.parameters = parameters;
        }
        let parameters = Parameters::decode(&mut read, known, named)?;
        read.end(parameters)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_execute_head(out, self.statement, self.flags, self.iterations);
        out.extend_from_slice(self.body);
    }

    /// Appends the payload of an execution with these parameters to `out`.
    ///
    /// `send_types` is false where the types are those of the execution before. The number of parameters is sent, and names
    /// with the types, where query attributes are agreed and `flags` says so.
    pub fn write(
        out: &mut Vec<u8>,
        capabilities: Capabilities,
        statement: u32,
        flags: ExecuteFlags,
        parameters: &[Parameter<'_>],
        send_types: bool,
    ) -> Result<(), Unencodable> {
        write::message(out, EXECUTE, |out| {
            put_execute_head(out, statement, flags, 1);
            let named = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
            let count = u16::try_from(parameters.len()).map_err(|_| "there are more than 65535 parameters")?;
            if named && flags.contains(ExecuteFlags::PARAMETER_COUNT) {
                write::int(out, count.into());
            }
            parameters::write(out, parameters, send_types, named)
        })
    }
}

fn put_execute_head(out: &mut Vec<u8>, statement: u32, flags: ExecuteFlags, iterations: u32) {
    out.push(super::Code::STMT_EXECUTE.0);
    out.extend(statement.to_le_bytes());
    out.push(flags.0);
    out.extend(iterations.to_le_bytes());
}

/// A part of a parameter, sent ahead of the execution. Parts of one parameter add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongData<'a> {
    /// Identifier of the statement.
    pub statement: u32,
    /// Number of the parameter, from 0.
    pub parameter: u16,
    /// The part.
    pub data: &'a [u8],
}

impl<'a> LongData<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        Ok(LongData { statement: read.u32()?, parameter: read.u16()?, data: read.rest() })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(super::Code::STMT_SEND_LONG_DATA.0);
        out.extend(self.statement.to_le_bytes());
        out.extend(self.parameter.to_le_bytes());
        out.extend_from_slice(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{command, hex, needs_every_byte, unwritten, usual, written};
    use crate::mysql::{Command, Content, Kind, ParamType};

    fn execute(payload: &[u8], capabilities: Capabilities) -> Execute<'_> {
        match command(payload, capabilities) {
            Command::Execute(execute) => execute,
            other => panic!("{other:?}"),
        }
    }

    fn one() -> Known<'static> {
        Known { parameters: 1, ..Known::default() }
    }

    #[test]
    fn a_parameter_with_its_type() {
        let payload = hex("17 01000000 00 01000000 00 01 0f00 03666f6f");
        let usual = usual(Capabilities::default());
        let execute = execute(&payload, usual);
        assert_eq!((execute.statement, execute.flags, execute.iterations), (1, ExecuteFlags::default(), 1));
        let parameters = execute.parameters(usual, one()).unwrap();
        assert!(parameters.sent_types());
        let all: Vec<_> = parameters.iter().collect();
        let kind = ParamType::new(Kind::VARCHAR, false);
        assert_eq!(all, [Parameter { name: b"", kind, value: Content::Bytes(b"foo") }]);
        assert_eq!(written(|out| Execute::write(out, usual, 1, execute.flags, &all, true)), payload);
        needs_every_byte(&payload, 10, |payload| {
            Execute { body: &payload[10..], ..execute }.parameters(usual, one()).err()
        });
    }

    #[test]
    fn types_are_remembered() {
        let usual = usual(Capabilities::default());
        let types = [ParamType::new(Kind::LONG, true), ParamType::new(Kind::STRING, false)];
        let known = Known { parameters: 2, types: &types, long: &[] };
        let payload = hex("17 01000000 00 01000000 02 00 ffffffff");
        let execute = execute(&payload, usual);
        let parameters = execute.parameters(usual, known).unwrap();
        assert!(!parameters.sent_types());
        let all: Vec<_> = parameters.iter().collect();
        assert_eq!((all[0].kind, all[0].value), (types[0], Content::Bytes(&[255; 4])));
        assert_eq!((all[1].kind, all[1].value), (types[1], Content::Null));
        assert_eq!(written(|out| Execute::write(out, usual, 1, execute.flags, &all, false)), payload);
        // Without the types nobody can tell how long the values are.
        let error = execute.parameters(usual, Known { types: &[], ..known }).unwrap_err();
        assert_eq!(error.offset, 11);
    }

    #[test]
    fn long_data_has_no_value_here() {
        let usual = usual(Capabilities::default());
        let payload = hex("17 01000000 00 01000000 00 01 fc00 0100 07");
        let execute = execute(&payload, usual);
        let known = Known { parameters: 2, types: &[], long: &[0] };
        let all: Vec<_> = execute.parameters(usual, known).unwrap().iter().collect();
        assert_eq!((all[0].value, all[1].value), (Content::Long, Content::Bytes(&[7])));
        assert_eq!(written(|out| Execute::write(out, usual, 1, execute.flags, &all, true)), payload);
        assert!(execute.parameters(usual, Known { long: &[], ..known }).is_err());
    }

    #[test]
    fn query_attributes_add_to_the_parameters() {
        // Captured from mysql2 (Node.js) against MySQL 8.0: one parameter, the number sent, no name.
        let capabilities = usual(Capabilities::QUERY_ATTRIBUTES);
        let payload = hex("17 04000000 08 01000000 01 00 01 fd00 00 05 61646d696e");
        let execute = execute(&payload, capabilities);
        assert!(execute.flags.contains(ExecuteFlags::PARAMETER_COUNT));
        let all: Vec<_> = execute.parameters(capabilities, one()).unwrap().iter().collect();
        assert_eq!((all[0].name, all[0].value), (&b""[..], Content::Bytes(b"admin")));
        // With an attribute behind it.
        let more = [all[0], Parameter { name: b"trace", ..all[0] }];
        let flags = ExecuteFlags::PARAMETER_COUNT;
        let payload = written(|out| Execute::write(out, capabilities, 4, flags, &more, true));
        let Command::Execute(execute) = command(&payload, capabilities) else { panic!("no execution") };
        let all: Vec<_> = execute.parameters(capabilities, one()).unwrap().iter().collect();
        assert_eq!(all, more);
    }

    #[test]
    fn no_parameters_no_body() {
        let usual = usual(Capabilities::default());
        let payload = hex("17 01000000 01 01000000");
        let execute = execute(&payload, usual);
        assert!(execute.flags.intersects(ExecuteFlags::CURSOR));
        assert!(execute.parameters(usual, Known::default()).unwrap().is_empty());
        assert!(execute.parameters(usual, one()).is_err());
        needs_every_byte(&payload, 0, |payload| match Command::decode(payload, usual) {
            Ok(Command::Execute(execute)) => execute.parameters(usual, Known::default()).err(),
            other => other.err(),
        });
    }

    #[test]
    fn a_value_must_have_the_length_of_its_type() {
        let usual = usual(Capabilities::default());
        let kind = ParamType::new(Kind::LONG, false);
        let short = Parameter { name: b"", kind, value: Content::Bytes(b"abc") };
        unwritten(|out| Execute::write(out, usual, 1, ExecuteFlags::default(), &[short], true));
    }

    #[test]
    fn long_data() {
        let payload = hex("18 01000000 0200 616263");
        let Command::LongData(data) = command(&payload, Capabilities::default()) else { panic!("no long data") };
        assert_eq!(data, LongData { statement: 1, parameter: 2, data: b"abc" });
        assert!(Command::decode(&payload[..6], Capabilities::default()).is_err());
    }
}
