//! A text: [COM_QUERY]. It may hold several statements, and may come with [query attributes](super::parameters).
//!
//! [COM_QUERY]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html

use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::parameters::{self, Known, Parameter, Parameters};
use super::read::Reader;
use super::write;

/// Run this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// Query attributes; empty also where the capability is not agreed.
    pub attributes: Parameters<'a>,
    /// The text.
    pub sql: &'a [u8],
}

const NAME: &str = "COM_QUERY";

impl<'a> Query<'a> {
    /// A text without attributes.
    pub fn new(sql: &'a [u8]) -> Self {
        Query { attributes: Parameters::default(), sql }
    }

    /// True when the payload of a COM_QUERY shows that query attributes are agreed, for where the handshake was not seen: it
    /// goes on with a number of attributes and the number 1, which no text begins with.
    pub fn shows_attributes(payload: &[u8]) -> bool {
        matches!(payload, [0x03, 0..=0xfa, 1, ..])
    }

    pub(super) fn decode(mut read: Reader<'a>, capabilities: Capabilities) -> Result<Self, Invalid> {
        if !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            return Ok(Query::new(read.rest()));
        }
        let offset = read.offset();
        let Ok(parameters) = u16::try_from(read.int()?) else {
            return Err(read.invalid(offset, "there are more than 65535 query attributes"));
        };
        let offset = read.offset();
        if read.int()? != 1 {
            return Err(read.invalid(offset, "the number of sets of query attributes is not 1"));
        }
        let known = Known { parameters, ..Known::default() };
        let attributes = Parameters::decode(&mut read, known, true)?;
        Ok(Query { attributes, sql: read.rest() })
    }

    pub(super) fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let attributes: Vec<_> = self.attributes.iter().collect();
        Query::write(out, capabilities, &attributes, self.sql)
    }

    /// Appends the payload of a COM_QUERY with these attributes to `out`.
    ///
    /// Fails where there are attributes and their capability is not agreed.
    pub fn write(
        out: &mut Vec<u8>,
        capabilities: Capabilities,
        attributes: &[Parameter<'_>],
        sql: &[u8],
    ) -> Result<(), Unencodable> {
        write::message(out, NAME, |out| {
            out.push(super::Code::QUERY.0);
            if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                let count =
                    u16::try_from(attributes.len()).map_err(|_| "there are more than 65535 query attributes")?;
                write::int(out, count.into());
                out.push(1);
                parameters::write(out, attributes, true, true)?;
            } else if !attributes.is_empty() {
                return Err("the capability for query attributes is not agreed");
            }
            out.extend_from_slice(sql);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{command, hex, needs_all, unwritten, usual};
    use crate::mysql::{Command, Content, Kind, ParamType};

    const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    #[test]
    fn text() {
        let payload = hex("03 73656c656374204040766572 73696f6e5f636f6d6d656e74206c696d69742031");
        let query = Query::new(b"select @@version_comment limit 1");
        assert_eq!(command(&payload, usual(Capabilities::default())), Command::Query(query));
        assert_eq!(command(b"\x03", usual(Capabilities::default())), Command::Query(Query::new(b"")));
        // Unlike in PostgreSQL, NUL is a character like others: the server's lexer decides.
        assert_eq!(command(b"\x03a\0b", usual(Capabilities::default())), Command::Query(Query::new(b"a\0b")));
    }

    #[test]
    fn attributes_are_named_values() {
        // Two attributes: NULL called `a`, and 42 as LONGLONG called `n`.
        let payload = hex("03 02 01 01 01 fe00 0161 0800 016e 2a00000000000000 53454c4543542031");
        let Command::Query(query) = command(&payload, usual(ATTRIBUTES)) else { panic!("no query") };
        assert_eq!(query.sql, b"SELECT 1");
        let parameters: Vec<_> = query.attributes.iter().collect();
        assert_eq!(parameters.len(), query.attributes.len());
        assert_eq!((parameters[0].name, parameters[0].value), (&b"a"[..], Content::Null));
        assert_eq!((parameters[1].name, parameters[1].value), (&b"n"[..], Content::Bytes(&[42, 0, 0, 0, 0, 0, 0, 0])));
        assert_eq!(parameters[1].kind, ParamType::new(Kind::LONGLONG, false));
        needs_all(&payload[..21], 1, |payload| Command::decode(payload, usual(ATTRIBUTES)).err());
    }

    #[test]
    fn no_attributes_still_have_a_number() {
        let payload = b"\x03\x00\x01SELECT 1";
        let Command::Query(query) = command(payload, usual(ATTRIBUTES)) else { panic!("no query") };
        assert_eq!((query.sql, query.attributes.is_empty()), (&b"SELECT 1"[..], true));
        assert!(Query::shows_attributes(payload) && !Query::shows_attributes(b"\x03SELECT 1"));
        let two_sets = Command::decode(b"\x03\x00\x02SELECT 1", usual(ATTRIBUTES)).unwrap_err();
        assert_eq!(two_sets.offset, 2);
    }

    #[test]
    fn attributes_need_their_capability() {
        let name = Parameter { name: b"a", kind: ParamType::new(Kind::STRING, false), value: Content::Null };
        unwritten(|out| Query::write(out, usual(Capabilities::default()), &[name], b"SELECT 1"));
    }
}
