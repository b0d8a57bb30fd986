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
    /// Reads the payload. Whether descriptions follow is told where that was agreed.
    pub fn decode(payload: &[u8]) -> Result<Self, Invalid> {
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
        if !read.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::hex;

    #[test]
    fn answer() {
        // The example of the manual.
        let payload = hex("00 01000000 0100 0200 00 0000");
        let answer = PrepareOk::decode(&payload).unwrap();
        assert_eq!(answer, PrepareOk { statement: 1, columns: 1, parameters: 2, warnings: 0, described: true });
        let mut out = Vec::new();
        answer.encode(Capabilities::default(), &mut out);
        assert_eq!(out, payload);
        for end in 0..payload.len() {
            // Old servers send less.
            assert_eq!(PrepareOk::decode(&payload[..end]).is_ok(), matches!(end, 9 | 10), "{end} bytes");
        }
        assert!(PrepareOk::decode(&[1; 12]).is_err());
    }

    #[test]
    fn without_descriptions() {
        let answer = PrepareOk { statement: 1, columns: 1, parameters: 0, warnings: 7, described: false };
        let mut out = Vec::new();
        answer.encode(Capabilities::OPTIONAL_METADATA, &mut out);
        assert_eq!(out, hex("00 01000000 0100 0000 00 0700 00"));
        assert_eq!(PrepareOk::decode(&out), Ok(answer));
    }
}
