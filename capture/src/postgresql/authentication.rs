//! Who the client is: the server's Authentication requests (all share the type byte `R`) and the client's answers (all
//! share `p`), from [AuthenticationOk] to [SASLResponse].
//!
//! An answer does not say what it is. It can only be read together with the request that it answers.
//!
//! [AuthenticationOk]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-AUTHENTICATIONOK
//! [SASLResponse]: https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SASLRESPONSE

use std::fmt;

use super::error::{Invalid, Unencodable};
use super::frame::{Direction, Frame};
use super::list::Strings;
use super::read::Reader;
use super::write;

/// A step of the server in authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The client is who it says.
    Ok,
    /// Kerberos V5 is required. PostgreSQL no longer sends it.
    KerberosV5,
    /// The password is required in clear text.
    CleartextPassword,
    /// The password is required as `md5(md5(password + user) + salt)`.
    Md5Password {
        /// Salt for the hash.
        salt: [u8; 4],
    },
    /// Credentials of a Unix socket are required. PostgreSQL no longer sends it.
    ScmCredential,
    /// GSSAPI is required.
    Gss,
    /// GSSAPI or SSPI goes on with this data.
    GssContinue(&'a [u8]),
    /// SSPI is required.
    Sspi,
    /// SASL is required, by one of these mechanisms, the server's favourite first.
    Sasl {
        /// Names of mechanisms, such as `SCRAM-SHA-256`.
        mechanisms: Strings<'a>,
    },
    /// SASL goes on with this challenge.
    SaslContinue(&'a [u8]),
    /// SASL has succeeded, with this data for the mechanism.
    SaslFinal(&'a [u8]),
}

impl<'a> Authentication<'a> {
    pub(super) fn decode(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let offset = read.offset();
        let request = match read.u32()? {
            0 => Authentication::Ok,
            2 => Authentication::KerberosV5,
            3 => Authentication::CleartextPassword,
            5 => Authentication::Md5Password { salt: read.salt()? },
            6 => Authentication::ScmCredential,
            7 => Authentication::Gss,
            8 => Authentication::GssContinue(read.rest()),
            9 => Authentication::Sspi,
            10 => Authentication::Sasl { mechanisms: read.strings_until_empty()? },
            11 => Authentication::SaslContinue(read.rest()),
            12 => Authentication::SaslFinal(read.rest()),
            _ => return Err(read.invalid(offset, "unknown kind of authentication")),
        };
        read.end(request)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> write::Field {
        let (code, data): (u32, &[u8]) = match self {
            Authentication::Ok => (0, b""),
            Authentication::KerberosV5 => (2, b""),
            Authentication::CleartextPassword => (3, b""),
            Authentication::Md5Password { salt } => (5, salt),
            Authentication::ScmCredential => (6, b""),
            Authentication::Gss => (7, b""),
            Authentication::GssContinue(data) => (8, data),
            Authentication::Sspi => (9, b""),
            Authentication::Sasl { mechanisms } => (10, mechanisms.as_wire()),
            Authentication::SaslContinue(data) => (11, data),
            Authentication::SaslFinal(data) => (12, data),
        };
        out.extend(code.to_be_bytes());
        out.extend_from_slice(data);
        if matches!(self, Authentication::Sasl { .. }) {
            out.push(0);
        }
        Ok(())
    }
}

/// Bytes that prove who somebody is. They are kept out of debug output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret<'a>(pub &'a [u8]);

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} secret bytes)", self.0.len())
    }
}

/// A step of the client in authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// The password, in clear text or hashed, as was required.
    Password(Secret<'a>),
    /// SASL begins.
    SaslInitial {
        /// The mechanism that the client chose.
        mechanism: &'a [u8],
        /// What the client says first, if the mechanism lets it.
        data: Option<Secret<'a>>,
    },
    /// SASL goes on.
    Sasl(Secret<'a>),
    /// GSSAPI or SSPI goes on.
    Gss(Secret<'a>),
}

impl<'a> Response<'a> {
    /// Reads the body of a message with the type byte `p` that answers `request`.
    pub fn decode(request: &Authentication<'_>, body: Secret<'a>) -> Result<Self, Invalid> {
        let frame = Frame { tag: b'p', body: body.0, len: body.0.len() + super::frame::HEADER };
        let mut read = Reader::new("PasswordMessage", frame);
        match request {
            Authentication::CleartextPassword | Authentication::Md5Password { .. } => {
                let password = Secret(read.string()?);
                read.end(Response::Password(password))
            }
            Authentication::Sasl { .. } => {
                let mut read = read.named("SASLInitialResponse");
                let mechanism = read.string()?;
                let data = read.value()?.map(Secret);
                read.end(Response::SaslInitial { mechanism, data })
            }
            Authentication::SaslContinue(_) => Ok(Response::Sasl(body)),
            Authentication::Gss | Authentication::Sspi | Authentication::GssContinue(_) => Ok(Response::Gss(body)),
            Authentication::Ok
            | Authentication::KerberosV5
            | Authentication::ScmCredential
            | Authentication::SaslFinal(_) => Err(read.invalid(0, "the server asked for no answer")),
        }
    }

    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let name = match self {
            Response::Password(_) => "PasswordMessage",
            Response::SaslInitial { .. } => "SASLInitialResponse",
            Response::Sasl(_) => "SASLResponse",
            Response::Gss(_) => "GSSResponse",
        };
        write::message(out, Direction::Client, b'p', name, |out| match self {
            Response::Password(password) => write::string(out, password.0),
            Response::SaslInitial { mechanism, data } => {
                write::string(out, mechanism)?;
                write::value(out, data.map(|data| data.0))
            }
            Response::Sasl(data) | Response::Gss(data) => {
                out.extend_from_slice(data.0);
                Ok(())
            }
        })
    }
}
