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
