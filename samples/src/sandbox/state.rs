//! What a sandbox is, kept in `sandbox.json` in its directory: another command, or another process, carries
//! on from there.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Engine;

use super::owner::Owner;
use super::ports::Ports;
use super::server::StatementLog;
use crate::error::{At, Error, Result};

/// The state file's name.
pub const FILE: &str = "sandbox.json";

/// Where the router's backends point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backends {
    /// At the taps that a replay opens in front of the nodes.
    Taps,
    /// Straight at the nodes.
    Nodes,
}

/// The router as it was started last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RouterState {
    /// A shipped configuration's name, or the path of a file.
    pub config: String,
    /// Where its backends point.
    pub backends: Backends,
    /// Arguments of its command line beyond those that the sandbox gives.
    pub arguments: Vec<String>,
    /// Its process id.
    pub pid: i32,
}

/// The contents of the state file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// What kind of servers these are.
    pub engine: Engine,
    /// The user that the servers run as.
    pub owner: Owner,
    /// Every port.
    pub ports: Ports,
    /// Where the servers' programs are.
    pub bin: PathBuf,
    /// Whether users and the database exist and the replica follows: the first `up` sees to that.
    pub prepared: bool,
    /// Where the servers log every statement; they are told at each start.
    pub statement_log: Option<StatementLog>,
    /// Process ids of primary and replica, when up.
    pub node_pids: Option<(i32, i32)>,
    /// The router, when up.
    pub router: Option<RouterState>,
}

impl State {
    /// Reads the state of the sandbox in `dir`.
    pub fn load(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() {
            let why = "there is no sandbox here; make one with `create`".to_owned();
            return Err(Error::Directory { path: dir.to_owned(), why });
        }
        let text = std::fs::read_to_string(&path).at("read", &path)?;
        serde_json::from_str(&text).map_err(|source| Error::State { path, source })
    }

    /// Writes the state; a reader sees the old file or the new one, never half of it.
    pub fn save(&self, dir: &Path) -> Result<()> {
        let path = dir.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(|source| Error::State { path: path.clone(), source })?;
        let new = dir.join(".sandbox.json.new");
        std::fs::write(&new, text + "\n").at("write", &new)?;
        std::fs::rename(&new, &path).at("write", &path)
    }
}
