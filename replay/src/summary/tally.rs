//! Counts the rows of a run as they pass.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use splitproof_capture::trace::{Kind, LateCause, Outcome, Request};

use super::Spread;
use crate::session::late::TOLERANCE_NS;

/// Send errors beyond a day count as a day.
const LONGEST_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Requests that were sent late, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// The session's previous answer came too late, though it took no longer to serve than when recorded.
    pub session_busy: u64,
    /// The session's previous answer came too late because the server took longer than when recorded.
    pub server_slow: u64,
    /// The session was free; the replayer itself was late.
    pub replayer_late: u64,
}

impl Lateness {
    /// All together.
    pub fn total(&self) -> u64 {
        self.session_busy + self.server_slow + self.replayer_late
    }
}

/// Counts the rows of a run as they pass.
#[derive(Debug)]
pub struct Tally {
    /// Requests that were sent and are finished.
    pub sent: u64,
    /// Requests among them that had a due time.
    pub timed: u64,
    /// How they ended.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Those that were late, by cause.
    pub lateness: Lateness,
    /// Rows that no recorded request asked for: sessions joined midway are connected without a record of it.
    pub unrecorded: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    error: Histogram<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            sent: 0,
            timed: 0,
            outcomes: BTreeMap::new(),
            lateness: Lateness::default(),
            unrecorded: 0,
            first_ns: None,
            last_ns: None,
            error: Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .unwrap_or_else(|_| unreachable!("the bounds are valid")),
        }
    }
}

impl Tally {
    /// Counts a row. Returns whether it was late, and whether it did not end well.
    pub fn row(&mut self, row: &Request) -> (bool, bool) {
        if row.recorded_seq.is_none() {
            self.unrecorded += 1;
            return (false, false);
        }
        self.sent += 1;
        *self.outcomes.entry(row.outcome.as_str()).or_default() += 1;
        let end_ns = row.end_ns().unwrap_or(row.start_ns);
        self.first_ns = Some(self.first_ns.map_or(row.start_ns, |first| first.min(row.start_ns)));
        self.last_ns = Some(self.last_ns.map_or(end_ns, |last| last.max(end_ns)));
        if let Some(due_ns) = row.due_ns {
            self.timed += 1;
            let error = row.start_ns.saturating_sub(due_ns).max(0).unsigned_abs();
            self.error.saturating_record(error);
        }
        match row.late_cause {
            Some(LateCause::SessionBusy) => self.lateness.session_busy += 1,
            Some(LateCause::ServerSlow) => self.lateness.server_slow += 1,
            Some(LateCause::ReplayerLate) => self.lateness.replayer_late += 1,
            None => {}
        }
        let failed = !matches!(row.outcome, Outcome::Ok | Outcome::Skipped) && row.kind != Kind::Disconnect;
        (row.late_cause.is_some(), failed)
    }

    /// How long after its due time each request was sent.
    pub fn send_error(&self) -> Spread {
        Spread::of(&self.error)
    }

    /// From the first request to the end of the last answer, nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        match (self.first_ns, self.last_ns) {
            (Some(first), Some(last)) => last.saturating_sub(first).max(0).unsigned_abs(),
            _ => 0,
        }
    }
}

/// The tolerance in milliseconds, for texts.
pub(super) const TOLERANCE_MS: i64 = TOLERANCE_NS / 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_errors_and_causes_are_counted() {
        let mut tally = Tally::default();
        for (late_ms, cause) in [(0, None), (5, Some(LateCause::ServerSlow)), (3, Some(LateCause::ReplayerLate))] {
            let mut row = Request::new(1, 0, late_ms * 1_000_000, Kind::Query);
            (row.recorded_seq, row.due_ns, row.late_cause) = (Some(0), Some(0), cause);
            (row.outcome, row.duration_ns) = (Outcome::Ok, Some(1_000_000));
            assert_eq!(tally.row(&row), (cause.is_some(), false));
        }
        let mut row = Request::new(1, 1, 0, Kind::Query);
        row.recorded_seq = Some(1);
        row.outcome = Outcome::Error;
        assert_eq!(tally.row(&row), (false, true));
        assert_eq!(tally.row(&Request::new(1, 2, 0, Kind::Connect)), (false, false));

        assert_eq!((tally.sent, tally.timed, tally.unrecorded), (4, 3, 1));
        assert_eq!(tally.lateness, Lateness { session_busy: 0, server_slow: 1, replayer_late: 1 });
        assert_eq!(tally.outcomes, BTreeMap::from([("ok", 3), ("error", 1)]));
        assert_eq!(tally.elapsed_ns(), 6_000_000);
        let spread = tally.send_error();
        assert_eq!(spread.count, 3);
        assert!((4_990_000..5_010_000).contains(&spread.max_ns), "{spread:?}");
    }
}
