//! Reads that the primary must carry. Nothing fails and nothing is wrong but the load.

use super::super::need::Need;
use super::super::node::{Nodes, PRIMARY};
use super::super::route::{Ask, Decision, Router};
use super::super::state::State;
use super::{Fault, Faults, to_primary};

pub(super) fn change(fault: Fault, router: &Router, state: &State, ask: &Ask, honest: &Decision) -> Option<Decision> {
    let outside = state.transaction.is_none();
    match fault {
        Fault::LeadingCommentToPrimary if outside && ask.texts.iter().any(|text| text.begins_with_comment()) => {
            to_primary(honest)
        }
        // A read-only transaction that is on a replica stays there: it began before.
        Fault::AllToPrimary if outside => to_primary(honest),
        Fault::StickyForever if outside && state.wrote && honest.need == Need::Read => to_primary(honest),
        Fault::ReplicaDownFallsBackUnbounded => {
            if honest.node != PRIMARY {
                router.nodes.count_read(honest.node);
            }
            None
        }
        _ => None,
    }
}

/// Prepares the servers for a router that never forgets a failure.
pub fn never_retries(faults: &Faults, nodes: &mut Nodes) {
    if faults.has(Fault::ReplicaDownFallsBackUnbounded) {
        nodes.never_retry(20);
    }
}
