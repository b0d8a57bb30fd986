//! What a relay does.

use std::net::SocketAddr;

use crate::clock::Clock;
use crate::session::Shared;
use crate::trace::Engine;

/// What happens when a client asks for encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encryption {
    /// The server decides. Where it agrees, the session cannot be read, which is counted.
    #[default]
    PassOn,
    /// The relay refuses in the server's place, so that what a client sends unencrypted (`sslmode=prefer`,
    /// `ssl-mode=PREFERRED`) can be read: PostgreSQL's question is answered with no, and from MySQL's greeting the offer
    /// is taken out. A client that insists on encryption (`sslmode=require`, `ssl-mode=REQUIRED`) leaves.
    Refuse,
}

/// What a relay does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one, see [`Relay::listen`](super::Relay::listen).
    pub listen: SocketAddr,
    /// The server, as HOST:PORT.
    pub upstream: String,
    /// What happens when a client asks for encryption.
    pub encryption: Encryption,
    /// Gives the time of every piece.
    pub clock: Clock,
    /// Names and shapes, shared with the recording's other sources. Its engine is the server's kind.
    pub shared: Shared,
    /// Bytes that may wait for the decoder before the relay waits for it.
    pub backlog: usize,
}

impl Options {
    /// Passes encryption on, starts a clock, and lets 32 MiB wait.
    pub fn new(engine: Engine, listen: SocketAddr, upstream: impl Into<String>) -> Self {
        Options {
            listen,
            upstream: upstream.into(),
            encryption: Encryption::default(),
            clock: Clock::start(),
            shared: Shared::new(engine),
            backlog: 32 << 20,
        }
    }
}
