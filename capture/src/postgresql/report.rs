//! What a server reports, some of it at any time: [ErrorResponse], [NoticeResponse], [ParameterStatus],
//! [NotificationResponse].
//!
//! [ErrorResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ERRORRESPONSE
//! [NoticeResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-NOTICERESPONSE
//! [ParameterStatus]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-PARAMETERSTATUS
//! [NotificationResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-NOTIFICATIONRESPONSE

use super::error::{Invalid, Unencodable};
use super::frame::Direction;
use super::list::Strings;
use super::read::Reader;
use super::write;

/// Fields of an error or a notice: a byte that says what the field is, and its text.
///
/// The bytes are listed in [Error and Notice Message Fields](https://www.postgresql.org/docs/current/protocol-error-fields.html).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a>(Strings<'a>);

impl<'a> Fields<'a> {
    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + Clone + use<'a> {
        // On the wire the byte and the text are one string.
        self.0.iter().filter_map(|field| field.split_first()).map(|(&code, text)| (code, text))
    }

    /// The text of a field.
    pub fn get(&self, code: u8) -> Option<&'a [u8]> {
        self.iter().find(|(field, _)| *field == code).map(|(_, text)| text)
    }

    /// The severity, not translated where the server tells (since PostgreSQL 9.6): `ERROR`, `FATAL`, `PANIC`, `WARNING`,
    /// `NOTICE`, `DEBUG`, `INFO`, `LOG`.
    pub fn severity(&self) -> Option<&'a [u8]> {
        self.get(b'V').or_else(|| self.get(b'S'))
    }

    /// The SQLSTATE, such as `42P01`.
    pub fn sqlstate(&self) -> Option<&'a [u8]> {
        self.get(b'C')
    }

    /// The primary message.
    pub fn message(&self) -> Option<&'a [u8]> {
        self.get(b'M')
    }

    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let fields = read.strings_until_empty()?;
        read.end(Fields(fields))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        out.extend_from_slice(self.0.as_wire());
        out.push(0);
        Ok(())
    }
}

/// Appends the ErrorResponse message with these fields to `out`.
pub fn write_error<'f>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = (u8, &'f [u8])>) -> Result<(), Unencodable> {
    write::message(out, Direction::Server, b'E', "ErrorResponse", |out| write_fields(out, fields))
}

/// Appends the NoticeResponse message with these fields to `out`.
pub fn write_notice<'f>(
    out: &mut Vec<u8>,
    fields: impl IntoIterator<Item = (u8, &'f [u8])>,
) -> Result<(), Unencodable> {
    write::message(out, Direction::Server, b'N', "NoticeResponse", |out| write_fields(out, fields))
}

fn write_fields<'f>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = (u8, &'f [u8])>) -> write::Field {
    for (code, text) in fields {
        if code == 0 {
            return Err("a field has the code zero, which ends the list in the protocol");
        }
        out.push(code);
        write::string(out, text)?;
    }
    out.push(0);
    Ok(())
}

/// Reads ParameterStatus: name and value.
pub(super) fn parameter_status<'a>(mut read: Reader<'a>) -> Result<(&'a [u8], &'a [u8]), Invalid> {
    let name = read.string()?;
    let value = read.string()?;
    read.end((name, value))
}

/// A NOTIFY of some session on a channel that this session listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification<'a> {
    /// Process identifier of the server process of the session that notified.
    pub process_id: i32,
    /// The channel.
    pub channel: &'a [u8],
    /// The payload; may be empty.
    pub payload: &'a [u8],
}

impl<'a> Notification<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let process_id = read.i32()?;
        let channel = read.string()?;
        let payload = read.string()?;
        read.end(Notification { process_id, channel, payload })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        out.extend(self.process_id.to_be_bytes());
        write::string(out, self.channel)?;
        write::string(out, self.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backend;
    use super::super::testing::{invalid_server, message, needs_every_byte, server};
    use super::*;

    const BODY: &[u8] = b"SFEHLER\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0P15\0H\0\0";

    #[test]
    fn error_and_notice() {
        let (error, notice) = (message(b'E', BODY), message(b'N', BODY));
        let (Backend::ErrorResponse(fields), Backend::NoticeResponse(same)) = (server(&error), server(&notice)) else {
            panic!("{error:?}")
        };
        assert_eq!(fields, same);
        assert_eq!(fields.severity(), Some(&b"ERROR"[..]));
        assert_eq!(fields.sqlstate(), Some(&b"42P01"[..]));
        assert_eq!(fields.message(), Some(&b"relation \"t\" does not exist"[..]));
        assert_eq!(fields.get(b'H'), Some(&b""[..]));
        assert_eq!(fields.get(b'D'), None);
        assert_eq!(fields.iter().map(|(code, _)| code).collect::<Vec<_>>(), b"SVCMPH");
        needs_every_byte(Direction::Server, &error);
        needs_every_byte(Direction::Server, &notice);
        let mut out = Vec::new();
        write_error(&mut out, fields.iter()).unwrap();
        assert_eq!(out, error);
        out.clear();
        write_notice(&mut out, fields.iter()).unwrap();
        assert_eq!(out, notice);
    }

    #[test]
    fn severity_of_servers_before_9_6() {
        let bytes = message(b'E', b"SFATAL\0\0");
        let Backend::ErrorResponse(fields) = server(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(fields.severity(), Some(&b"FATAL"[..]));
        assert_eq!(fields.sqlstate(), None);
    }

    #[test]
    fn error_without_fields() {
        let bytes = message(b'E', b"\0");
        assert_eq!(server(&bytes), Backend::ErrorResponse(Fields::default()));
    }

    #[test]
    fn error_malformed() {
        assert_eq!(invalid_server(b'E', b"Mno end").offset, 5);
        assert_eq!(invalid_server(b'E', b"Mno end of the list\0").offset, 25);
        assert_eq!(invalid_server(b'E', b"Mx\0\0more").offset, 9);
        let mut out = Vec::new();
        assert!(write_error(&mut out, [(0, &b"x"[..])]).is_err());
        assert!(write_error(&mut out, [(b'M', &b"x\0Cfaked"[..])]).is_err());
        assert_eq!(out, b"");
    }

    #[test]
    fn parameter_status() {
        let bytes = message(b'S', b"application_name\0\0");
        assert_eq!(server(&bytes), Backend::ParameterStatus { name: b"application_name", value: b"" });
        needs_every_byte(Direction::Server, &bytes);
        assert_eq!(invalid_server(b'S', b"name\0value").offset, 10);
    }

    #[test]
    fn notification() {
        let bytes = message(b'A', b"\0\0\0\x2ajobs\0{\"id\":1}\0");
        let expected = Notification { process_id: 42, channel: b"jobs", payload: b"{\"id\":1}" };
        assert_eq!(server(&bytes), Backend::NotificationResponse(expected));
        needs_every_byte(Direction::Server, &bytes);
    }
}
