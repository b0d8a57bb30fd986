//! Samples of the nodes' replication positions.

use std::collections::BTreeMap;
use std::sync::Arc;

use splitproof_capture::trace::{Position, Role};

/// A commit record gets its timestamp a moment before its place in the log, so that two commits at the same time may come in the
/// other order. A replay timestamp tells nothing about commits within this time.
const COMMIT_SKEW_NS: i64 = 1_000_000;

/// What is known of a commit's place in the replication stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The commit began after this, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// The commit had ended at this time.
    pub end_ns: i64,
    /// A position of the primary before the commit record.
    pub after_lsn: Option<u64>,
    /// A position of the primary at or behind the commit record.
    pub by_lsn: Option<u64>,
}

/// Whether a node had applied a commit when it executed a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Before the read began.
    Yes,
    /// Not even when the read had ended.
    No,
    /// The samples leave both possibilities.
    Undecided,
}

/// One sample; it was taken at some time from `from_ns` to `to_ns`.
#[derive(Clone, Copy, Debug)]
struct Sample {
    from_ns: i64,
    to_ns: i64,
    role: Role,
    lsn: Option<u64>,
    replay_lsn: Option<u64>,
    replay_ns: Option<i64>,
}

impl Sample {
    /// Whether a replica had applied the commit.
    fn shows(&self, commit: &Place) -> bool {
        let by_lsn = self.replay_lsn.zip(commit.by_lsn).is_some_and(|(replayed, lsn)| replayed >= lsn);
        // A later commit took its timestamp after this one had ended, so it is behind it in the log.
        let by_time = self.replay_ns.is_some_and(|replayed| replayed >= commit.end_ns);
        self.role == Role::Replica && (by_lsn || by_time)
    }
}

/// Every sample of a run, by node. Ten minutes at one sample in 10 ms are 60,000 samples of a node, 4 MB.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    nodes: BTreeMap<Arc<str>, Vec<Sample>>,
}

impl Positions {
    /// Takes the next sample; samples of a node come in the order in which they were taken.
    pub fn push(&mut self, position: &Position) {
        self.nodes.entry(position.node.clone()).or_default().push(Sample {
            from_ns: position.at_ns,
            to_ns: position.at_ns.saturating_add_unsigned(position.sample_ns),
            role: position.role,
            lsn: position.lsn,
            replay_lsn: position.replay_lsn,
            replay_ns: position.replay_timestamp_ns,
        });
    }

    /// True when there is no sample at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Where a commit at `primary` with this time stands in the stream.
    pub fn place(&self, primary: &str, start_ns: i64, end_ns: i64) -> Place {
        let was_primary = |sample: &Sample| sample.role == Role::Primary;
        Place {
            start_ns,
            end_ns,
            after_lsn: self.before(primary, start_ns).filter(was_primary).and_then(|sample| sample.lsn),
            by_lsn: self.after(primary, end_ns).filter(was_primary).and_then(|sample| sample.lsn),
        }
    }

    /// From when on `node` is known to have the commit, looking from `from_ns` on: that time itself where it had it before. `None` where
    /// no sample shows it.
    pub fn applied_at(&self, node: &str, commit: &Place, from_ns: i64) -> Option<i64> {
        if self.before(node, from_ns).is_some_and(|sample| sample.shows(commit)) {
            return Some(from_ns);
        }
        let samples = self.nodes.get(node)?;
        let start = samples.partition_point(|sample| sample.to_ns <= from_ns);
        // What was applied stays applied, so that the samples are in order.
        let later = samples.get(start..)?;
        let first = later.get(later.partition_point(|sample| !sample.shows(commit)))?;
        Some(first.to_ns)
    }

    /// When the last sample of `node` was complete.
    pub fn last_ns(&self, node: &str) -> Option<i64> {
        self.nodes.get(node)?.last().map(|sample| sample.to_ns)
    }

    /// Whether `node` had applied the commit when it executed something from `start_ns` to `end_ns`.
    pub fn applied(&self, node: &str, commit: &Place, start_ns: i64, end_ns: i64) -> Applied {
        let was_replica = |sample: &Sample| sample.role == Role::Replica;
        if self.before(node, start_ns).is_some_and(|before| before.shows(commit)) {
            return Applied::Yes;
        }
        if let Some(after) = self.after(node, end_ns).filter(was_replica) {
            let by_lsn = after.replay_lsn.zip(commit.after_lsn).is_some_and(|(replayed, lsn)| replayed <= lsn);
            let by_time =
                after.replay_ns.is_some_and(|replayed| replayed.saturating_add(COMMIT_SKEW_NS) < commit.start_ns);
            if by_lsn || by_time {
                return Applied::No;
            }
        }
        Applied::Undecided
    }

    /// Time between the samples of `node` around a span: what the verdict on it can be wrong by.
    pub fn interval_ns(&self, node: &str, start_ns: i64, end_ns: i64) -> Option<u64> {
        let (before, after) = (self.before(node, start_ns)?, self.after(node, end_ns)?);
        Some(after.to_ns.saturating_sub(before.from_ns).max(0).unsigned_abs())
    }

    /// The last sample that was complete at this time.
    fn before(&self, node: &str, at_ns: i64) -> Option<Sample> {
        let samples = self.nodes.get(node)?;
        let end = samples.partition_point(|sample| sample.to_ns <= at_ns);
        end.checked_sub(1).and_then(|at| samples.get(at)).copied()
    }

    /// The first sample that was asked for at this time or later.
    fn after(&self, node: &str, at_ns: i64) -> Option<Sample> {
        let samples = self.nodes.get(node)?;
        samples.get(samples.partition_point(|sample| sample.from_ns < at_ns)).copied()
    }
}
