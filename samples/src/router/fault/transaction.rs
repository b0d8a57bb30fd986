//! A transaction that does not hold together.

use splitproof_capture::sql::StatementKind;

use super::super::need::{self, Need};
use super::super::node::PRIMARY;
use super::super::route::{Ask, Decision, Router};
use super::super::state::State;
use super::{Fault, a_replica, to_replica};

pub(super) fn change(fault: Fault, router: &Router, state: &State, ask: &Ask, honest: &Decision) -> Option<Decision> {
    if fault == Fault::SavepointElsewhere {
        let savepoint = ask.any(|statement| {
            matches!(
                statement.kind,
                StatementKind::Savepoint { .. } | StatementKind::Release { .. } | StatementKind::RollbackTo { .. }
            )
        });
        return if savepoint { to_replica(router, honest) } else { None };
    }
    if fault == Fault::AutocommitOffIgnored {
        if honest.everywhere && !super::keeps_setting(&router.faults, &ask.statements().cloned().collect::<Vec<_>>()) {
            return Some(Decision { everywhere: false, ..honest.clone() });
        }
        return if !state.autocommit && reads(router, state, ask) { to_replica(router, honest) } else { None };
    }
    let transaction = state.transaction.as_ref().filter(|transaction| transaction.node == PRIMARY)?;
    let reads = reads(router, state, ask);
    match fault {
        Fault::SplitTransaction if reads => to_replica(router, honest),
        Fault::BeginOnReplicaByFirstSelect if reads && transaction.fresh => {
            Some(Decision { node: a_replica(router)?, moves: true, ..honest.clone() })
        }
        _ => None,
    }
}

/// Whether the unit would be a read outside the transaction.
fn reads(router: &Router, state: &State, ask: &Ask) -> bool {
    let mut outside = state.clone();
    outside.transaction = None;
    ask.also.is_none()
        && ask.statements().next().is_some()
        && ask.statements().all(|statement| need::of(statement, &outside, &router.config).need == Need::Read)
        // A cursor is used where it is declared, which any router sees.
        && !ask.any(|statement| matches!(statement.kind, StatementKind::Declare { .. }))
}
