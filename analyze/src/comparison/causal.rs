//! What MaxScale's causal_reads would have cost and prevented.

use serde::{Deserialize, Serialize};

/// One mode of causal_reads, applied to the reads of a run that a replica may serve.
///
/// The rules are those of the readwritesplit documentation: `local` waits for the session's own last commit, `global` for the last one through
/// the router, `universal` asks the primary for its position first and waits for that. The `fast` modes do not wait: a read
/// goes to the primary unless the monitor knows a replica to be so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CausalMode {
    /// `none`, `local`, `global`, `fast`, `fast_global`, `universal` or `fast_universal`.
    pub mode: String,
    /// Reads that a replica may serve.
    pub reads: u64,
    /// Those that need a replica to have some commit first.
    pub bound: u64,
    /// Those that would have waited on the replica.
    pub waited: u64,
    /// How long in all, milliseconds.
    pub wait_ms: f64,
    /// Median, 99th percentile and largest of the waits, milliseconds.
    pub wait_quantiles_ms: [f64; 3],
    /// Those that would have waited in vain (causal_reads_timeout, 10 s), and gone to the primary then.
    pub timeouts: u64,
    /// Round trips beyond those of the reads themselves.
    pub round_trips: u64,
    /// Reads that would have gone to the primary, those that waited in vain among them.
    pub to_primary: u64,
    /// The same as a share of the reads, from 0 to 1.
    pub to_primary_share: f64,
    /// Stale reads of the run that it would have prevented.
    pub prevented: u64,
    /// Those among them that missed a commit of their own session.
    pub own_prevented: u64,
    /// Stale reads of the run that it would not have prevented.
    pub left: u64,
    /// Reads of which the samples do not show when a replica had what they need: counted in nothing above but `reads` and `bound`.
    pub undecided: u64,
}

impl CausalMode {
    /// The modes, in the order of MaxScale's documentation.
    pub const MODES: [&'static str; 7] =
        ["none", "local", "global", "fast", "fast_global", "universal", "fast_universal"];

    /// Its figures by the names that gate conditions use.
    pub fn figures(&self) -> [(&'static str, f64); 15] {
        let [p50, p99, max] = self.wait_quantiles_ms;
        [
            ("bound", self.bound as f64),
            ("waited", self.waited as f64),
            ("wait_ms", self.wait_ms),
            ("wait_p50_ms", p50),
            ("wait_p99_ms", p99),
            ("wait_max_ms", max),
            ("timeouts", self.timeouts as f64),
            ("round_trips", self.round_trips as f64),
            ("to_primary", self.to_primary as f64),
            ("to_primary_share", self.to_primary_share),
            ("prevented", self.prevented as f64),
            ("own_prevented", self.own_prevented as f64),
            ("left", self.left as f64),
            ("undecided", self.undecided as f64),
            ("reads", self.reads as f64),
        ]
    }
}
