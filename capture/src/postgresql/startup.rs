//! How a connection begins: [StartupMessage], [SSLRequest], [GSSENCRequest], [CancelRequest], and what the server says about
//! the version ([NegotiateProtocolVersion]) and cancelling ([BackendKeyData]).
//!
//! The client's messages here have no type byte. The server answers the two encryption requests with a single byte, see
//! [`EncryptionAnswer`].
//!
//! [StartupMessage]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-STARTUPMESSAGE
//! [SSLRequest]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SSLREQUEST
//! [GSSENCRequest]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-GSSENCREQUEST
//! [CancelRequest]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST
//! [NegotiateProtocolVersion]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-NEGOTIATEPROTOCOLVERSION
//! [BackendKeyData]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BACKENDKEYDATA

use std::iter::from_fn;

use super::error::{Invalid, Unencodable};
use super::frame::{Direction, STARTUP};
use super::list::Strings;
use super::read::Reader;
use super::write;

/// The shortest key that lets a client cancel; in protocol 3.0 every key has this length.
pub const SHORTEST_SECRET: usize = 4;
/// The longest key that lets a client cancel, since protocol 3.2.
pub const LONGEST_SECRET: usize = 256;

// Major version 1234 is not a version but says that the minor version is a request.
const REQUEST: u16 = 1234;
const CANCEL: u16 = 5678;
const SSL: u16 = 5679;
const GSSENC: u16 = 5680;

/// The first message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Startup<'a> {
    /// The client wants TLS. [`EncryptionAnswer`] follows.
    SslRequest,
    /// The client wants GSSAPI encryption. [`EncryptionAnswer`] follows.
    GssEncRequest,
    /// The client wants the statement of another connection cancelled. There is no answer.
    Cancel {
        /// Process identifier from the other connection's BackendKeyData.
        process_id: i32,
        /// Key from the other connection's BackendKeyData.
        secret: &'a [u8],
    },
    /// The client wants a session.
    Startup {
        /// Major version, always 3, and the minor version that the client hopes for.
        version: (u16, u16),
        /// User, database and settings.
        params: Params<'a>,
    },
}

impl Startup<'_> {
    /// Bytes of the message on the wire.
    pub fn wire_len(&self) -> usize {
        match self {
            Startup::SslRequest | Startup::GssEncRequest => 8,
            Startup::Cancel { secret, .. } => 12 + secret.len(),
            Startup::Startup { params, .. } => 9 + params.0.as_wire().len(),
        }
    }

    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let request = |out: &mut Vec<u8>, code| put_version(out, (REQUEST, code));
        match self {
            Startup::SslRequest => write::untagged(out, STARTUP, "SSLRequest", |out| request(out, SSL)),
            Startup::GssEncRequest => write::untagged(out, STARTUP, "GSSENCRequest", |out| request(out, GSSENC)),
            Startup::Cancel { process_id, secret } => write::untagged(out, STARTUP, "CancelRequest", |out| {
                request(out, CANCEL)?;
                put_key(out, *process_id, secret)
            }),
            Startup::Startup { version, params } => write_startup(out, *version, params.iter()),
        }
    }
}

/// Appends the StartupMessage with these parameters to `out`.
pub fn write_startup<'p>(
    out: &mut Vec<u8>,
    version: (u16, u16),
    params: impl IntoIterator<Item = (&'p [u8], &'p [u8])>,
) -> Result<(), Unencodable> {
    write::untagged(out, STARTUP, "StartupMessage", |out| {
        if version.0 != 3 {
            return Err("the protocol's major version must be 3");
        }
        put_version(out, version)?;
        for (name, value) in params {
            if name.is_empty() {
                return Err("a parameter has an empty name, which ends the list in the protocol");
            }
            write::string(out, name)?;
            write::string(out, value)?;
        }
        out.push(0);
        Ok(())
    })
}

