//! A MySQL session: the two byte streams of one connection, turned into requests. MariaDB speaks the same protocol.
//!
//! - [`Session`]: the decoder; finds the payloads in the bytes (`inflate`, `start`, `place`, `framing`)
//! - `conversation`: the session after its greeting; `requests` takes the client's commands and `answers` the server's
//! - `pending`: requests without their answer
//! - `statements`: prepared statements and what was sent ahead for them; `follow`: `USE` and `SET sql_mode`
//! - [`Answer`]: counts and checksums of what came back
//!
//! One row is one command, except that parameters which are sent ahead belong to their execution; `docs/trace.md` lists
//! the kinds.

mod answer;
mod answers;
mod conversation;
mod follow;
mod framing;
mod inflate;
mod pending;
mod place;
mod requests;
mod start;
mod statements;

use crate::mysql::compressed::{self, Algorithm};
use crate::mysql::packet::{self, HEADER, Joiner};
use crate::mysql::{Invalid, Packet};
use crate::postgresql::Direction;
use crate::trace::{Loss, Losses, Sink};

use super::encrypted::{self, Channel, Upgrade};
use super::held::Held;
use super::{Close, Decoder, Encryption, Shared, Start};
use conversation::Conversation;
use framing::Framing;
use inflate::Inflate;
use place::Search;

pub use answer::Answer;
pub(crate) use follow::{Follow, follow};

/// What the bytes of the connection are now.
enum Phase {
    /// The server's greeting, and the client's response.
    Start(start::Progress),
    /// Commands and answers, the steps of authentication included.
    Messages,
    /// It is not known where the next packet begins.
    Lost(Search),
    /// Encrypted, or of another protocol: nothing can be read.
    Unreadable,
}

/// When a payload came.
#[derive(Clone, Copy, Default)]
struct Moment {
    /// Its first byte.
    first_ns: i64,
    /// Its last byte.
    last_ns: i64,
    /// Sequence number of its first packet.
    sequence: u8,
}

/// One direction of the connection.
#[derive(Default)]
struct Lane {
    held: Held,
    joiner: Joiner,
    /// Of a payload that is sent in several packets: the first.
    joined: Moment,
    inflate: Option<Inflate>,
}

impl Lane {
    /// Forgets the bytes, and returns how many there were.
    fn clear(&mut self) -> u64 {
        self.joiner = Joiner::new();
        self.held.clear() + self.inflate.as_mut().map_or(0, Inflate::clear)
    }
}

