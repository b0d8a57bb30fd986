//! How rows end: what was answered, what gets no answer any more, and the session itself.

use std::sync::Arc;

use compact_str::CompactString;

use super::Close;
use crate::trace::{Outcome, Request};

/// An error that the server reported outside any answer, such as a shutdown.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub code: Option<CompactString>,
    pub message: Option<Arc<str>>,
}

/// Sets the outcome, unless an error did before.
pub(super) fn settle(row: &mut Request, outcome: Outcome) {
    if !matches!(row.outcome, Outcome::Error | Outcome::Cancelled) {
        row.outcome = outcome;
    }
}

/// The answer is complete, and so is the row.
pub(super) fn answered(row: &mut Request, at_ns: i64) {
    settle(row, Outcome::Ok);
    row.duration_ns = Some(nanos_between(row.start_ns, at_ns));
}

/// Bytes of the answer are missing.
pub(super) fn interrupt(row: &mut Request) {
    settle(row, Outcome::Unfinished);
    row.truncated = true;
    row.duration_ns = None;
}

/// The connection ended before the answer did.
pub(super) fn cut_off(row: &mut Request, how: Close) {
    settle(row, if how == Close::RecordingEnded { Outcome::Unfinished } else { Outcome::Lost });
    if matches!(row.outcome, Outcome::Lost | Outcome::Unfinished) {
        row.duration_ns = None;
    }
}

/// The session ended, with requests that were lost, or with a report of the server.
pub(super) fn disconnect(row: &mut Request, at_ns: i64, how: Close, lost: bool, report: Option<Report>) {
    row.outcome = if lost { Outcome::Lost } else { Outcome::Ok };
    if let Some(report) = report {
        row.outcome = Outcome::Error;
        row.error_code = report.code;
        row.error_message = report.message;
    }
    row.duration_ns = (how != Close::RecordingEnded).then(|| nanos_between(row.start_ns, at_ns));
}

/// From `start` to `end`; zero where the clock of the recording ran backwards.
pub(super) fn nanos_between(start: i64, end: i64) -> u64 {
    u64::try_from(end.saturating_sub(start)).unwrap_or(0)
}