/// Reads the message after its length.
pub(super) fn decode(body: &[u8]) -> Result<Startup<'_>, Invalid> {
    let mut read = Reader::untagged("StartupMessage", body);
    match (read.u16()?, read.u16()?) {
        (REQUEST, SSL) => read.named("SSLRequest").end(Startup::SslRequest),
        (REQUEST, GSSENC) => read.named("GSSENCRequest").end(Startup::GssEncRequest),
        (REQUEST, CANCEL) => {
            let mut read = read.named("CancelRequest");
            let (process_id, secret) = key(&mut read)?;
            read.end(Startup::Cancel { process_id, secret })
        }
        (3, minor) => {
            let start = read.peek();
            let mut params = read.since(start);
            while !read.string()?.is_empty() {
                read.string()?;
                params = read.since(start);
            }
            read.end(Startup::Startup { version: (3, minor), params: Params(Strings::from_wire(params)) })
        }
        _ => Err(read.invalid(4, "the protocol version is not 3, nor a known request")),
    }
}

/// Settings of a StartupMessage: `user`, `database`, `options`, `replication` and any run-time parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params<'a>(Strings<'a>);

impl<'a> Params<'a> {
    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        let mut strings = self.0.iter();
        from_fn(move || Some((strings.next()?, strings.next()?)))
    }

    /// The value of a parameter; where it is given twice, the last one, as in the server.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.iter().filter(|(key, _)| *key == name.as_bytes()).last().map(|(_, value)| value)
    }
}

/// The single byte with which a server answers an SSLRequest or a GSSENCRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionAnswer {
    /// A TLS handshake follows: nothing after this can be read.
    Tls,
    /// A GSSAPI handshake follows: nothing after this can be read.
    Gss,
    /// The client may go on without encryption.
    Refused,
    /// The byte is the type byte of an ErrorResponse, from a server that does not know the request.
    Error,
}

impl EncryptionAnswer {
    /// Reads the answer at the start of `buf`; `Ok(None)` when it has not come yet.
    pub fn decode(buf: &[u8]) -> Result<Option<Self>, Invalid> {
        match buf.first() {
            None => Ok(None),
            Some(b'S') => Ok(Some(EncryptionAnswer::Tls)),
            Some(b'G') => Ok(Some(EncryptionAnswer::Gss)),
            Some(b'N') => Ok(Some(EncryptionAnswer::Refused)),
            Some(b'E') => Ok(Some(EncryptionAnswer::Error)),
            Some(_) => Err(Invalid { message: "answer to an encryption request", offset: 0, what: "not S, G, N or E" }),
        }
    }

    /// The byte on the wire.
    pub fn byte(self) -> u8 {
        match self {
            EncryptionAnswer::Tls => b'S',
            EncryptionAnswer::Gss => b'G',
            EncryptionAnswer::Refused => b'N',
            EncryptionAnswer::Error => b'E',
        }
    }
}

/// True when a connection begins with a TLS handshake instead of a message (libpq's `sslnegotiation=direct`).
pub fn is_tls(buf: &[u8]) -> bool {
    // A handshake record of TLS 1.x. As a StartupMessage's length it would be far too large.
    matches!(buf, [0x16, 0x03, ..])
}

/// The server speaks a lower minor version than the client hoped for, or does not know some options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiation<'a> {
    /// The newest version that the server speaks. The documentation says that only the minor version is sent, and then
    /// the major one is 0 here; PostgreSQL sends both.
    pub version: (u16, u16),
    count: u32,
    options: Strings<'a>,
}

impl<'a> Negotiation<'a> {
    /// Names of the protocol options (`_pq_.*`) that the server does not know.
    pub fn options(&self) -> Strings<'a> {
        self.options
    }

    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let version = (read.u16()?, read.u16()?);
        let offset = read.offset();
        let count = read.u32()?;
        if count > i32::MAX as u32 {
            return Err(read.invalid(offset, "the number of options is negative"));
        }
        let options = read.strings(count)?;
        read.end(Negotiation { version, count, options })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        put_version(out, self.version)?;
        out.extend(self.count.to_be_bytes());
        out.extend_from_slice(self.options.as_wire());
        Ok(())
    }
}

