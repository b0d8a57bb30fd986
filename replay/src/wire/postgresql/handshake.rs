//! Start-up and authentication, as a state machine without I/O: server messages in, client messages out.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use splitproof_capture::postgresql::Unencodable;
use splitproof_capture::postgresql::authentication::{Authentication, Response, Secret as SecretBytes};
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::startup::write_startup;

use crate::pair::Secret;

/// As whom to start a session, and with which settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Minor version of protocol 3 that the client asked for.
    pub minor_version: u16,
    /// The user.
    pub user: String,
    /// All start-up parameters, `user` and `database` among them, in the order in which they are sent.
    pub parameters: Vec<(String, String)>,
}

/// What a session needs to have its statements cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelKey {
    /// Process identifier of the server process.
    pub process_id: i32,
    /// The key.
    pub secret: Box<[u8]>,
}

/// Why a session could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The server said no.
    #[error("{message} (SQLSTATE {code})")]
    Server {
        /// SQLSTATE.
        code: String,
        /// What it said.
        message: String,
    },
    /// A password is needed and there is none.
    #[error("it asks for a password, and there is none for this user in the router's URL, PGPASSWORD or PGPASSFILE")]
    NoPassword,
    /// The way of authentication is not supported.
    #[error("it asks for {0} authentication; a replay can do trust, password, md5 and scram-sha-256")]
    Method(&'static str),
    /// SCRAM failed on our side: the server does not know the password either.
    #[error("SCRAM authentication failed: {0}")]
    Scram(String),
    /// The start-up message cannot be made.
    #[error(transparent)]
    Unencodable(#[from] Unencodable),
    /// The server's bytes are not messages of the protocol.
    #[error("it does not speak the PostgreSQL protocol: {0}")]
    Protocol(String),
    /// The connection could not be opened, or ended.
    #[error("{0}")]
    Connection(String),
}

/// How far the start is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More messages of the server are needed.
    Continue,
    /// The server is ready for requests.
    Ready,
}

/// A session being started.
pub struct Handshake<'a> {
    user: &'a str,
    password: Option<&'a Secret>,
    scram: Option<ScramSha256>,
    key: Option<CancelKey>,
}

impl<'a> Handshake<'a> {
    /// Begins: appends the start-up message to `out`.
    pub fn begin(login: &'a Login, password: Option<&'a Secret>, out: &mut Vec<u8>) -> Result<Self, Refused> {
        let parameters = login.parameters.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        write_startup(out, (3, login.minor_version), parameters)?;
        Ok(Handshake { user: &login.user, password, scram: None, key: None })
    }

    /// Takes a message of the server, and appends the answer to `out` if it wants one.
    pub fn message(&mut self, message: &Backend<'_>, out: &mut Vec<u8>) -> Result<Step, Refused> {
        match message {
            Backend::Authentication(request) => self.authenticate(request, out).map(|()| Step::Continue),
            Backend::BackendKeyData { process_id, secret } => {
                self.key = Some(CancelKey { process_id: *process_id, secret: (*secret).into() });
                Ok(Step::Continue)
            }
            Backend::ReadyForQuery(_) => Ok(Step::Ready),
            Backend::ErrorResponse(fields) => {
                Err(Refused::Server { code: text(fields.sqlstate()), message: text(fields.message()) })
            }
            Backend::ParameterStatus { .. } | Backend::NoticeResponse(_) | Backend::NegotiateProtocolVersion(_) => {
                Ok(Step::Continue)
            }
            _ => Err(Refused::Protocol("it sent an answer before it was ready for a request".to_owned())),
        }
    }

    /// The session's cancel key, if the server gave one.
    pub fn into_key(self) -> Option<CancelKey> {
        self.key
    }

