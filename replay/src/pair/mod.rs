//! `pair.toml`: the router under test and the servers behind it.
//!
//! - [`Pair`]: the whole file, checked
//! - [`Url`]: where a server or router listens, and as whom to connect; never shows its password
//! - [`Passwords`]: `PGPASSWORD` and the password file, `MYSQL_PWD` and the option file
//! - [`Keyring`]: the passwords of the router's users
//! - [`PairError`]: what is wrong, in which field

mod addresses;
mod error;
mod file;
mod keyring;
mod password;
mod url;

use std::net::SocketAddr;

/// Which wire protocol a pair speaks.
pub use splitproof_capture::trace::Engine;
/// What a node is in its replication topology.
pub use splitproof_capture::trace::Role;

pub use error::PairError;
pub use keyring::Keyring;
pub use password::{OptionFile, Passfile, PassfileError, Passwords, Secret};
pub use url::{Url, UrlError};

/// The router under test and the servers behind it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Which wire protocol they speak.
    pub engine: Engine,
    /// Where the recorded clients are sent to.
    pub router: Url,
    /// The servers: exactly one primary, and any number of replicas.
    pub nodes: Vec<Node>,
    /// What to use for sessions whose beginning was not recorded.
    pub defaults: Defaults,
}

impl Pair {
    /// The primary.
    pub fn primary(&self) -> &Node {
        // `file::check` accepts a pair only with exactly one primary.
        self.nodes.iter().find(|node| node.role == Role::Primary).unwrap_or(&self.nodes[0])
    }
}

/// One server of a pair.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, used in file names, tables and reports.
    pub name: String,
    /// What it must be when the replay starts.
    pub role: Role,
    /// Where it listens, and as whom to ask it for role, position and catalogue.
    pub url: Url,
    /// How to learn what the router sent to it.
    pub evidence: EvidenceSource,
}

/// How to learn what a router sent to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceSource {
    /// A relay listens here and passes everything on to the node; the router's backend points at it.
    Tap {
        /// Where the relay listens.
        listen: SocketAddr,
    },
    /// The node's general log, read over SQL (MySQL and MariaDB).
    Log,
    /// Nothing is learned from this node.
    None,
}

impl EvidenceSource {
    /// The word that stands in `pair.toml` and in a run.
    pub fn as_str(self) -> &'static str {
        match self {
            EvidenceSource::Tap { .. } => "tap",
            EvidenceSource::Log => "log",
            EvidenceSource::None => "none",
        }
    }
}

/// Who connects where, when the recording does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// User of sessions that were joined midway.
    pub user: Option<String>,
    /// Database of sessions that were joined midway.
    pub database: Option<String>,
}
