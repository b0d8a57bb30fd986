//! A statement is prepared: [COM_STMT_PREPARE_OK].
//!
//! [COM_STMT_PREPARE_OK]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html#sect_protocol_com_stmt_prepare_response_ok

use super::capabilities::Capabilities;
use super::error::Invalid;
use super::read::Reader;

/// A statement is prepared. Descriptions of its parameters and then of its columns follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// Identifier of the statement, in this connection.
    pub statement: u32,
    /// Columns of its result.
    pub columns: u16,
    /// Parameters.
    pub parameters: u16,
    /// Number of warnings.
    pub warnings: u16,
    /// False where no descriptions follow, as agreed by MySQL's `OPTIONAL_METADATA`.
    pub described: bool,
}

impl PrepareOk {
    /// Reads the payload.
    pub fn decode(payload: &[u8], capabilities: Capabilities) -> Result<Self, Invalid> {
        let mut read = Reader::new("COM_STMT_PREPARE_OK", payload);
        if read.u8()? != 0 {
            return Err(read.invalid(0, "the first byte is not 0x00"));
        }
        let mut answer = PrepareOk {
            statement: read.u32()?,
            columns: read.u16()?,
            parameters: read.u16()?,
            warnings: 0,
            described: true,
        };
        // Servers before MySQL 5.0 end here or with the filler.
        if !read.is_empty() {
            read.u8()?;
        }
        if !read.is_empty() {
            answer.warnings = read.u16()?;
        }
        if capabilities.contains(Capabilities::OPTIONAL_METADATA) && !read.is_empty() {
            answer.described = read.u8()? != 0;
        }
        read.end(answer)
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(0);
        out.extend(self.statement.to_le_bytes());
        out.extend(self.columns.to_le_bytes());
        out.extend(self.parameters.to_le_bytes());
        out.push(0);
        out.extend(self.warnings.to_le_bytes());
        if capabilities.contains(Capabilities::OPTIONAL_METADATA) {
            out.push(self.described.into());
        }
    }
}
