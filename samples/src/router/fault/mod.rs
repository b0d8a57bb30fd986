//! Named faults: each is a way in which some real router was wrong, committed on purpose and on demand.
//!
//! The honest decision is made first, without a thought of faults; a fault then changes it. One file per family:
//!
//! - [`list`]: every fault's name, what it does, and where it makes sense
//! - `statement`: a statement taken for a read
//! - `transaction`: a transaction that does not hold together
//! - `session`: state of a session looked for on the wrong server
//! - `load`: reads that the primary must carry
//! - `fresh`: reads of the past
//! - `answer`: what is done beside the decision: repeated, executed elsewhere, dropped

mod answer;
mod fresh;
pub mod list;
mod load;
mod session;
mod statement;
mod transaction;

pub use answer::{drops_rows, executes_everywhere, repeats_commit};
pub use fresh::{goes_stale, looks_away, patience, remembers, waits};
pub use list::{Fault, Faults};
pub use load::never_retries;
pub use session::keeps_setting;

use super::need::Need;
use super::node::{NodeId, PRIMARY};
use super::route::{Ask, Decision, Router};
use super::state::State;

/// What a fault makes of an honest decision.
pub fn misroute(router: &Router, state: &State, ask: &Ask, honest: Decision) -> Decision {
    let faults = router.faults.iter();
    faults.fold(honest, |decision, fault| {
        let changed = statement::change(fault, router, state, ask, &decision)
            .or_else(|| transaction::change(fault, router, state, ask, &decision))
            .or_else(|| session::change(fault, router, state, ask, &decision))
            .or_else(|| load::change(fault, router, state, ask, &decision));
        match changed {
            Some(changed) => Decision { fault: Some(fault), ..changed },
            None => decision,
        }
    })
}

/// The unit on a replica, as if it were a read outside any transaction.
fn to_replica(router: &Router, decision: &Decision) -> Option<Decision> {
    let node = a_replica(router)?;
    let honest = decision.clone();
    (decision.node != node).then_some(Decision { node, everywhere: false, moves: false, need: Need::Read, ..honest })
}

/// The unit on the primary.
fn to_primary(decision: &Decision) -> Option<Decision> {
    (decision.node != PRIMARY).then(|| Decision { node: PRIMARY, moves: false, ..decision.clone() })
}

fn a_replica(router: &Router) -> Option<NodeId> {
    match router.nodes.reader().0 {
        PRIMARY => (1..router.nodes.count()).find(|node| router.nodes.is_up(*node)),
        replica => Some(replica),
    }
}
