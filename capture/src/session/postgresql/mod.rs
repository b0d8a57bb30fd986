//! A PostgreSQL session: the two byte streams of one connection, turned into requests.
//!
//! - [`Session`]: the decoder; finds the messages in the bytes (`start`, `place`)
//! - `conversation`: the session after its start; `requests` takes the client's messages and `answers` the server's
//! - `pending`: requests without their answer, in the order in which the server will answer them
//! - `names`: prepared statements and portals
//! - [`Answer`]: counts and checksums of what came back
//!
//! One row is what a client regards as one request; `docs/trace.md` lists which messages make up a row.

mod answer;
mod answers;
mod conversation;
mod names;
mod pending;
mod place;
mod requests;
mod start;

use crate::postgresql::startup::is_tls as begins_tls;
use crate::postgresql::{Direction, frame};
use crate::trace::{Kind, Loss, Losses, Outcome, Request, Sink};

use super::encrypted::{self, Channel, Upgrade};
use super::ending::nanos_between;
use super::held::Held;
use super::{Close, Decoder, Encryption, Shared, Start};
use conversation::Conversation;
use place::Search;

pub use answer::Answer;

/// What the bytes of the connection are now.
enum Phase {
    /// Messages of the start-up, which have no type byte, and single bytes in answer to them.
    Start(start::Progress),
    /// Messages with a type byte, in both directions.
    Messages,
    /// It is not known where the next message begins.
    Lost(Search),
    /// A request to cancel, which is all that comes on its connection.
    Cancel(Box<Request>),
    /// Encrypted, or of another protocol: nothing can be read.
    Unreadable,
}

/// The decoder of one connection.
pub struct Session {
    phase: Phase,
    talk: Conversation,
    client: Held,
    server: Held,
    /// The encryption, once it has begun.
    channel: Option<Box<Channel>>,
}

impl Session {
    /// A connection without bytes so far. `session` is its number within the recording.
    pub fn new(session: u64, start: Start, shared: &Shared) -> Self {
        let midway = start.midway;
        let mut talk = Conversation::new(session, start, shared.clone());
        let phase = if midway {
            talk.losses.add(Loss::JoinedMidway, 1);
            Phase::Lost(Search::midway())
        } else {
            Phase::Start(start::Progress::default())
        };
        Session { phase, talk, client: Held::default(), server: Held::default(), channel: None }
    }

    fn held(&mut self, side: Direction) -> &mut Held {
        match side {
            Direction::Client => &mut self.client,
            Direction::Server => &mut self.server,
        }
    }

