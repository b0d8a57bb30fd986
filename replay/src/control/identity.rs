//! What a node says about itself.

use crate::pair::Role;

/// What a node says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Primary or replica, now.
    pub role: Role,
    /// What tells that a primary and a replica belong together.
    pub lineage: Lineage,
    /// The server's version, such as `15.7 (Debian 15.7-0+deb12u1)` or `10.11.11-MariaDB-0+deb12u1-log`.
    pub version: String,
}

/// What tells that a primary and a replica belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// PostgreSQL: an identifier that a primary shares with its physical copies alone.
    System(i64),
    /// MySQL and MariaDB: who the server is, and from whom it replicates.
    Replication {
        /// `server_uuid`, or `server_id` on MariaDB, which has no UUID.
        server: String,
        /// The same of each server that it replicates from; empty on a primary.
        sources: Vec<String>,
        /// True when it takes no writes of ordinary users.
        read_only: bool,
    },
}
