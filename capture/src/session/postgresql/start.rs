//! The start of a connection: encryption requests, who the client is, or a request to cancel.

use super::pending::Pending;
use super::{Phase, Session, Upgrade};
use crate::postgresql::startup::{EncryptionAnswer, Params, Startup, is_tls};
use crate::postgresql::{Backend, Direction, frame};
use crate::trace::{Kind, Loss, Param, Sink};

/// Type OID of `bigint`.
const INT8: u32 = 20;

/// Type OID of `text`.
const TEXT: u32 = 25;

fn text(bytes: &[u8]) -> Param {
    Param { type_id: TEXT, binary: false, value: Some(bytes.into()) }
}

/// How far the start is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When the client's first byte came.
    pub first_ns: Option<i64>,
    /// Encryption requests that the server has not answered.
    requests: u32,
}

impl Session {
    /// Like [`Session::step`], for the messages of the start.
    pub(super) fn start(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) -> Option<usize> {
        match side {
            Direction::Client => self.start_client(at_ns, bytes),
            Direction::Server => self.start_server(at_ns, bytes, out),
        }
    }

    fn start_client(&mut self, at_ns: i64, bytes: &[u8]) -> Option<usize> {
        let Phase::Start(progress) = &mut self.phase else { return None };
        let first_ns = *progress.first_ns.get_or_insert(at_ns);
        if is_tls(bytes) {
            // Where the server's consent was not seen yet, it is still to come: one byte.
            let consent = progress.requests.min(1) as usize;
            self.begin_tls(consent);
            return Some(0);
        }
        let message = match frame::next_startup(bytes) {
            Ok(None) => return None,
            Ok(Some(message)) => message,
            Err(_) => {
                self.unreadable(Loss::OtherProtocol);
                return Some(bytes.len());
            }
        };
        match message {
            Startup::SslRequest | Startup::GssEncRequest => progress.requests += 1,
            Startup::Cancel { process_id, secret } => self.cancel(first_ns, process_id, secret),
            Startup::Startup { params, .. } => self.connect(first_ns, params),
        }
        Some(message.wire_len())
    }

    fn start_server(&mut self, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) -> Option<usize> {
        let Phase::Start(progress) = &mut self.phase else { return None };
        if progress.requests > 0 {
            progress.requests -= 1;
            match EncryptionAnswer::decode(bytes) {
                Ok(Some(EncryptionAnswer::Refused)) => return Some(1),
                Ok(Some(EncryptionAnswer::Tls)) => {
                    self.begin_tls(0);
                    return Some(1);
                }
                Ok(Some(EncryptionAnswer::Gss)) => {
                    self.encrypted("GSSAPI".to_owned(), "this encryption is not decrypted".to_owned());
                    return Some(bytes.len());
                }
                // The request was answered with an error message, which may not be complete.
                Ok(Some(EncryptionAnswer::Error)) | Ok(None) => {}
                Err(_) => {
                    self.unreadable(Loss::OtherProtocol);
                    return Some(bytes.len());
                }
            }
        }
        // A server that speaks first either refuses the client (it has too many) or speaks another protocol.
        match frame::next_from(Direction::Server, bytes) {
            Ok(None) => None,
            Ok(Some(message)) if matches!(Backend::decode(message), Ok(Backend::ErrorResponse(_))) => {
                let first_ns = progress.first_ns.unwrap_or(at_ns);
                let row = self.talk.who.row(first_ns, Kind::Connect);
                self.talk.queue.push(Pending::new(row));
                self.phase = Phase::Messages;
                // It was decoded above, so that it cannot be invalid.
                self.talk.server_message(at_ns, message, out).ok();
                Some(message.len)
            }
            Ok(Some(_)) | Err(_) => {
                self.unreadable(Loss::OtherProtocol);
                Some(bytes.len())
            }
        }
    }

    fn connect(&mut self, first_ns: i64, params: Params<'_>) {
        let intern =
            |name| params.get(name).filter(|value| !value.is_empty()).map(|value| self.talk.shared.intern(value));
        let user = intern("user");
        // The server takes the user's name for the database where none is given.
        let database = intern("database").or_else(|| user.clone());
        let application = intern("application_name");
        let who = &mut self.talk.who;
        (who.user, who.database, who.application) = (user, database, application);
        let mut row = who.row(first_ns, Kind::Connect);
        // What the client set besides: its answers may depend on it (DateStyle, client_encoding, options).
        let others = params.iter().filter(|(name, _)| !matches!(*name, b"user" | b"database" | b"application_name"));
        row.params = others.flat_map(|(name, value)| [name, value]).map(text).collect();
        self.talk.queue.push(Pending::new(row));
        self.phase = Phase::Messages;
    }

    /// The row of a cancel request names the session it is aimed at as its parameter, and never the key.
    fn cancel(&mut self, first_ns: i64, process_id: i32, secret: &[u8]) {
        let mut row = self.talk.who.row(first_ns, Kind::Cancel);
        if let Some(target) = self.talk.shared.cancel_target(process_id, secret) {
            let value = Some(target.to_string().into_bytes().into_boxed_slice());
            row.params = vec![Param { type_id: INT8, binary: false, value }];
        }
        self.phase = Phase::Cancel(Box::new(row));
    }
}
