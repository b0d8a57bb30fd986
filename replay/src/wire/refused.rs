//! Why a session could not be started.

use super::{mysql, postgresql};

/// Why a session could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// PostgreSQL's start-up failed.
    #[error(transparent)]
    Postgresql(#[from] postgresql::handshake::Refused),
    /// MySQL's or MariaDB's handshake failed.
    #[error(transparent)]
    Mysql(#[from] mysql::handshake::Refused),
    /// There was no connection, or it was given up.
    #[error("{0}")]
    Unreachable(String),
}
