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

/// Appends the AuthenticationSASL message with the names of these mechanisms to `out`.
pub fn write_sasl(out: &mut Vec<u8>, mechanisms: &[&[u8]]) -> Result<(), Unencodable> {
    write::message(out, Direction::Server, b'R', "AuthenticationSASL", |out| {
        out.extend(10u32.to_be_bytes());
        for mechanism in mechanisms {
            if mechanism.is_empty() {
                return Err("a mechanism has an empty name, which ends the list in the protocol");
            }
            write::string(out, mechanism)?;
        }
        out.push(0);
        Ok(())
    })
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

#[cfg(test)]
mod tests {
    use super::super::testing::{client, invalid_server, message, needs_every_byte, server};
    use super::super::{Backend, Frontend};
    use super::*;

    #[test]
    fn requests() {
        for (body, request) in [
            (&b"\0\0\0\0"[..], Authentication::Ok),
            (b"\0\0\0\x02", Authentication::KerberosV5),
            (b"\0\0\0\x03", Authentication::CleartextPassword),
            (b"\0\0\0\x05salt", Authentication::Md5Password { salt: *b"salt" }),
            (b"\0\0\0\x06", Authentication::ScmCredential),
            (b"\0\0\0\x07", Authentication::Gss),
            (b"\0\0\0\x08token", Authentication::GssContinue(b"token")),
            (b"\0\0\0\x09", Authentication::Sspi),
            (b"\0\0\0\x0br=1,s=2", Authentication::SaslContinue(b"r=1,s=2")),
            (b"\0\0\0\x0cv=3", Authentication::SaslFinal(b"v=3")),
        ] {
            assert_eq!(server(&message(b'R', body)), Backend::Authentication(request));
        }
    }

    #[test]
    fn sasl_lists_its_mechanisms() {
        let bytes = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
        let Backend::Authentication(Authentication::Sasl { mechanisms }) = server(&bytes) else { panic!("{bytes:?}") };
        let names: Vec<_> = mechanisms.iter().collect();
        assert_eq!(names, [&b"SCRAM-SHA-256-PLUS"[..], b"SCRAM-SHA-256"]);
        needs_every_byte(Direction::Server, &bytes);
        let mut out = Vec::new();
        write_sasl(&mut out, &names).unwrap();
        assert_eq!(out, bytes);
        assert!(write_sasl(&mut out, &[b""]).is_err());
    }

    #[test]
    fn requests_malformed() {
        needs_every_byte(Direction::Server, &message(b'R', b"\0\0\0\x05salt"));
        needs_every_byte(Direction::Server, &message(b'R', b"\0\0\0\0"));
        assert_eq!(invalid_server(b'R', b"\0\0\0\x04").offset, 5);
        assert_eq!(invalid_server(b'R', b"\xff\xff\xff\xff").offset, 5);
    }

    #[test]
    fn answers_are_read_with_the_request_that_they_answer() {
        let mechanisms = Strings::default();
        for (request, body, expected) in [
            (Authentication::CleartextPassword, &b"secret\0"[..], Response::Password(Secret(b"secret"))),
            (Authentication::Md5Password { salt: [0; 4] }, b"md5abc\0", Response::Password(Secret(b"md5abc"))),
            (
                Authentication::Sasl { mechanisms },
                b"SCRAM-SHA-256\0\0\0\0\x03n,,",
                Response::SaslInitial { mechanism: b"SCRAM-SHA-256", data: Some(Secret(b"n,,")) },
            ),
            (
                Authentication::Sasl { mechanisms },
                b"X\0\xff\xff\xff\xff",
                Response::SaslInitial { mechanism: b"X", data: None },
            ),
            (Authentication::SaslContinue(b""), b"c=biws", Response::Sasl(Secret(b"c=biws"))),
            (Authentication::Gss, b"\0token", Response::Gss(Secret(b"\0token"))),
        ] {
            let bytes = message(b'p', body);
            let Frontend::Password(secret) = client(&bytes) else { panic!("{bytes:?}") };
            let response = Response::decode(&request, secret).unwrap();
            assert_eq!(response, expected);
            let mut out = Vec::new();
            response.encode(&mut out).unwrap();
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn answers_malformed() {
        let sasl = Authentication::Sasl { mechanisms: Strings::default() };
        for (request, body) in [
            (Authentication::CleartextPassword, &b"secret"[..]),
            (Authentication::CleartextPassword, b"secret\0more"),
            (sasl, b"SCRAM-SHA-256\0\0\0\0\x04n,,"),
            (sasl, b"SCRAM-SHA-256\0\xff\xff\xff\xfe"),
            (sasl, b"SCRAM-SHA-256"),
            (Authentication::Ok, b""),
        ] {
            assert!(Response::decode(&request, Secret(body)).is_err(), "{body:?}");
        }
    }

    #[test]
    fn debug_output_keeps_a_password() {
        let bytes = message(b'p', b"hunter2\0");
        let shown = format!("{:?}", client(&bytes));
        assert_eq!(shown, "Password((8 secret bytes))");
    }
}
