//! What is done beside the decision: repeated, executed elsewhere, dropped.

use super::super::need::Need;
use super::super::state::State;
use super::super::{Ask, Decision};
use super::{Fault, Faults};

/// Whether the second row of a result is lost.
pub fn drops_rows(faults: &Faults, ask: &Ask) -> bool {
    faults.has(Fault::RowsDropped) && ask.any(|statement| statement.effect == splitproof_capture::sql::Effect::Read)
}

/// Whether a unit runs on every server, though only one should run it.
pub fn executes_everywhere(faults: &Faults, state: &State, decision: &Decision) -> bool {
    faults.has(Fault::WriteOnEveryNode) && decision.need == Need::Primary && state.transaction.is_none()
}

/// Whether a transaction that was just committed is run again.
pub fn repeats_commit(faults: &Faults) -> bool {
    faults.has(Fault::DuplicateCommit)
}