/// Appends the NegotiateProtocolVersion message with this version and these unknown options to `out`.
pub fn write_negotiation(out: &mut Vec<u8>, version: (u16, u16), options: &[&[u8]]) -> Result<(), Unencodable> {
    write::message(out, Direction::Server, b'v', "NegotiateProtocolVersion", |out| {
        put_version(out, version)?;
        let count = i32::try_from(options.len()).map_err(|_| "there are more than 2147483647 options")?;
        out.extend(count.to_be_bytes());
        options.iter().try_for_each(|option| write::string(out, option))
    })
}

/// Reads a process identifier and a key up to the end of the message.
pub(super) fn key<'a>(read: &mut Reader<'a>) -> Result<(i32, &'a [u8]), Invalid> {
    let process_id = read.i32()?;
    let offset = read.offset();
    let length = read.left();
    if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&length) {
        return Err(read.invalid(offset, "the key is not of 4 to 256 bytes"));
    }
    Ok((process_id, read.bytes(length)?))
}

/// Writes a process identifier and a key.
pub(super) fn put_key(out: &mut Vec<u8>, process_id: i32, secret: &[u8]) -> write::Field {
    if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&secret.len()) {
        return Err("the key is not of 4 to 256 bytes");
    }
    out.extend(process_id.to_be_bytes());
    out.extend_from_slice(secret);
    Ok(())
}

