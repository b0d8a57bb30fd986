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
use super::frame::STARTUP;
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
    /// The newest version that the server speaks, as sent. The documentation says that only the minor version is sent;
    /// PostgreSQL sends both.
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
