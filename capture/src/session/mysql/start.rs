//! The start of a connection: the server's greeting, and who the client is.

use super::pending::{Asked, Pending};
use super::place::is_tls_record;
use super::requests::program;
use super::{Phase, Session};
use crate::mysql::packet::{self, HEADER, header};
use crate::mysql::{Capabilities, ErrPacket, Handshake, HandshakeResponse, Opening};
use crate::postgresql::Direction;
use crate::session::encrypted::{Channel, Upgrade};
use crate::sql::mysql::{Mode, Server};
use crate::trace::{Kind, Loss, Sink};

/// How far the start is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When the first byte of either side came.
    pub first_ns: Option<i64>,
    /// What the server can do, once it has said so.
    offered: Option<Capabilities>,
}

/// The longest packet that is waited for in the start. Real ones have a few hundred bytes.
const LONGEST: usize = 64 << 10;

/// True when a segment of a server is a greeting and nothing else.
pub(super) fn greets(bytes: &[u8]) -> bool {
    packet::next(bytes).is_some_and(|packet| {
        let greeting = Handshake::decode(packet.payload);
        packet.sequence == 0
            && packet.len() == bytes.len()
            && greeting.is_ok_and(|greeting| greeting.version.first().is_some_and(u8::is_ascii_digit))
    })
}

impl Progress {
    /// Why the bytes of one side are not the start of a session that can be read, if they are not.
    pub fn refuses(&self, side: Direction, bytes: &[u8]) -> Option<Loss> {
        if side == Direction::Client && is_tls_record(bytes) {
            return Some(Loss::Encrypted);
        }
        let (length, sequence) = header(bytes)?;
        let first = bytes.get(HEADER);
        let right = match side {
            Direction::Server => first.is_none_or(|first| matches!(*first, Handshake::HEADER | ErrPacket::HEADER)),
            // Before the server has spoken, a client is believed that answers all the same: the greeting was missed.
            Direction::Client => self.offered.is_some() || sequence == 1,
        };
        (!right || length > LONGEST || length == 0).then_some(Loss::OtherProtocol)
    }
}

impl Session {
    /// Takes one payload of the start.
    pub(super) fn start(&mut self, side: Direction, first_ns: i64, last_ns: i64, payload: &[u8], out: &mut dyn Sink) {
        let Phase::Start(progress) = &mut self.phase else { return };
        let began_ns = *progress.first_ns.get_or_insert(first_ns);
        match side {
            // It refuses the client, because it has too many or does not know the host; or it is tired of waiting.
            Direction::Server if ErrPacket::decode(payload).is_ok() => {
                self.connect(began_ns);
                // It was decoded above, so that it cannot be invalid.
                self.talk.server_payload(last_ns, payload, out).ok();
            }
            Direction::Server => match Handshake::decode(payload) {
                Ok(greeting) => {
                    progress.offered = Some(greeting.capabilities);
                    if let Some(server) = Server::from_version(&String::from_utf8_lossy(greeting.version)) {
                        self.talk.mode = Mode::of(server);
                    }
                }
                Err(_) => self.unreadable(Loss::OtherProtocol),
            },
            Direction::Client => {
                let offered = progress.offered;
                match Opening::decode(payload) {
                    Ok(Opening::Ssl(_)) => self.channel = Some(Channel::new(self.talk.shared.key_log(), 0)),
                    Ok(Opening::Response(response)) => self.respond(began_ns, offered, response),
                    Err(_) => self.refuse(side, first_ns, Loss::OtherProtocol, payload.len()),
                }
            }
        }
    }

    /// Bytes that do not belong to the start of a session. A stranger who talks to a server that greeted it is a client
    /// all the same: the server is going to refuse it.
    pub(super) fn refuse(&mut self, side: Direction, first_ns: i64, why: Loss, bytes: usize) {
        match &self.phase {
            Phase::Start(Progress { first_ns: began_ns, offered: Some(_) })
                if side == Direction::Client && why == Loss::OtherProtocol =>
            {
                let began_ns = began_ns.unwrap_or(first_ns);
                self.talk.losses.add(Loss::Undecodable, bytes as u64);
                self.connect(began_ns);
            }
            _ if why == Loss::Encrypted => {
                self.encrypted("TLS".to_owned(), "its request for encryption was not captured".to_owned());
            }
            _ => self.unreadable(why),
        }
    }

    fn respond(&mut self, began_ns: i64, offered: Option<Capabilities>, response: HandshakeResponse<'_>) {
        let talk = &mut self.talk;
        let intern = |name: &[u8]| (!name.is_empty()).then(|| talk.shared.intern(name));
        let user = intern(response.user);
        let database = response.database.and_then(intern);
        let application = response.attributes.and_then(program).and_then(intern);
        (talk.who.user, talk.who.database, talk.who.application) = (user, database, application);
        talk.announced = Some(response.capabilities.0);
        talk.collation = Some(response.collation.into());
        // Where only the client was recorded, it is believed.
        talk.capabilities = offered.map_or(response.capabilities, |offered| offered.agreed(response.capabilities));
        (talk.capabilities_known, talk.eof_known) = (true, true);
        self.connect(began_ns);
    }

    /// Opens the row of the connection.
    pub(super) fn connect(&mut self, began_ns: i64) {
        let row = self.talk.who.row(began_ns, Kind::Connect);
        self.talk.queue.push_back(Pending::new(row, Asked::Connect));
        self.phase = Phase::Messages;
    }
}
