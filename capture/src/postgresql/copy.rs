//! COPY: [CopyInResponse], [CopyOutResponse] and [CopyBothResponse], which start it. CopyData, CopyDone and CopyFail, which
//! carry and end it, are variants of [`Frontend`](super::Frontend) and [`Backend`](super::Backend).
//!
//! [CopyInResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COPYINRESPONSE
//! [CopyOutResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COPYOUTRESPONSE
//! [CopyBothResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COPYBOTHRESPONSE

use super::error::{Invalid, Unencodable};
use super::frame::Direction;
use super::list::Formats;
use super::read::Reader;
use super::write;

/// The format of a COPY that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyResponse<'a> {
    /// True when the whole is in the binary format, false when it is lines of text.
    pub binary: bool,
    /// The format of each column.
    pub columns: Formats<'a>,
}

/// Which way the data of a COPY goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// From the client to the server (`COPY ... FROM STDIN`).
    In,
    /// From the server to the client (`COPY ... TO STDOUT`).
    Out,
    /// Both ways (replication).
    Both,
}

impl<'a> CopyResponse<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let offset = read.offset();
        let binary = match read.u8()? {
            0 => false,
            1 => true,
            _ => return Err(read.invalid(offset, "the format is neither 0 (text) nor 1 (binary)")),
        };
        let columns = read.formats()?;
        read.end(CopyResponse { binary, columns })
    }

    pub(super) fn encode(&self, direction: CopyDirection, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        response(out, direction, self.binary, |out| self.columns.write(out))
    }

    /// Appends the message that starts a COPY in this direction to `out`.
    pub fn write(
        out: &mut Vec<u8>,
        direction: CopyDirection,
        binary: bool,
        columns: &[i16],
    ) -> Result<(), Unencodable> {
        response(out, direction, binary, |out| write::formats(out, columns))
    }
}

fn response(
    out: &mut Vec<u8>,
    direction: CopyDirection,
    binary: bool,
    columns: impl FnOnce(&mut Vec<u8>) -> write::Field,
) -> Result<(), Unencodable> {
    let (tag, name) = match direction {
        CopyDirection::In => (b'G', "CopyInResponse"),
        CopyDirection::Out => (b'H', "CopyOutResponse"),
        CopyDirection::Both => (b'W', "CopyBothResponse"),
    };
    write::message(out, Direction::Server, tag, name, |out| {
        out.push(binary.into());
        columns(out)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{client, invalid_client, invalid_server, message, needs_every_byte, server};
    use super::super::{Backend, Frontend};
    use super::*;

    #[test]
    fn responses() {
        for (tag, direction) in [(b'G', CopyDirection::In), (b'H', CopyDirection::Out), (b'W', CopyDirection::Both)] {
            let bytes = message(tag, b"\x01\0\x02\0\x01\0\x01");
            let (Backend::CopyInResponse(response)
            | Backend::CopyOutResponse(response)
            | Backend::CopyBothResponse(response)) = server(&bytes)
            else {
                panic!("{bytes:?}")
            };
            assert!(response.binary);
            assert_eq!(response.columns.iter().collect::<Vec<_>>(), [1, 1]);
            needs_every_byte(Direction::Server, &bytes);
            let mut out = Vec::new();
            CopyResponse::write(&mut out, direction, true, &[1, 1]).unwrap();
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn responses_malformed() {
        assert_eq!(invalid_server(b'G', b"\x02\0\0").offset, 5);
        assert_eq!(invalid_server(b'H', b"\0\0\x02\0\0").offset, 8);
    }

    #[test]
    fn data_may_be_anything_and_nothing() {
        for data in [&b""[..], b"1\tone\n", b"\0\xff\0Q\0\0\0\x04"] {
            let bytes = message(b'd', data);
            assert_eq!(client(&bytes), Frontend::CopyData(data));
            assert_eq!(server(&bytes), Backend::CopyData(data));
        }
    }

    #[test]
    fn ends() {
        let done = message(b'c', b"");
        assert_eq!(client(&done), Frontend::CopyDone);
        assert_eq!(server(&done), Backend::CopyDone);
        needs_every_byte(Direction::Client, &done);
        let fail = message(b'f', b"out of paper\0");
        assert_eq!(client(&fail), Frontend::CopyFail(b"out of paper"));
        needs_every_byte(Direction::Client, &fail);
        assert_eq!(invalid_client(b'f', b"out of paper").offset, 5);
    }
}
