//! The call of a function outside SQL: [FunctionCall] and [FunctionCallResponse]. libpq still uses it for large objects.
//!
//! [FunctionCall]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-FUNCTIONCALL
//! [FunctionCallResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-FUNCTIONCALLRESPONSE

use super::error::{Invalid, Unencodable};
use super::frame::Direction;
use super::list::{Formats, Values};
use super::read::Reader;
use super::write;

/// A function to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionCall<'a> {
    /// OID of the function.
    pub function: u32,
    /// Formats of the arguments: none, one for all, or one each.
    pub arg_formats: Formats<'a>,
    /// The arguments.
    pub args: Values<'a>,
    /// Format wanted for the result.
    pub result_format: i16,
}

impl<'a> FunctionCall<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let function = read.u32()?;
        let arg_formats = read.formats()?;
        let args = read.values()?;
        let result_format = read.i16()?;
        read.end(FunctionCall { function, arg_formats, args, result_format })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, Direction::Client, b'F', "FunctionCall", |out| {
            out.extend(self.function.to_be_bytes());
            self.arg_formats.write(out)?;
            self.args.write(out)?;
            out.extend(self.result_format.to_be_bytes());
            Ok(())
        })
    }

    /// Appends the FunctionCall message with this content to `out`.
    pub fn write<'v>(
        out: &mut Vec<u8>,
        function: u32,
        arg_formats: &[i16],
        args: impl IntoIterator<Item = Option<&'v [u8]>>,
        result_format: i16,
    ) -> Result<(), Unencodable> {
        write::message(out, Direction::Client, b'F', "FunctionCall", |out| {
            out.extend(function.to_be_bytes());
            write::formats(out, arg_formats)?;
            write::values(out, args)?;
            out.extend(result_format.to_be_bytes());
            Ok(())
        })
    }
}

/// Reads FunctionCallResponse: the result, `None` for NULL.
pub(super) fn response<'a>(mut read: Reader<'a>) -> Result<Option<&'a [u8]>, Invalid> {
    let value = read.value()?;
    read.end(value)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{client, invalid_client, invalid_server, message, needs_every_byte, server};
    use super::super::{Backend, Frontend};
    use super::*;

    #[test]
    fn call() {
        let bytes = message(b'F', b"\0\0\x03\xbb\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x01");
        let Frontend::FunctionCall(call) = client(&bytes) else { panic!("{bytes:?}") };
        assert_eq!((call.function, call.result_format), (955, 1));
        assert_eq!(call.arg_formats.iter().collect::<Vec<_>>(), [1]);
        let args: Vec<_> = call.args.iter().collect();
        assert_eq!(args, [Some(&[0, 0, 0, 7][..]), None]);
        needs_every_byte(Direction::Client, &bytes);
        let mut out = Vec::new();
        FunctionCall::write(&mut out, 955, &[1], args, 1).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn call_malformed() {
        assert_eq!(invalid_client(b'F', b"\0\0\0\x01\0\0\0\x01\xff\xff\xff\xfd\0\0").offset, 13);
    }

    #[test]
    fn response() {
        for (body, value) in [
            (&b"\0\0\0\x04\0\0\0\x07"[..], Some(&[0, 0, 0, 7][..])),
            (b"\0\0\0\0", Some(b"")),
            (b"\xff\xff\xff\xff", None),
        ] {
            let bytes = message(b'V', body);
            assert_eq!(server(&bytes), Backend::FunctionCallResponse(value));
            needs_every_byte(Direction::Server, &bytes);
        }
        assert_eq!(invalid_server(b'V', b"\x80\0\0\0").offset, 5);
    }
}
