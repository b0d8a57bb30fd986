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

#[cfg(test)]
mod tests {
    use super::super::frame::next_from;
    use super::super::testing::{client, invalid_client, message, needs_every_byte, server};
    use super::super::{Backend, Frontend};
    use super::*;

    #[test]
    fn parse() {
        let bytes = message(b'P', b"s1\0SELECT $1\0\0\x02\0\0\0\x17\0\0\0\0");
        let Frontend::Parse(parse) = client(&bytes) else { panic!("{bytes:?}") };
        assert_eq!((parse.statement, parse.sql), (&b"s1"[..], &b"SELECT $1"[..]));
        assert_eq!(parse.param_types.iter().collect::<Vec<_>>(), [23, 0]);
        needs_every_byte(Direction::Client, &bytes);
        let mut out = Vec::new();
        Parse::write(&mut out, b"s1", b"SELECT $1", &[23, 0]).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn parse_malformed() {
        assert_eq!(invalid_client(b'P', b"s1\0SELECT 1").offset, 8);
        // 65535 types announced, one there
        assert_eq!(invalid_client(b'P', b"\0\0\xff\xff\0\0\0\x17").offset, 9);
    }

    #[test]
    fn bind() {
        let bytes = message(b'B', b"p\0s\0\0\x01\0\x01\0\x03\0\0\0\x02hi\xff\xff\xff\xff\0\0\0\0\0\x02\0\0\0\x01");
        let Frontend::Bind(bind) = client(&bytes) else { panic!("{bytes:?}") };
        assert_eq!((bind.portal, bind.statement), (&b"p"[..], &b"s"[..]));
        assert_eq!(bind.params.iter().collect::<Vec<_>>(), [Some(&b"hi"[..]), None, Some(b"")]);
        assert_eq!((0..3).map(|index| bind.param_formats.code(index)).collect::<Vec<_>>(), [Some(1); 3]);
        assert_eq!(bind.result_formats.iter().collect::<Vec<_>>(), [0, 1]);
        needs_every_byte(Direction::Client, &bytes);
        let mut out = Vec::new();
        Bind::write(&mut out, b"p", b"s", &[1], [Some(&b"hi"[..]), None, Some(b"")], &[0, 1]).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn bind_without_anything() {
        let bytes = message(b'B', b"\0\0\0\0\0\0\0\0");
        let Frontend::Bind(bind) = client(&bytes) else { panic!("{bytes:?}") };
        assert!(bind.params.is_empty() && bind.param_formats.is_empty() && bind.result_formats.is_empty());
        needs_every_byte(Direction::Client, &bytes);
    }

    #[test]
    fn bind_malformed() {
        // A length of -2, at the length.
        assert_eq!(invalid_client(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0").offset, 11);
        assert_eq!(invalid_client(b'B', b"\0\0\0\0\0\x01\x80\0\0\0\0\0").offset, 11);
        // A value longer than the message, at the value.
        assert_eq!(invalid_client(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0").offset, 15);
        // More values announced than there are.
        assert_eq!(invalid_client(b'B', b"\0\0\0\0\xff\xff\0\0\0\0\0\0").offset, 15);
    }

    #[test]
    fn bind_that_the_server_would_refuse_is_still_a_bind() {
        // Three format codes, of which one is unknown, for one parameter.
        let bytes = message(b'B', b"\0\0\0\x03\0\0\0\x01\0\x07\0\x01\0\0\0\0\0\0");
        let Frontend::Bind(bind) = client(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(bind.param_formats.iter().collect::<Vec<_>>(), [0, 1, 7]);
    }

    #[test]
    fn lists_hold_up_to_65535_items() {
        let mut out = Vec::new();
        Bind::write(&mut out, b"", b"", &[], vec![None; 65535], &[]).unwrap();
        let frame = next_from(Direction::Client, &out).unwrap().unwrap();
        let Frontend::Bind(bind) = Frontend::decode(frame).unwrap() else { panic!() };
        assert_eq!((bind.params.len(), bind.params.iter().count()), (65535, 65535));
        let before = out.clone();
        let error = Bind::write(&mut out, b"", b"", &[], vec![None; 65536], &[]).unwrap_err();
        assert_eq!(error.to_string(), "cannot be sent as Bind: a list has more than 65535 items");
        assert_eq!(out, before);
    }

    #[test]
    fn describe_and_close() {
        for (body, target) in [
            (&b"Ss1\0"[..], Target::Statement(b"s1")),
            (b"S\0", Target::Statement(b"")),
            (b"Pc\0", Target::Portal(b"c")),
        ] {
            let (describe, close) = (message(b'D', body), message(b'C', body));
            assert_eq!(client(&describe), Frontend::Describe(target));
            assert_eq!(client(&close), Frontend::Close(target));
            needs_every_byte(Direction::Client, &describe);
            needs_every_byte(Direction::Client, &close);
        }
        assert_eq!(invalid_client(b'D', b"X\0").offset, 5);
        assert_eq!(invalid_client(b'C', b"s\0").offset, 5);
    }

    #[test]
    fn execute_sync_flush() {
        let bytes = message(b'E', b"c\0\0\0\0\x64");
        assert_eq!(client(&bytes), Frontend::Execute { portal: b"c", limit: 100 });
        needs_every_byte(Direction::Client, &bytes);
        // Not useful, but the server takes it for no limit.
        assert_eq!(client(&message(b'E', b"\0\xff\xff\xff\xff")), Frontend::Execute { portal: b"", limit: -1 });
        for (tag, expected) in [(b'S', Frontend::Sync), (b'H', Frontend::Flush), (b'X', Frontend::Terminate)] {
            let bytes = message(tag, b"");
            assert_eq!(client(&bytes), expected);
            needs_every_byte(Direction::Client, &bytes);
        }
    }

    #[test]
    fn answers() {
        for (tag, expected) in [
            (b'1', Backend::ParseComplete),
            (b'2', Backend::BindComplete),
            (b'3', Backend::CloseComplete),
            (b'n', Backend::NoData),
            (b's', Backend::PortalSuspended),
        ] {
            let bytes = message(tag, b"");
            assert_eq!(server(&bytes), expected);
            needs_every_byte(Direction::Server, &bytes);
        }
        let bytes = message(b't', b"\0\x02\0\0\0\x17\0\0\0\x19");
        let Backend::ParameterDescription(types) = server(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(types.iter().collect::<Vec<_>>(), [23, 25]);
        needs_every_byte(Direction::Server, &bytes);
        let mut out = Vec::new();
        write_parameter_description(&mut out, &[23, 25]).unwrap();
        assert_eq!(out, bytes);
    }
}
