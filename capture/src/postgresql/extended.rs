//! The extended protocol: [Parse], [Bind], [Describe], [Execute], [Close], [Sync], [Flush], and the server's
//! [ParameterDescription].
//!
//! The answers without content (ParseComplete, BindComplete, CloseComplete, NoData, PortalSuspended) are variants of
//! [`Backend`](super::Backend) alone.
//!
//! [Parse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARSE
//! [Bind]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
//! [Describe]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DESCRIBE
//! [Execute]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-EXECUTE
//! [Close]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CLOSE
//! [Sync]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SYNC
//! [Flush]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-FLUSH
//! [ParameterDescription]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARAMETERDESCRIPTION

use super::error::{Invalid, Unencodable};
use super::frame::Direction;
use super::list::{Formats, Oids, Values};
use super::read::Reader;
use super::write;

/// A prepared statement or a portal, by name. The empty name is the unnamed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a [u8]),
    /// A portal.
    Portal(&'a [u8]),
}

impl<'a> Target<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let offset = read.offset();
        let target = match read.u8()? {
            b'S' => Target::Statement(read.string()?),
            b'P' => Target::Portal(read.string()?),
            _ => return Err(read.invalid(offset, "the target is neither S (statement) nor P (portal)")),
        };
        read.end(target)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        let (kind, name) = match self {
            Target::Statement(name) => (b'S', name),
            Target::Portal(name) => (b'P', name),
        };
        out.push(kind);
        write::string(out, name)
    }
}

/// A statement to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parse<'a> {
    /// Name to give to the prepared statement; empty is the unnamed one.
    pub statement: &'a [u8],
    /// The text, which holds at most one statement.
    pub sql: &'a [u8],
    /// Types of the first parameters; 0 leaves a type to the server.
    pub param_types: Oids<'a>,
}

impl<'a> Parse<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let statement = read.string()?;
        let sql = read.string()?;
        let param_types = read.oids()?;
        read.end(Parse { statement, sql, param_types })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write_parse(out, self.statement, self.sql, |out| self.param_types.write(out))
    }

    /// Appends the Parse message with this content to `out`.
    pub fn write(out: &mut Vec<u8>, statement: &[u8], sql: &[u8], param_types: &[u32]) -> Result<(), Unencodable> {
        write_parse(out, statement, sql, |out| write::oids(out, param_types))
    }
}

fn write_parse(
    out: &mut Vec<u8>,
    statement: &[u8],
    sql: &[u8],
    types: impl FnOnce(&mut Vec<u8>) -> write::Field,
) -> Result<(), Unencodable> {
    write::message(out, Direction::Client, b'P', "Parse", |out| {
        write::string(out, statement)?;
        write::string(out, sql)?;
        types(out)
    })
}

/// Parameters for a prepared statement, which make it a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// Name to give to the portal; empty is the unnamed one.
    pub portal: &'a [u8],
    /// Name of the prepared statement.
    pub statement: &'a [u8],
    /// Formats of the parameters: none, one for all, or one each.
    pub param_formats: Formats<'a>,
    /// The parameters.
    pub params: Values<'a>,
    /// Formats wanted for the columns of the result: none, one for all, or one each.
    pub result_formats: Formats<'a>,
}

impl<'a> Bind<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let portal = read.string()?;
        let statement = read.string()?;
        let param_formats = read.formats()?;
        let params = read.values()?;
        let result_formats = read.formats()?;
        read.end(Bind { portal, statement, param_formats, params, result_formats })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, Direction::Client, b'B', "Bind", |out| {
            write::string(out, self.portal)?;
            write::string(out, self.statement)?;
            self.param_formats.write(out)?;
            self.params.write(out)?;
            self.result_formats.write(out)
        })
    }

    /// Appends the Bind message with this content to `out`.
    pub fn write<'p>(
        out: &mut Vec<u8>,
        portal: &[u8],
        statement: &[u8],
        param_formats: &[i16],
        params: impl IntoIterator<Item = Option<&'p [u8]>>,
        result_formats: &[i16],
    ) -> Result<(), Unencodable> {
        write::message(out, Direction::Client, b'B', "Bind", |out| {
            write::string(out, portal)?;
            write::string(out, statement)?;
            write::formats(out, param_formats)?;
            write::values(out, params)?;
            write::formats(out, result_formats)
        })
    }
}

/// Reads Execute: the portal and the row limit.
pub(super) fn execute<'a>(mut read: Reader<'a>) -> Result<(&'a [u8], i32), Invalid> {
    let portal = read.string()?;
    let limit = read.i32()?;
    read.end((portal, limit))
}

/// Reads ParameterDescription: the types of a prepared statement's parameters.
pub(super) fn parameter_description<'a>(mut read: Reader<'a>) -> Result<Oids<'a>, Invalid> {
    let types = read.oids()?;
    read.end(types)
}

/// Appends the ParameterDescription message with these types to `out`.
pub fn write_parameter_description(out: &mut Vec<u8>, types: &[u32]) -> Result<(), Unencodable> {
    write::message(out, Direction::Server, b't', "ParameterDescription", |out| write::oids(out, types))
}
