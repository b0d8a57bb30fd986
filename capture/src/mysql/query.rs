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
