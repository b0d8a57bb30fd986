//! How far a long command is: MariaDB's [progress report]. It has the form of an ERR packet with the code 0xffff, and the
//! answer of the command follows.
//!
//! [progress report]: https://mariadb.com/kb/en/err_packet/

use super::error::Invalid;
use super::read::Reader;
use super::write;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The stage, from 1.
    pub stage: u8,
    /// How many stages there are.
    pub stages: u8,
    /// Thousandths of a percent of the stage that are done.
    pub done: u32,
    /// What the stage does.
    pub info: &'a [u8],
}

impl<'a> Progress<'a> {
    /// How the payload begins.
    pub const HEADER: [u8; 3] = [0xff, 0xff, 0xff];

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("progress report", payload);
        if read.array()? != Self::HEADER {
            return Err(read.invalid(0, "the first bytes are not 0xff 0xff 0xff"));
        }
        // The number of strings that follow; always 1.
        read.u8()?;
        Ok(Progress { stage: read.u8()?, stages: read.u8()?, done: read.u24()?, info: read.string()? })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(Self::HEADER);
        out.extend([1, self.stage, self.stages]);
        write::u24(out, self.done);
        write::string(out, self.info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_all};

    #[test]
    fn report() {
        let payload = hex("ff ffff 01 02 03 50c300 04 636f7079");
        let progress = Progress::decode(&payload).unwrap();
        assert_eq!(progress, Progress { stage: 2, stages: 3, done: 50_000, info: b"copy" });
        let mut out = Vec::new();
        progress.encode(&mut out);
        assert_eq!(out, payload);
        needs_all(&payload, 0, |payload| Progress::decode(payload).err());
        assert!(Progress::decode(&hex("ff 4804 01 02 03 50c300 00")).is_err());
    }
}
