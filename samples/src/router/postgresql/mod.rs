//! PostgreSQL: the clients' side and the servers' side.
//!
//! - [`start`][]: the client's start-up and authentication, and cancelling
//! - [`session`][]: one client's life
//! - `unit`: what must go to one server together: a text, or a pipeline group up to its Sync
//! - `run`: a unit, from the decision to the last byte of its answer
//! - `outgoing`: a unit as the messages for one server, with what that server has not prepared yet
//! - `exchange`, `answer`: sending, and passing the answer on
//! - `settle`: what a unit leaves behind: the session's state, and settings to repeat
//! - `client`, `server`, `pool`: connections
//! - [`control`][]: the router's own questions

mod answer;
mod client;
pub mod control;
mod exchange;
mod outgoing;
mod pool;
mod run;
mod server;
pub mod session;
mod settle;
pub mod start;
mod unit;

use std::sync::Arc;

use splitproof_replay::wire::postgresql::handshake;

use super::serve::Shared;

/// What all PostgreSQL sessions share.
#[derive(Debug)]
pub struct Service {
    shared: Arc<Shared>,
    pool: pool::Pool,
    keys: start::Keys,
}

impl Service {
    /// No session yet.
    pub fn new(shared: Arc<Shared>) -> Self {
        let pool = pool::Pool::new(shared.router.config.pool_size);
        Service { shared, pool, keys: start::Keys::default() }
    }
}

/// Why a session ends.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The client said goodbye, or went without.
    #[error("the client has gone")]
    Gone,
    /// The client's connection failed.
    #[error("the client's connection failed: {0}")]
    Client(std::io::Error),
    /// The client sent what the protocol does not allow.
    #[error("{0}")]
    Invalid(#[from] splitproof_capture::postgresql::Invalid),
    /// A message could not be made.
    #[error("{0}")]
    Unencodable(#[from] splitproof_capture::postgresql::Unencodable),
    /// Something that this router does not do.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The client is not who it says.
    #[error("password authentication failed for user \"{0}\"")]
    Password(String),
    /// A server failed.
    #[error("{node}: {problem}")]
    Server {
        /// Its name.
        node: String,
        /// SQLSTATE.
        code: String,
        /// What happened.
        problem: String,
    },
}

impl Ended {
    /// The SQLSTATE that tells a client so.
    fn sqlstate(&self) -> &str {
        match self {
            Ended::Gone | Ended::Client(_) => "08006",
            Ended::Invalid(_) | Ended::Unencodable(_) => "08P01",
            Ended::Unsupported(_) => "0A000",
            Ended::Password(_) => "28P01",
            Ended::Server { code, .. } => code,
        }
    }
}