fn put_version(out: &mut Vec<u8>, (major, minor): (u16, u16)) -> write::Field {
    out.extend(major.to_be_bytes());
    out.extend(minor.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::frame::next_startup;
    use super::super::testing::{invalid_server, message, needs_every_byte, server};
    use super::super::{Backend, frame};
    use super::*;

    /// Decodes a whole message, and checks what holds for every message without a type byte.
    fn startup(bytes: &[u8]) -> Startup<'_> {
        for end in 0..bytes.len() {
            assert_eq!(next_startup(&bytes[..end]), Ok(None), "{end} bytes are not complete");
        }
        let message = next_startup(bytes).unwrap().unwrap();
        assert_eq!(message.wire_len(), bytes.len());
        let mut out = Vec::new();
        message.encode(&mut out).unwrap();
        assert_eq!(out, bytes);
        message
    }

    #[test]
    fn requests() {
        assert_eq!(startup(b"\0\0\0\x08\x04\xd2\x16\x2f"), Startup::SslRequest);
        assert_eq!(startup(b"\0\0\0\x08\x04\xd2\x16\x30"), Startup::GssEncRequest);
        let cancel = startup(b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\x30\x39\x01\x02\x03\x04");
        assert_eq!(cancel, Startup::Cancel { process_id: 12345, secret: &[1, 2, 3, 4] });
    }

    #[test]
    fn a_cancel_key_of_protocol_3_2_has_up_to_256_bytes() {
        let cancel = |length: usize| {
            let total = u32::try_from(12 + length).unwrap();
            [&total.to_be_bytes()[..], b"\x04\xd2\x16\x2e\0\0\0\x01", &vec![7; length]].concat()
        };
        for length in [4, 32, 256] {
            assert_eq!(startup(&cancel(length)), Startup::Cancel { process_id: 1, secret: &vec![7; length] });
        }
        for length in [0, 3, 257] {
            assert_eq!(next_startup(&cancel(length)).unwrap_err().offset, 12);
        }
        let mut out = Vec::new();
        assert!(Startup::Cancel { process_id: 1, secret: b"abc" }.encode(&mut out).is_err());
        assert_eq!(out, b"");
    }

    #[test]
    fn startup_with_parameters() {
        let Startup::Startup { version, params } =
            startup(b"\0\0\0\x34\0\x03\0\x02user\0alice\0application_name\0\0database\0shop\0\0")
        else {
            panic!("not a startup message")
        };
        assert_eq!(version, (3, 2));
        let params_read: Vec<_> = params.iter().collect();
        assert_eq!(params_read, [(&b"user"[..], &b"alice"[..]), (b"application_name", b""), (b"database", b"shop")]);
        assert_eq!(params.get("database"), Some(&b"shop"[..]));
        assert_eq!(params.get("options"), None);
    }

    #[test]
    fn startup_without_parameters() {
        assert_eq!(startup(b"\0\0\0\x09\0\x03\0\0\0"), Startup::Startup { version: (3, 0), params: Params::default() });
    }

    #[test]
    fn startup_malformed() {
        for (what, bytes) in [
            ("length below 8", &b"\0\0\0\x07\0\x03\0"[..]),
            ("length above 10004", b"\0\0\x27\x15\0\x03\0\0"),
            ("TLS", b"\x16\x03\x01\x02\0"),
            ("HTTP", b"GET / HTTP/1.1\r\n"),
            ("protocol 2", b"\0\0\0\x09\0\x02\0\0\0"),
            ("unknown request", b"\0\0\0\x08\x04\xd2\x16\x31"),
            ("SSLRequest with a body", b"\0\0\0\x09\x04\xd2\x16\x2f\0"),
            ("no end of the list", b"\0\0\0\x08\0\x03\0\0"),
            ("name without value", b"\0\0\0\x0d\0\x03\0\0user\0"),
            ("value without NUL", b"\0\0\0\x10\0\x03\0\0user\0bob"),
            ("bytes after the end", b"\0\0\0\x0a\0\x03\0\0\0\0"),
        ] {
            assert!(next_startup(bytes).is_err(), "{what}");
        }
    }

    #[test]
    fn startup_that_cannot_be_written() {
        let mut out = Vec::new();
        assert!(write_startup(&mut out, (2, 0), []).is_err());
        assert!(write_startup(&mut out, (3, 0), [(&b""[..], &b"x"[..])]).is_err());
        assert!(write_startup(&mut out, (3, 0), [(&b"user"[..], &b"a\0b"[..])]).is_err());
        assert!(write_startup(&mut out, (3, 0), [(&b"user"[..], &[b'x'; 10_000][..])]).is_err());
        assert_eq!(out, b"");
    }

    #[test]
    fn encryption_answers() {
        assert_eq!(EncryptionAnswer::decode(b""), Ok(None));
        for byte in *b"SGNE" {
            assert_eq!(EncryptionAnswer::decode(&[byte, 1]).unwrap().unwrap().byte(), byte);
        }
        assert!(EncryptionAnswer::decode(b"R").is_err());
        assert!(is_tls(b"\x16\x03\x01\x02\0\x01"));
        assert!(!is_tls(b"\0\0\0\x08\x04\xd2\x16\x2f"));
    }

    #[test]
    fn negotiation() {
        let bytes = message(b'v', b"\0\x03\0\x02\0\0\0\x02_pq_.a\0_pq_.b\0");
        let Backend::NegotiateProtocolVersion(answer) = server(&bytes) else { panic!("{bytes:?}") };
        assert_eq!(answer.version, (3, 2));
        assert_eq!(answer.options().iter().collect::<Vec<_>>(), [b"_pq_.a", b"_pq_.b"]);
        needs_every_byte(frame::Direction::Server, &bytes);
        let mut out = Vec::new();
        write_negotiation(&mut out, (3, 2), &[b"_pq_.a", b"_pq_.b"]).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(invalid_server(b'v', b"\0\x03\0\x02\xff\xff\xff\xff").offset, 9);
        assert_eq!(invalid_server(b'v', b"\0\x03\0\x02\x7f\xff\xff\xff_pq_.a\0").offset, 20);
    }

    #[test]
    fn key_data() {
        let bytes = message(b'K', b"\xff\xff\xff\xfeabcd");
        assert_eq!(server(&bytes), Backend::BackendKeyData { process_id: -2, secret: b"abcd" });
        let bytes = message(b'K', &[1; 4 + 256]);
        assert_eq!(server(&bytes), Backend::BackendKeyData { process_id: 0x0101_0101, secret: &[1; 256] });
        assert_eq!(invalid_server(b'K', b"\0\0\0\x01abc").offset, 9);
        assert_eq!(invalid_server(b'K', &[1; 4 + 257]).offset, 9);
    }
}