    fn authenticate(&mut self, request: &Authentication<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
        match request {
            Authentication::Ok => {}
            Authentication::CleartextPassword => {
                Response::Password(SecretBytes(self.password()?.bytes())).encode(out)?;
            }
            Authentication::Md5Password { salt } => {
                let hash = md5_hash(self.user.as_bytes(), self.password()?.bytes(), *salt);
                Response::Password(SecretBytes(hash.as_bytes())).encode(out)?;
            }
            Authentication::Sasl { mechanisms } => {
                if !mechanisms.iter().any(|mechanism| mechanism == SCRAM_SHA_256.as_bytes()) {
                    return Err(Refused::Method("a SASL mechanism other than SCRAM-SHA-256 as"));
                }
                let scram = ScramSha256::new(self.password()?.bytes(), ChannelBinding::unsupported());
                let mechanism = SCRAM_SHA_256.as_bytes();
                Response::SaslInitial { mechanism, data: Some(SecretBytes(scram.message())) }.encode(out)?;
                self.scram = Some(scram);
            }
            Authentication::SaslContinue(challenge) => {
                let scram = self.scram.as_mut().ok_or_else(out_of_turn)?;
                scram.update(challenge).map_err(|error| Refused::Scram(error.to_string()))?;
                Response::Sasl(SecretBytes(scram.message())).encode(out)?;
            }
            Authentication::SaslFinal(proof) => {
                let scram = self.scram.as_mut().ok_or_else(out_of_turn)?;
                scram.finish(proof).map_err(|error| Refused::Scram(error.to_string()))?;
            }
            Authentication::KerberosV5 => return Err(Refused::Method("Kerberos")),
            Authentication::ScmCredential => return Err(Refused::Method("Unix socket credential")),
            Authentication::Gss | Authentication::GssContinue(_) => return Err(Refused::Method("GSSAPI")),
            Authentication::Sspi => return Err(Refused::Method("SSPI")),
        }
        Ok(())
    }

    fn password(&self) -> Result<&'a Secret, Refused> {
        self.password.ok_or(Refused::NoPassword)
    }
}

fn out_of_turn() -> Refused {
    Refused::Protocol("it went on with SASL before it began".to_owned())
}

fn text(field: Option<&[u8]>) -> String {
    String::from_utf8_lossy(field.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::TransactionStatus;

    use super::*;

    fn login() -> Login {
        let parameters = vec![("user".to_owned(), "app".to_owned()), ("database".to_owned(), "shop".to_owned())];
        Login { minor_version: 0, user: "app".to_owned(), parameters }
    }

    #[test]
    fn trust_needs_no_answer() {
        let (login, mut out) = (login(), Vec::new());
        let mut handshake = Handshake::begin(&login, None, &mut out).unwrap();
        assert_eq!(out, b"\0\0\0\x20\0\x03\0\0user\0app\0database\0shop\0\0");
        out.clear();
        assert_eq!(handshake.message(&Backend::Authentication(Authentication::Ok), &mut out), Ok(Step::Continue));
        let key = Backend::BackendKeyData { process_id: 7, secret: b"abcd" };
        assert_eq!(handshake.message(&key, &mut out), Ok(Step::Continue));
        let ready = Backend::ReadyForQuery(TransactionStatus::Idle);
        assert_eq!(handshake.message(&ready, &mut out), Ok(Step::Ready));
        assert!(out.is_empty());
        assert_eq!(handshake.into_key(), Some(CancelKey { process_id: 7, secret: Box::from(*b"abcd") }));
    }

    #[test]
    fn passwords_go_in_clear_or_hashed() {
        let (login, secret) = (login(), Secret::new(b"secret"));
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(&login, Some(&secret), &mut out).unwrap();
        out.clear();
        handshake.message(&Backend::Authentication(Authentication::CleartextPassword), &mut out).unwrap();
        assert_eq!(out, b"p\0\0\0\x0bsecret\0");
        out.clear();
        let md5 = Authentication::Md5Password { salt: [1, 2, 3, 4] };
        handshake.message(&Backend::Authentication(md5), &mut out).unwrap();
        assert_eq!(&out[..8], b"p\0\0\0\x28md5");
    }

    #[test]
    fn a_missing_password_and_a_refusal_are_told_apart() {
        let login = login();
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(&login, None, &mut out).unwrap();
        let clear = Backend::Authentication(Authentication::CleartextPassword);
        assert_eq!(handshake.message(&clear, &mut out), Err(Refused::NoPassword));
        let gss = Backend::Authentication(Authentication::Gss);
        assert_eq!(handshake.message(&gss, &mut out), Err(Refused::Method("GSSAPI")));
        let next = Backend::Authentication(Authentication::SaslContinue(b"r=x"));
        assert!(matches!(handshake.message(&next, &mut out), Err(Refused::Protocol(_))));
    }
}
