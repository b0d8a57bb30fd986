//! What the sampling of positions cost.

use serde::{Deserialize, Serialize};

/// What the sampling of one node's position cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Samples taken.
    pub samples: u64,
    /// Questions that were not answered: the connection was lost, or could not be opened again.
    pub failed: u64,
    /// Time spent waiting for answers, nanoseconds. Shared out over the run, it is at most this much of one connection.
    pub waited_ns: u64,
    /// The longest wait for an answer, nanoseconds.
    pub longest_ns: u64,
}

impl Cost {
    /// Counts an answer that took this long.
    pub fn answered(&mut self, took_ns: u64) {
        self.samples += 1;
        self.waited_ns = self.waited_ns.saturating_add(took_ns);
        self.longest_ns = self.longest_ns.max(took_ns);
    }

    /// Mean wait for an answer, nanoseconds.
    pub fn mean_ns(&self) -> u64 {
        self.waited_ns.checked_div(self.samples).unwrap_or(0)
    }
}
