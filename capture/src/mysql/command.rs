//! What a client sends when it is connected: one [command] at a time, each with sequence number 0.
//!
//! [command]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html

use super::bulk::BulkExecute;
use super::capabilities::Capabilities;
use super::change_user::ChangeUser;
use super::code::Code;
use super::error::{Invalid, Unencodable};
use super::query::Query;
use super::read::Reader;
use super::statement::{Execute, LongData};
use super::write;

/// A command of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `01`: the client is going.
    Quit,
    /// `02`: this is the current database from now on.
    InitDb {
        /// Name of the database.
        database: &'a [u8],
    },
    /// `03`: run this text.
    Query(Query<'a>),
    /// `04`: tell the columns of a table.
    FieldList {
        /// Name of the table.
        table: &'a [u8],
        /// Pattern for the columns' names; empty for all.
        pattern: &'a [u8],
    },
    /// `09`: tell how the server is doing, in a line for people.
    Statistics,
    /// `0c`: end another connection.
    ProcessKill {
        /// Identifier of the connection.
        connection: u32,
    },
    /// `0e`: answer OK.
    Ping,
    /// `11`: become another user.
    ChangeUser(ChangeUser<'a>),
    /// `16`: prepare a statement.
    Prepare {
        /// Its text.
        sql: &'a [u8],
    },
    /// `17`: execute a prepared statement.
    Execute(Execute<'a>),
    /// `18`: a part of a parameter. There is no answer.
    LongData(LongData<'a>),
    /// `19`: forget a prepared statement. There is no answer.
    Close {
        /// Identifier of the statement.
        statement: u32,
    },
    /// `1a`: forget the long data and the cursor of a prepared statement.
    Reset {
        /// Identifier of the statement.
        statement: u32,
    },
    /// `1b`: allow several statements in a text (0) or do not (1).
    SetOption {
        /// `MYSQL_OPTION_MULTI_STATEMENTS_ON` is 0, `…_OFF` is 1.
        option: u16,
    },
    /// `1c`: fetch rows from the cursor of a prepared statement.
    Fetch {
        /// Identifier of the statement.
        statement: u32,
        /// Most rows to return.
        rows: u32,
    },
    /// `1f`: make the session as new.
    ResetConnection,
    /// `fa`: execute a prepared statement for many rows (MariaDB).
    BulkExecute(BulkExecute<'a>),
    /// Any other: those between servers and those that no client sends any more. [`Code::name`] tells its name.
    Other {
        /// Its first byte.
        code: Code,
        /// What follows it.
        body: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// Reads the payload, which holds at least the first byte.
    ///
    /// `capabilities` are those agreed. What follows the fields of a command is refused only where the server refuses it:
    /// clients exist that end names with NUL or pad short commands.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Invalid> {
        let mut read = Reader::new("command", payload);
        let code = Code(read.u8()?);
        let offset = read.offset();
        let mut read = Reader::at(code.name().unwrap_or("command"), offset, read.rest());
        Ok(match code {
            Code::QUIT => Command::Quit,
            Code::INIT_DB => Command::InitDb { database: read.rest() },
            Code::QUERY => Command::Query(Query::decode(read, capabilities)?),
            Code::FIELD_LIST => Command::FieldList { table: read.nul_string()?, pattern: read.rest() },
            Code::STATISTICS => Command::Statistics,
            Code::PROCESS_KILL => Command::ProcessKill { connection: read.u32()? },
            Code::PING => Command::Ping,
            Code::CHANGE_USER => Command::ChangeUser(ChangeUser::decode(read, capabilities)?),
            Code::STMT_PREPARE => Command::Prepare { sql: read.rest() },
            Code::STMT_EXECUTE => Command::Execute(Execute::decode(read)?),
            Code::STMT_SEND_LONG_DATA => Command::LongData(LongData::decode(read)?),
            Code::STMT_CLOSE => Command::Close { statement: read.u32()? },
            Code::STMT_RESET => Command::Reset { statement: read.u32()? },
            Code::SET_OPTION => Command::SetOption { option: read.u16()? },
            Code::STMT_FETCH => Command::Fetch { statement: read.u32()?, rows: read.u32()? },
            Code::RESET_CONNECTION => Command::ResetConnection,
            Code::STMT_BULK_EXECUTE => Command::BulkExecute(BulkExecute::decode(read)?),
            code => Command::Other { code, body: read.rest() },
        })
    }

    /// The first byte.
    pub fn code(&self) -> Code {
        match self {
            Command::Quit => Code::QUIT,
            Command::InitDb { .. } => Code::INIT_DB,
            Command::Query(_) => Code::QUERY,
            Command::FieldList { .. } => Code::FIELD_LIST,
            Command::Statistics => Code::STATISTICS,
            Command::ProcessKill { .. } => Code::PROCESS_KILL,
            Command::Ping => Code::PING,
            Command::ChangeUser(_) => Code::CHANGE_USER,
            Command::Prepare { .. } => Code::STMT_PREPARE,
            Command::Execute(_) => Code::STMT_EXECUTE,
            Command::LongData(_) => Code::STMT_SEND_LONG_DATA,
            Command::Close { .. } => Code::STMT_CLOSE,
            Command::Reset { .. } => Code::STMT_RESET,
            Command::SetOption { .. } => Code::SET_OPTION,
            Command::Fetch { .. } => Code::STMT_FETCH,
            Command::ResetConnection => Code::RESET_CONNECTION,
            Command::BulkExecute(_) => Code::STMT_BULK_EXECUTE,
            Command::Other { code, .. } => *code,
        }
    }

    /// Appends the payload to `out`. [`packet::write_with`](super::packet::write_with) adds the header.
    ///
    /// Messages with lists can be written from their parts as well: [`Query::write`], [`Execute::write`],
    /// [`BulkExecute::write`].
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        match self {
            Command::Query(query) => return query.encode(capabilities, out),
            Command::ChangeUser(change) => return change.encode(capabilities, out),
            Command::Execute(execute) => execute.put(out),
            Command::LongData(data) => data.put(out),
            Command::BulkExecute(bulk) => bulk.put(out),
            Command::FieldList { table, pattern } => {
                return write::message(out, "COM_FIELD_LIST", |out| {
                    out.push(Code::FIELD_LIST.0);
                    write::nul_string(out, table)?;
                    out.extend_from_slice(pattern);
                    Ok(())
                });
            }
            simple => {
                out.push(simple.code().0);
                match *simple {
                    Command::InitDb { database } => out.extend_from_slice(database),
                    Command::Prepare { sql } => out.extend_from_slice(sql),
                    Command::Other { body, .. } => out.extend_from_slice(body),
                    Command::ProcessKill { connection: number }
                    | Command::Close { statement: number }
                    | Command::Reset { statement: number } => out.extend(number.to_le_bytes()),
                    Command::SetOption { option } => out.extend(option.to_le_bytes()),
                    Command::Fetch { statement, rows } => {
                        out.extend(statement.to_le_bytes());
                        out.extend(rows.to_le_bytes());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{command, needs_all, unwritten};

    const NONE: Capabilities = Capabilities(0);

    #[test]
    fn single_fields() {
        for (payload, expected) in [
            (&b"\x01"[..], Command::Quit),
            (b"\x02shop", Command::InitDb { database: b"shop" }),
            (b"\x04orders\0%", Command::FieldList { table: b"orders", pattern: b"%" }),
            (b"\x09", Command::Statistics),
            (b"\x0c\x07\x01\0\0", Command::ProcessKill { connection: 263 }),
            (b"\x0e", Command::Ping),
            (b"\x16SELECT ?", Command::Prepare { sql: b"SELECT ?" }),
            (b"\x19\x01\0\0\0", Command::Close { statement: 1 }),
            (b"\x1a\x01\0\0\0", Command::Reset { statement: 1 }),
            (b"\x1b\x01\0", Command::SetOption { option: 1 }),
            (b"\x1c\x01\0\0\0\x0a\0\0\0", Command::Fetch { statement: 1, rows: 10 }),
            (b"\x1f", Command::ResetConnection),
            (b"\x07\x01", Command::Other { code: Code::REFRESH, body: b"\x01" }),
            (b"\x12abc", Command::Other { code: Code::BINLOG_DUMP, body: b"abc" }),
            (b"\x77?", Command::Other { code: Code(0x77), body: b"?" }),
        ] {
            assert_eq!(command(payload, NONE), expected);
        }
    }

    #[test]
    fn numbers_must_be_whole() {
        for payload in [&b"\x0c\x07\x01\0\0"[..], b"\x19\x01\0\0\0", b"\x1b\x01\0", b"\x1c\x01\0\0\0\x0a\0\0\0"] {
            needs_all(payload, 0, |payload| Command::decode(payload, NONE).err());
        }
    }

    #[test]
    fn what_pads_a_short_command_is_taken() {
        assert_eq!(Command::decode(b"\x0e\0", NONE), Ok(Command::Ping));
        assert_eq!(Command::decode(b"\x19\x01\0\0\0\0", NONE), Ok(Command::Close { statement: 1 }));
    }

    #[test]
    fn an_error_names_the_command_and_the_place() {
        let error = Command::decode(b"\x1c\x01\0\0\0\x0a", NONE).unwrap_err();
        assert_eq!((error.message, error.offset), ("COM_STMT_FETCH", 5));
        assert_eq!(Command::decode(b"", NONE).unwrap_err().offset, 0);
    }

    #[test]
    fn a_table_cannot_hold_nul() {
        unwritten(|out| Command::FieldList { table: b"a\0b", pattern: b"" }.encode(NONE, out));
    }

    #[test]
    fn names() {
        assert_eq!(Code::STMT_BULK_EXECUTE.name(), Some("COM_STMT_BULK_EXECUTE"));
        assert_eq!(Code(0x77).name(), None);
        let unanswered = (0..=255).map(Code).filter(|code| code.is_unanswered());
        assert_eq!(unanswered.collect::<Vec<_>>(), [Code::QUIT, Code::STMT_SEND_LONG_DATA, Code::STMT_CLOSE]);
    }
}
