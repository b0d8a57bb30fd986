//! What was read of a run.

use serde::{Deserialize, Serialize};

use crate::simulate::Simulation;

/// What was read of a run, and how far its evidence reaches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The directory, as it was given.
    pub path: String,
    /// True when node traces tell where statements ran; a plain recording has none.
    pub has_evidence: bool,
    /// True when the run holds all that was asked for: it was not stopped, and no session was refused or lost.
    pub whole: bool,
    /// True for a replay; false for a recording.
    #[serde(default)]
    pub replayed: bool,
    /// Of a simulated run: the model that predicted where statements went, and why; nothing was executed.
    #[serde(default)]
    pub simulation: Option<Simulation>,
    /// Why differences may come from the replayer's timing, where it was late too often to rule that out.
    #[serde(default)]
    pub unsound: Option<String>,
    /// Which nodes stopped answering during the run, and when.
    #[serde(default)]
    pub gone: Vec<String>,
    /// True when the nodes' positions were sampled, without which staleness cannot be judged.
    pub has_positions: bool,
    /// The watched nodes, the primary first.
    pub nodes: Vec<Node>,
    /// Start of the first request: RFC 3339, UTC.
    pub begin: Option<String>,
    /// From the start of the first request to the end of the last one, seconds.
    pub seconds: f64,
    /// Sessions.
    pub sessions: u64,
    /// All requests.
    pub requests: u64,
    /// Distinct statement shapes.
    pub shapes: u64,
    /// Explicit transactions.
    pub transactions: u64,
    /// Requests that ended with an error.
    pub errors: u64,
    /// Requests whose connection broke, or that never finished.
    pub incomplete: u64,
    /// Requests that the replayer sent late through its own fault.
    pub replayer_late: u64,
    /// How far the evidence reached.
    pub attributed: Attributed,
}

/// A database server of the pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name in `pair.toml`.
    pub name: String,
    /// `primary` or `replica`.
    pub role: String,
    /// Statements that ran there, as its trace shows.
    pub executions: u64,
}

/// Requests that execute a statement, by what the node traces tell about them.
///
/// Connecting, disconnecting, cancelling, closing, and a lone Describe, Sync or Flush execute nothing and are not counted. A
/// Parse is counted apart from its execution, because a router may prepare a statement on another node first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributed {
    /// The nodes are known.
    pub attributed: u64,
    /// More than one possibility is left.
    pub ambiguous: u64,
    /// No execution was seen.
    pub unseen: u64,
}

impl Attributed {
    /// Requests that needed attribution.
    pub fn total(&self) -> u64 {
        self.attributed + self.ambiguous + self.unseen
    }

    /// The share whose nodes are not known, from 0 to 1.
    pub fn unattributed_share(&self) -> f64 {
        if self.total() == 0 { 0.0 } else { (self.ambiguous + self.unseen) as f64 / self.total() as f64 }
    }
}
