//! Everything about a run, as it stands in the run's manifest and is printed as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Lateness, Spread};
use crate::control::ClockOffset;
use crate::pair::Role;
use crate::position::{Cost, Outage};
use crate::session::NotSent;

/// Everything about a run, as it stands in the run's manifest (`trace.json`, `run`) and is printed as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The trace that was replayed.
    pub trace: PathBuf,
    /// Digest of its requests: runs with the same one repeat the same recording. Empty in runs of earlier programs.
    #[serde(default)]
    pub recording: String,
    /// The router, without a password.
    pub router: String,
    /// The nodes, in the order of `pair.toml`.
    pub nodes: Vec<NodeRun>,
    /// `1`, another factor, or `max`.
    pub speed: String,
    /// `all` or `reads`.
    pub only: String,
    /// When the recording starts, nanoseconds since 1970 UTC.
    pub trace_start_ns: i64,
    /// When the replay started: what was recorded at `trace_start_ns` was due then.
    pub run_start_ns: i64,
    /// True when the replay was stopped before its end.
    pub stopped: bool,
    /// Set when it was stopped because the router had not answered any session for this long, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_after_ns: Option<u64>,
    /// Sessions that were replayed.
    pub sessions: u64,
    /// Requests in the trace.
    pub recorded: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// From the first request to the end of the last answer, nanoseconds.
    pub elapsed_ns: u64,
    /// How the requests ended, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Requests that were not sent, by reason. These and those that were sent are all requests of the trace.
    pub not_sent: BTreeMap<NotSent, u64>,
    /// Sessions that lost their connection.
    pub lost_sessions: u64,
    /// Sessions that could not be started, by user and answer.
    pub refused: Vec<RefusedUser>,
    /// Requests that had a due time: all of them, except at full speed.
    pub timed: u64,
    /// How long after its due time each of them was sent.
    pub send_error: Spread,
    /// Those that were sent more than the tolerance too late, by cause.
    pub lateness: Lateness,
    /// A request that is sent no later than this after its due time counts as on time, nanoseconds.
    pub tolerance_ns: u64,
    /// Batches that were read beyond the limit of memory, because no session got on without them.
    pub overruns: u64,
}

/// A node during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRun {
    /// Its name.
    pub name: String,
    /// Its role when the run started.
    pub role: Role,
    /// Where it is, without a password.
    pub url: String,
    /// How it was watched: `tap`, `log` or `none`.
    pub evidence: String,
    /// `server_version`.
    pub version: String,
    /// How its clock differed from the replayer's at the start.
    pub clock: ClockOffset,
    /// What it cost to sample its position.
    pub positions: Cost,
    /// What is wrong with what was seen of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When it stopped answering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
}

/// Sessions of one user that could not be started, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RefusedUser {
    /// The user.
    pub user: String,
    /// What the router said.
    pub answer: String,
    /// How many sessions.
    pub sessions: u64,
}

/// What a run is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was sent, on time as far as that was up to the replayer.
    Sound,
    /// The replayer was late too often: differences may come from that.
    Unsound,
    /// Part of the trace was not sent because the replay was stopped, or sessions were refused or lost; or the evidence of a node is
    /// not whole, or the node stopped answering.
    Incomplete,
    /// No session could be started.
    Refused,
}

impl Summary {
    /// Share of the requests that the replayer may send late before the timing is unsound.
    pub const UNSOUND: f64 = 0.01;

    /// Share of the timed requests that were late by the replayer's fault.
    pub fn replayer_late_share(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { self.lateness.replayer_late as f64 / self.timed as f64 }
    }

    /// Sessions that could not be started.
    pub fn refused_sessions(&self) -> u64 {
        self.refused.iter().map(|user| user.sessions).sum()
    }

    /// Requests that were not sent.
    pub fn not_sent_total(&self) -> u64 {
        self.not_sent.values().sum()
    }

    /// What the run is good for; the worst that holds.
    pub fn verdict(&self) -> Verdict {
        let wanted = self.not_sent.iter().filter(|(reason, _)| **reason != NotSent::NotARead);
        let refused = self.refused_sessions();
        if refused > 0 && refused >= self.sessions {
            Verdict::Refused
        } else if self.stopped
            || refused > 0
            || self.lost_sessions > 0
            || self.nodes.iter().any(|node| node.problem.is_some() || node.outage.is_some())
            || wanted.map(|(_, count)| count).sum::<u64>() > 0
        {
            Verdict::Incomplete
        } else if self.replayer_late_share() > Self::UNSOUND {
            Verdict::Unsound
        } else {
            Verdict::Sound
        }
    }
}
