//! The bytes of one connection, turned into requests.
//!
//! - [`Decoder`]: what a source (packets, a tap) needs to know of a session: bytes in, rows out
//! - [`Start`], [`Close`]: how a connection begins and ends
//! - [`Sampling`]: a share of the sessions
//! - [`Shared`]: what the sessions of one recording have in common
//! - [`decoder`]: the decoder for an engine: of [`postgresql`] or of [`mysql`]
//! - `held`, `identity`, `ending`, `encrypted`: what the sessions of both engines do alike

mod encrypted;
mod ending;
mod held;
mod identity;
pub mod mysql;
mod other;
pub mod postgresql;
mod sampling;
mod shared;

use std::sync::Arc;

use crate::trace::{Engine, Loss, Losses, Sink};

pub use sampling::Sampling;
use shared::Encryption;
pub use shared::Shared;
pub(crate) use shared::Text;

/// The decoder of a connection to a server of this engine. `session` is its number within the recording. Of a recording
/// of another engine it is not a part, and is counted.
pub fn decoder(engine: Engine, session: u64, start: Start, shared: &Shared) -> Box<dyn Decoder> {
    match engine {
        _ if engine != shared.engine() => Box::new(other::LeftOut::new(Loss::OtherEngine)),
        Engine::Postgresql => Box::new(postgresql::Session::new(session, start, shared)),
        Engine::Mysql => Box::new(mysql::Session::new(session, start, shared)),
    }
}

/// How a connection begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// The client's address and port.
    pub client: Arc<str>,
    /// The server's address and port.
    pub server: Arc<str>,
    /// True when the connection is older than the recording, so that its first bytes are not its beginning.
    pub midway: bool,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// Both directions ended, the client's first.
    Client,
    /// Both directions ended, the server's first.
    Server,
    /// Torn down without an orderly end.
    Reset,
    /// It did not end: the recording did.
    RecordingEnded,
}

/// Turns the two byte streams of one connection into requests.
///
/// Both directions are delivered in the order of arrival, in pieces of any size. A decoder puts each request into
/// `out` once everything about it is known, and accounts for every byte: it is part of a message, or it is counted
/// among the [`losses`](Decoder::losses).
pub trait Decoder: Send {
    /// The next bytes from the client, which arrived at `at_ns` (nanoseconds since 1970 UTC).
    fn client(&mut self, at_ns: i64, bytes: &[u8], out: &mut dyn Sink);

    /// The next bytes from the server.
    fn server(&mut self, at_ns: i64, bytes: &[u8], out: &mut dyn Sink);

    /// `missing` bytes from the client were not recorded; the next ones come after them.
    fn client_gap(&mut self, at_ns: i64, missing: u64, out: &mut dyn Sink);

    /// `missing` bytes from the server were not recorded.
    fn server_gap(&mut self, at_ns: i64, missing: u64, out: &mut dyn Sink);

    /// The end: nothing follows. Requests without an answer come out now.
    fn close(&mut self, at_ns: i64, how: Close, out: &mut dyn Sink);

    /// Number that the next row will get: how many rows have begun so far.
    fn next_seq(&self) -> u32;

    /// What could not be used so far.
    fn losses(&self) -> &Losses;
}
