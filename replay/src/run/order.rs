//! What to replay, where, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use splitproof_capture::trace::Existing;

use crate::clock::Speed;
use crate::pair::{Pair, Passwords};

/// Which requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// All that can be.
    #[default]
    All,
    /// Those that are proven to be reads, and what shapes the session around them.
    Reads,
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Only::All => "all",
            Only::Reads => "reads",
        })
    }
}

/// What to replay, where, and how.
#[derive(Clone, Debug)]
pub struct Order {
    /// The trace.
    pub trace: PathBuf,
    /// The router and the nodes.
    pub pair: Pair,
    /// Passwords for the control connections and the recorded users.
    pub passwords: Passwords,
    /// The directory of the run.
    pub run: PathBuf,
    /// What to do when a run is there already.
    pub existing: Existing,
    /// How fast.
    pub speed: Speed,
    /// Which requests are sent.
    pub only: Only,
    /// Replay even into a server that the trace was recorded at.
    pub allow_recorded_server: bool,
    /// How often each node's position is sampled.
    pub sample_every: Duration,
    /// How long to wait for a router that answers no session at all.
    pub give_up_after: Duration,
}