    /// Reads messages from `rest`, the first of which may have begun in what is held.
    fn feed(&mut self, side: Direction, at_ns: i64, mut rest: &[u8], out: &mut dyn Sink) {
        let mut held = std::mem::take(self.held(side));
        while !held.is_empty() {
            rest = held.fill(self.length(side, &held.bytes), rest);
            if self.step(side, held.since_ns, at_ns, &held.bytes, out).is_some() {
                if self.channel.is_some() && begins_tls(&held.bytes) {
                    self.decrypt(side, held.since_ns, &held.bytes, out);
                }
                held.clear();
            } else if rest.is_empty() {
                break;
            }
        }
        *self.held(side) = held;
        while !rest.is_empty() {
            if self.channel.is_some() {
                return self.decrypt(side, at_ns, rest, out);
            }
            let Some(used) = self.step(side, at_ns, at_ns, rest, out) else {
                return self.held(side).hold(at_ns, rest);
            };
            // Nothing was used of bytes with which encryption begins.
            let used = if self.channel.is_some() { used } else { used.max(1) };
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// Length of the message that `bytes` begin, or what it takes to know it.
    fn length(&self, side: Direction, bytes: &[u8]) -> usize {
        // A client's messages of the start have no type byte.
        let start = matches!(self.phase, Phase::Start(_)) && side == Direction::Client;
        frame::length(usize::from(!start), bytes)
    }

    /// Takes the message at the start of `bytes`, which is not empty, and returns its length; `None` when it is not
    /// complete. Its first byte came at `first_ns`, its last at `last_ns`.
    fn step(
        &mut self,
        side: Direction,
        first_ns: i64,
        last_ns: i64,
        bytes: &[u8],
        out: &mut dyn Sink,
    ) -> Option<usize> {
        match &mut self.phase {
            Phase::Messages => {}
            Phase::Start(_) => return self.start(side, first_ns, bytes, out),
            Phase::Lost(search) if side == Direction::Client && search.client_known => {}
            Phase::Lost(search) => {
                if side == Direction::Server {
                    search.server(bytes);
                }
                self.talk.losses.add(Loss::Resync, bytes.len() as u64);
                return Some(bytes.len());
            }
            Phase::Cancel(_) => {
                self.talk.losses.add(Loss::Undecodable, bytes.len() as u64);
                return Some(bytes.len());
            }
            Phase::Unreadable => return Some(bytes.len()),
        }
        let taken = match frame::next_from(side, bytes) {
            Ok(None) => return None,
            Ok(Some(frame)) => match side {
                Direction::Client => self.talk.client_message(first_ns, frame),
                Direction::Server => self.talk.server_message(last_ns, frame, out),
            }
            .map(|()| frame.len),
            Err(invalid) => Err(invalid),
        };
        match taken {
            Ok(length) => Some(length),
            Err(_) => {
                // What follows an invalid message cannot be told apart any more.
                self.lose(side == Direction::Server, out);
                if let Phase::Lost(search) = &mut self.phase
                    && side == Direction::Server
                {
                    search.server(bytes);
                }
                self.talk.losses.add(Loss::Undecodable, bytes.len() as u64);
                Some(bytes.len())
            }
        }
    }

    /// The place in the streams is lost: what is pending cannot be completed.
    fn lose(&mut self, client_known: bool, out: &mut dyn Sink) {
        self.talk.interrupt(out);
        let mut passed = self.server.clear();
        if !client_known {
            self.talk.names.forget();
            passed += self.client.clear();
        }
        self.talk.losses.add(Loss::Resync, passed);
        let client_known = match &self.phase {
            Phase::Messages => client_known,
            Phase::Lost(search) => client_known && search.client_known,
            _ => false,
        };
        self.phase = Phase::Lost(Search::after_loss(client_known));
    }

    fn gap(&mut self, side: Direction, missing: u64, out: &mut dyn Sink) {
        self.talk.losses.add(Loss::Gap, missing);
        match self.phase {
            // The request to cancel is complete, and nothing is read of the others.
            Phase::Cancel(_) | Phase::Unreadable => {}
            _ => self.lose(side == Direction::Server, out),
        }
    }

    /// TLS begins. `consent`: the server has still to agree, with so many bytes.
    fn begin_tls(&mut self, consent: usize) {
        self.channel = Some(Channel::new(self.talk.shared.key_log(), consent));
    }

    fn unreadable(&mut self, why: Loss) {
        self.talk.losses.add(why, 1);
        self.client.clear();
        self.server.clear();
        self.phase = Phase::Unreadable;
    }
}

impl Upgrade for Session {
    fn channel(&mut self) -> &mut Option<Box<Channel>> {
        &mut self.channel
    }

    fn plain(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        match side {
            Direction::Client => {
                if let Phase::Lost(search) = &mut self.phase {
                    if search.client(bytes, self.client.is_empty()) {
                        // What was asked while the server was lost is not going to be answered any more.
                        if search.client_known {
                            self.talk.interrupt(out);
                        }
                        self.talk.established = true;
                        self.phase = Phase::Messages;
                    } else if search.encrypted() {
                        encrypted::joined_midway(self);
                    }
                }
                self.feed(side, at_ns, bytes, out);
            }
            Direction::Server => {
                self.feed(side, at_ns, bytes, out);
                if let Phase::Lost(search) = &self.phase
                    && search.encrypted()
                {
                    encrypted::joined_midway(self);
                }
            }
        }
    }

    fn missing(&mut self, side: Direction, missing: u64, out: &mut dyn Sink) {
        self.gap(side, missing, out);
    }

    fn passed(&mut self, bytes: u64) {
        self.talk.losses.add(Loss::Resync, bytes);
    }

    fn encrypted(&mut self, how: String, why: String) {
        let server = self.talk.who.server();
        self.talk.shared.is_encrypted(Encryption { server, how, why });
        self.unreadable(Loss::Encrypted);
    }
}

impl Decoder for Session {
    #[inline]
    fn client(&mut self, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        self.arrived(Direction::Client, at_ns, bytes, out);
    }

    #[inline]
    fn server(&mut self, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        self.arrived(Direction::Server, at_ns, bytes, out);
    }

    fn client_gap(&mut self, at_ns: i64, missing: u64, out: &mut dyn Sink) {
        self.lacking(Direction::Client, at_ns, missing, out);
    }

    fn server_gap(&mut self, at_ns: i64, missing: u64, out: &mut dyn Sink) {
        self.lacking(Direction::Server, at_ns, missing, out);
    }

    fn close(&mut self, at_ns: i64, how: Close, out: &mut dyn Sink) {
        self.decrypt_end();
        let cut = self.client.clear() + self.server.clear();
        match std::mem::replace(&mut self.phase, Phase::Unreadable) {
            Phase::Cancel(mut row) => {
                if how != Close::RecordingEnded {
                    row.outcome = Outcome::Ok;
                    row.duration_ns = Some(nanos_between(row.start_ns, at_ns));
                }
                self.talk.finish(*row, out);
            }
            Phase::Start(progress) => {
                // The client left before it said who it is, for instance because encryption was refused.
                if let Some(first_ns) = progress.first_ns {
                    let row = self.talk.who.row(first_ns, Kind::Connect);
                    self.talk.queue.push(pending::Pending::new(row));
                    self.talk.close(at_ns, how, out);
                }
            }
            Phase::Messages | Phase::Lost(_) => self.talk.close(at_ns, how, out),
            Phase::Unreadable => return,
        }
        self.talk.losses.add(Loss::Undecodable, cut);
    }

    fn next_seq(&self) -> u32 {
        self.talk.who.next_seq()
    }

    fn losses(&self) -> &Losses {
        &self.talk.losses
    }
}
