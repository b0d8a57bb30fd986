//! What is sent, and what is withheld for which reason; `postgresql` and `mysql` decide for their sessions.

mod mysql;
mod postgresql;

use std::sync::Arc;

use splitproof_capture::trace::{Engine, Request};

use super::NotSent;
use crate::reads::Reads;

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send all of it.
    Send,
    /// Send nothing of it but the Sync at its end, which ends a group that was begun.
    SyncOnly(NotSent),
    /// Send nothing of it.
    Withhold(NotSent),
}

/// Decides for the requests of one session, in order, and remembers what that means for later ones.
#[derive(Debug)]
pub enum Gate {
    /// Of PostgreSQL.
    Postgresql(postgresql::Gate),
    /// Of MySQL or MariaDB.
    Mysql(mysql::Gate),
}

impl Gate {
    /// A gate that lets everything through that can be sent, or only reads.
    pub fn new(engine: Engine, only: Option<Arc<Reads>>) -> Self {
        match engine {
            Engine::Postgresql => Gate::Postgresql(postgresql::Gate::new(only)),
            Engine::Mysql => Gate::Mysql(mysql::Gate::new(only)),
        }
    }

    /// Decides about the session's next request.
    pub fn decide(&mut self, request: &Request) -> Decision {
        match self {
            Gate::Postgresql(gate) => gate.decide(request),
            Gate::Mysql(gate) => gate.decide(request),
        }
    }

    /// A request that was let through could not be sent after all.
    pub fn withhold(&mut self, request: &Request, reason: NotSent) -> Decision {
        match self {
            Gate::Postgresql(gate) => gate.withhold(request, reason),
            Gate::Mysql(gate) => gate.withhold(request, reason),
        }
    }
}
