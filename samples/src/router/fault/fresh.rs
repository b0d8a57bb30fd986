//! Reads of the past.

use std::time::Duration;

use super::super::node::Nodes;
use super::super::route::{Ask, Decision};
use super::{Fault, Faults};

/// How long a router that looks away waits for a replica.
const IMPATIENT: Duration = Duration::from_millis(10);

/// Whether a unit on a replica waits at all.
pub fn waits(faults: &Faults, _decision: &Decision) -> bool {
    !faults.has(Fault::StaleReadAfterWrite)
}

/// Whether a unit on the primary advances the position that later reads wait for.
pub fn remembers(faults: &Faults, ask: &Ask) -> bool {
    !(faults.has(Fault::ReturningKeepsGtid) && ask.any(|statement| statement.returning))
}

/// How long a read waits.
pub fn patience(faults: &Faults, configured: Duration) -> Duration {
    if goes_stale(faults) { configured.min(IMPATIENT) } else { configured }
}

/// Whether a read that waited in vain runs on the replica all the same.
pub fn goes_stale(faults: &Faults) -> bool {
    faults.has(Fault::LaggingReplicaStillUsed)
}

/// Prepares the servers for a router that does not look at their lag.
pub fn looks_away(faults: &Faults, nodes: &mut Nodes) {
    nodes.ignore_lag = goes_stale(faults);
}
