//! Whether answers called stale are: once the replica has caught up, the same statement gives the answer that was right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use splitproof_capture::trace::{Outcome, Reader, Request};

use super::client::Client;
use super::finding::{Entry, Finding};
use crate::sandbox::Sandbox;

/// What re-reading said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Answers called stale that were read again.
    pub read: usize,
    /// Those of them to which the replica, once it has caught up, still does not answer as the baseline did.
    pub refuted: usize,
}

/// Reads again on the replica what a run was found to have answered from the past. Answers are compared by the checksum of
/// their rows.
pub fn confirm(sandbox: &Sandbox, baseline: &Path, candidate: &Path, entries: &[Entry]) -> Result<Confirmed> {
    sandbox.wait_caught_up()?;
    let stale = entries.iter().filter(|entry| entry.finding == Finding::StaleAnswers);
    let shapes: BTreeSet<&str> = stale.flat_map(|entry| &entry.shapes).map(String::as_str).collect();
    let right = reads(baseline, &shapes)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    let replica = sandbox.replica();
    let mut client = runtime.block_on(Client::connect(replica.engine, replica.port))?;
    let mut confirmed = Confirmed::default();
    for (request, answer) in reads(candidate, &shapes)? {
        let before = right.get(&request).context("a request that the baseline does not have")?;
        // With parameters or without an answer there is nothing to read again, and what is equal is not stale.
        let comparable = answer.params.is_empty() && before.checksum_rows.is_some();
        if !comparable || answer.checksum_rows == before.checksum_rows {
            continue;
        }
        let now = runtime.block_on(client.checksum(answer.sql.as_deref().unwrap_or_default()))?;
        confirmed.read += 1;
        confirmed.refuted += usize::from(Some(now) != before.checksum_rows);
    }
    Ok(confirmed)
}

/// The answered texts of a run with one of these shapes, by the recorded request that they repeat.
fn reads(run: &Path, shapes: &BTreeSet<&str>) -> Result<BTreeMap<(u64, u32), Request>> {
    let mut found = BTreeMap::new();
    for row in Reader::open(run)?.requests() {
        let row = row?;
        let shape = row.shape_id.map(|id| format!("{id:016x}"));
        let wanted = row.outcome == Outcome::Ok && shape.is_some_and(|shape| shapes.contains(shape.as_str()));
        if let (true, Some(session), Some(seq)) = (wanted, row.recorded_session, row.recorded_seq) {
            found.insert((session, seq), row);
        }
    }
    Ok(found)
}