/// The decoder of one connection.
pub struct Session {
    phase: Phase,
    talk: Conversation,
    client: Lane,
    server: Lane,
    compression: Option<Algorithm>,
    /// After the place was found: the sequence number that the server's answer must begin with, in the packets that are
    /// sent, which may be compressed.
    awaited: Option<u8>,
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
        let (client, server) = (Lane::default(), Lane::default());
        Session { phase, talk, client, server, compression: None, awaited: None, channel: None }
    }

    fn lane(&mut self, side: Direction) -> &mut Lane {
        match side {
            Direction::Client => &mut self.client,
            Direction::Server => &mut self.server,
        }
    }

    /// Takes what arrived from one side.
    fn feed(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        match self.compression {
            Some(algorithm) if matches!(self.phase, Phase::Messages | Phase::Lost(_)) => {
                self.inflated(side, algorithm, at_ns, bytes, out);
            }
            _ => self.packets(side, at_ns, at_ns, bytes, out),
        }
    }

    fn inflated(&mut self, side: Direction, algorithm: Algorithm, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        if let Phase::Lost(search) = &mut self.phase
            && !(side == Direction::Client && search.client_known)
        {
            if side == Direction::Server {
                search.server(bytes);
            }
            self.talk.losses.add(Loss::Resync, bytes.len() as u64);
            return;
        }
        if side == Direction::Server
            && let Some(awaited) = self.awaited.take()
            && compressed::sequence(bytes).is_some_and(|sequence| sequence != awaited)
        {
            // This is still the answer to something before.
            self.pass_over(side, Loss::Resync, bytes, out);
            return;
        }
        let Some(mut inflate) = self.lane(side).inflate.take().or_else(|| Inflate::new(algorithm)) else {
            self.talk.losses.add(Loss::Undecodable, bytes.len() as u64);
            return;
        };
        let mut plain = Vec::new();
        let pushed = inflate.push(at_ns, bytes, &mut plain);
        self.lane(side).inflate = Some(inflate);
        self.packets(side, pushed.unwrap_or(at_ns), at_ns, &plain, out);
        if pushed.is_err() {
            self.lose(side, out);
            self.talk.losses.add(Loss::Undecodable, bytes.len() as u64);
        }
    }

    /// Reads packets from `rest`, whose first byte came at `first_ns`. The first packet may have begun in what is held.
    fn packets(&mut self, side: Direction, first_ns: i64, at_ns: i64, mut rest: &[u8], out: &mut dyn Sink) {
        let compression = self.compression;
        let mut held = std::mem::take(&mut self.lane(side).held);
        while !held.is_empty() {
            let length = packet::header(&held.bytes).map_or(HEADER, |(length, _)| HEADER + length);
            rest = held.fill(length, rest);
            if self.step(side, held.since_ns, at_ns, &held.bytes, out).is_some() {
                held.clear();
            } else if rest.is_empty() {
                break;
            }
        }
        self.lane(side).held = held;
        while !rest.is_empty() {
            if self.channel.is_some() {
                // The packet before asked for encryption.
                return self.decrypt(side, at_ns, rest, out);
            }
            if self.compression != compression {
                // The packet before was the last without compression.
                return self.feed(side, at_ns, rest, out);
            }
            let Some(used) = self.step(side, first_ns, at_ns, rest, out) else {
                return self.lane(side).held.hold(first_ns, rest);
            };
            rest = rest.get(used.max(1)..).unwrap_or_default();
        }
    }

    /// Takes the packet at the start of `bytes`, which is not empty, and returns its length; `None` when it is not
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
            Phase::Messages if side == Direction::Server && self.awaited.is_some() => {
                let (_, sequence) = packet::header(bytes)?;
                if self.awaited.take() != Some(sequence) {
                    // This is still the answer to something before.
                    return Some(self.pass_over(side, Loss::Resync, bytes, out));
                }
            }
            Phase::Messages => {}
            Phase::Start(progress) => {
                if let Some(why) = progress.refuses(side, bytes) {
                    self.refuse(side, first_ns, why, bytes.len());
                    return Some(bytes.len());
                }
            }
            Phase::Lost(search) if side == Direction::Client && search.client_known => {}
            Phase::Lost(search) => {
                if side == Direction::Server {
                    search.server(bytes);
                }
                self.talk.losses.add(Loss::Resync, bytes.len() as u64);
                return Some(bytes.len());
            }
            Phase::Unreadable => return Some(bytes.len()),
        }
        let packet = packet::next(bytes)?;
        let lane = self.lane(side);
        let taken = if !packet.continues() && !lane.joiner.is_joining() {
            let at = Moment { first_ns, last_ns, sequence: packet.sequence };
            self.payload(side, at, packet, packet.payload, out)
        } else {
            self.join(side, first_ns, last_ns, packet, out)
        };
        match taken {
            Ok(()) => Some(packet.len()),
            // What follows an invalid message cannot be told apart any more.
            Err(_) => Some(self.pass_over(side, Loss::Undecodable, bytes, out)),
        }
    }

    /// Takes one of several packets of a payload.
    #[cold]
    fn join(
        &mut self,
        side: Direction,
        first_ns: i64,
        last_ns: i64,
        packet: Packet<'_>,
        out: &mut dyn Sink,
    ) -> Result<(), Invalid> {
        let lane = self.lane(side);
        if !lane.joiner.is_joining() {
            lane.joined = Moment { first_ns, last_ns, sequence: packet.sequence };
        }
        let at = Moment { last_ns, ..lane.joined };
        let mut joiner = std::mem::take(&mut lane.joiner);
        match joiner.push(packet)? {
            None => self.lane(side).joiner = joiner,
            Some(payload) => self.payload(side, at, packet, payload, out)?,
        }
        Ok(())
    }

    /// Takes a whole payload, of which `packet` is the last packet.
    fn payload(
        &mut self,
        side: Direction,
        at: Moment,
        packet: Packet<'_>,
        payload: &[u8],
        out: &mut dyn Sink,
    ) -> Result<(), Invalid> {
        if matches!(self.phase, Phase::Start(_)) {
            self.start(side, at.first_ns, at.last_ns, payload, out);
            return Ok(());
        }
        if side == Direction::Server {
            let established = self.talk.established;
            self.talk.server_payload(at.last_ns, payload, out)?;
            if self.talk.established && !established {
                self.compression = Algorithm::agreed(self.talk.capabilities);
            }
            return Ok(());
        }
        let is_command = at.sequence == 0 && !self.talk.is_sending();
        if let Phase::Lost(_) = self.phase {
            if !is_command || !framing::is_whole_command(payload) {
                self.talk.losses.add(Loss::Resync, packet.len() as u64);
                return Ok(());
            }
            self.found();
        }
        if !is_command {
            self.talk.client_data(payload);
            return Ok(());
        }
        // Servers let the numbers inside compressed packets go astray; what was found is one compressed packet.
        if self.awaited.is_some() && self.compression.is_none() {
            self.awaited = Some(packet.sequence.wrapping_add(1));
        }
        self.talk.command(at.first_ns, payload, out)
    }

    /// A command of the client begins, and what the server sends next answers it.
    fn found(&mut self) {
        self.phase = Phase::Messages;
        self.talk.established = true;
        self.awaited = Some(1);
    }

    /// The place in the streams is lost at `bytes`, which are counted; returns how many they are.
    #[cold]
    fn pass_over(&mut self, side: Direction, why: Loss, bytes: &[u8], out: &mut dyn Sink) -> usize {
        self.lose(side, out);
        if let (Phase::Lost(search), Direction::Server) = (&mut self.phase, side) {
            search.server(bytes);
        }
        self.talk.losses.add(why, bytes.len() as u64);
        bytes.len()
    }

    /// The place in the stream of one side is lost: what is pending cannot be completed.
    fn lose(&mut self, side: Direction, out: &mut dyn Sink) {
        if let Phase::Start(progress) = &self.phase
            && let Some(began_ns) = progress.first_ns
        {
            self.connect(began_ns);
        }
        self.talk.interrupt(out);
        let client_lost = side == Direction::Client || !self.talk.established;
        let mut passed = self.server.clear();
        if client_lost {
            self.talk.statements.forget_types();
            passed += self.client.clear();
        }
        self.talk.losses.add(Loss::Resync, passed);
        let (client_known, framing) = match &self.phase {
            Phase::Messages if self.talk.established => (!client_lost, Some(Framing::of(self.compression))),
            Phase::Lost(search) => (!client_lost && search.client_known, search.framing()),
            _ if self.talk.capabilities_known => (false, Some(Framing::of(Algorithm::agreed(self.talk.capabilities)))),
            _ => (false, None),
        };
        self.awaited = None;
        self.phase = Phase::Lost(Search::after_loss(side, client_known, framing));
    }

    fn gap(&mut self, side: Direction, missing: u64, out: &mut dyn Sink) {
        self.talk.losses.add(Loss::Gap, missing);
        // What is missing of the server may be older than the command that was just found. Then its answer begins next, and
        // with the number that is awaited.
        let older = side == Direction::Server && self.awaited.is_some() && matches!(self.phase, Phase::Messages);
        if older {
            return;
        }
        if !matches!(self.phase, Phase::Unreadable) {
            self.lose(side, out);
        }
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
        if let (Phase::Lost(search), Direction::Client) = (&mut self.phase, side) {
            if let Some(framing) = search.client(bytes) {
                self.compression = framing.algorithm();
                (self.client.inflate, self.server.inflate) = (None, None);
                self.found();
            } else if search.encrypted() {
                encrypted::joined_midway(self);
            }
        }
        if let (Phase::Lost(search), Direction::Server) = (&self.phase, side)
            && search.is_fresh()
            && start::greets(bytes)
        {
            self.phase = Phase::Start(start::Progress::default());
        }
        self.feed(side, at_ns, bytes, out);
        if let (Phase::Lost(search), Direction::Server) = (&self.phase, side)
            && search.encrypted()
        {
            encrypted::joined_midway(self);
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
            Phase::Start(progress) => {
                // The client left before it said who it is, as health checks do.
                if let Some(began_ns) = progress.first_ns {
                    self.connect(began_ns);
                    self.talk.close(at_ns, how, out);
                    self.phase = Phase::Unreadable;
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
