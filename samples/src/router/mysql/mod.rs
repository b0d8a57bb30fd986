//! MySQL and MariaDB: the clients' side and the servers' side.
//!
//! A client and the servers behind it agree on the same capabilities, so that answers pass through as they are; only
//! sequence numbers and the identifiers of prepared statements are the router's own.
//!
//! - [`start`][]: the greeting and authentication; [`connections`][]: who is connected, for KILL
//! - [`session`][]: one client's life
//! - `unit`: a command, as far as a router must know it; `run`: from the decision to the last byte of its answer
//! - `aside`: commands that the router sees to itself: closing, another user, KILL
//! - `prepared`: statements of the binary protocol, each under one number on whatever server it runs
//! - `outgoing`: a command as the packets for one server
//! - `exchange`, `progress`: sending, and passing the answer on
//! - `settle`, `elsewhere`: what a command leaves behind, and what the session's other servers must do because of it
//! - `client`, `server`, `login`, `pool`: connections
//! - [`control`][]: the router's own questions
//!
//! Not offered to clients: TLS, compression, query attributes.

mod aside;
mod client;
pub mod connections;
pub mod control;
mod elsewhere;
mod exchange;
mod login;
mod outgoing;
mod pool;
mod prepared;
mod progress;
mod run;
mod server;
pub mod session;
mod settle;
pub mod start;
mod unit;

use std::sync::Arc;

use super::serve::Shared;

/// What all MySQL sessions share.
#[derive(Debug)]
pub struct Service {
    shared: Arc<Shared>,
    pool: pool::Pool,
    connections: connections::Connections,
    greeting: tokio::sync::OnceCell<start::Greeting>,
}

impl Service {
    /// No session yet.
    pub fn new(shared: Arc<Shared>) -> Self {
        let pool = pool::Pool::new(shared.router.config.pool_size);
        Service { shared, pool, connections: Default::default(), greeting: Default::default() }
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
    Invalid(#[from] splitproof_capture::mysql::Invalid),
    /// A message could not be made.
    #[error("{0}")]
    Unencodable(#[from] splitproof_capture::mysql::Unencodable),
    /// Something that this router does not do.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The client is not who it says.
    #[error("Access denied for user '{0}'")]
    Password(String),
    /// A server failed.
    #[error("{problem}")]
    Server {
        /// Number of the error.
        code: u16,
        /// What happened, and on which server.
        problem: String,
    },
}

impl Ended {
    /// The number of the error that tells a client so.
    fn code(&self) -> u16 {
        match self {
            // Server lost, packets out of order, not supported, access denied.
            Ended::Gone | Ended::Client(_) => 2013,
            Ended::Invalid(_) | Ended::Unencodable(_) => 1835,
            Ended::Unsupported(_) => 1235,
            Ended::Password(_) => 1045,
            Ended::Server { code, .. } => *code,
        }
    }
}
