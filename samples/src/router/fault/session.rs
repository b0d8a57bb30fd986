//! State of a session looked for on the wrong server.

use std::sync::Arc;

use splitproof_capture::sql::{Follows, Scope, Statement, StatementKind};

use super::super::need::Need;
use super::super::node::PRIMARY;
use super::super::route::{Ask, Decision, Router};
use super::super::state::State;
use super::statement::calls;
use super::{Fault, Faults, to_primary, to_replica};

pub(super) fn change(fault: Fault, router: &Router, state: &State, ask: &Ask, honest: &Decision) -> Option<Decision> {
    let elsewhere = match fault {
        Fault::SessionSetOnOneNode if honest.everywhere && !keeps_setting(&router.faults, &statements(ask)) => {
            return Some(Decision { node: PRIMARY, everywhere: false, ..honest.clone() });
        }
        Fault::UserVariableLost if honest.everywhere && !keeps_setting(&router.faults, &statements(ask)) => {
            return Some(Decision { node: PRIMARY, everywhere: false, ..honest.clone() });
        }
        Fault::TempTableReadOnReplica => ask.any(|statement| {
            statement.kind == StatementKind::Select && statement.reads.iter().any(|table| state.is_temporary(table))
        }),
        Fault::UserVariableLost => ask.any(|statement| {
            statement.kind == StatementKind::Select
                && !statement.state.variables_read.is_empty()
                && statement.state.variables_written.is_empty()
        }),
        Fault::LastInsertIdElsewhere => ask.any(|statement| {
            statement.kind == StatementKind::Select
                && (statement.state.follows.contains(&Follows::LastInsertId)
                    || calls(statement, |name| ["last_insert_id", "lastval", "currval"].contains(&name)))
        }),
        Fault::FoundRowsElsewhere => {
            let asks = ask.any(|statement| {
                statement.state.follows.iter().any(|follows| matches!(follows, Follows::FoundRows | Follows::RowCount))
            });
            if asks && honest.node != PRIMARY {
                return to_primary(honest);
            }
            asks
        }
        Fault::AdvisoryLockElsewhere => ask.any(|statement| {
            calls(statement, |name| {
                name.starts_with("pg_advisory_")
                    || name.starts_with("pg_try_advisory_")
                    || ["get_lock", "release_lock", "release_all_locks", "is_free_lock", "is_used_lock"].contains(&name)
            })
        }),
        Fault::PreparedIgnoresText => ask.prepared && honest.need == Need::Primary,
        _ => false,
    };
    if elsewhere { to_replica(router, honest) } else { None }
}

/// Whether a setting reaches the session's other servers.
pub fn keeps_setting(faults: &Faults, statements: &[Arc<Statement>]) -> bool {
    let variables = statements.iter().any(|statement| !statement.state.variables_written.is_empty());
    let autocommit = statements.iter().any(|statement| {
        statement.state.assignments.iter().any(|set| set.scope == Scope::Session && set.name == "autocommit")
    });
    !(faults.has(Fault::SessionSetOnOneNode)
        || (faults.has(Fault::UserVariableLost) && variables)
        // A router that takes no notice of it has no reason to pass it on.
        || (faults.has(Fault::AutocommitOffIgnored) && autocommit))
}

fn statements(ask: &Ask) -> Vec<Arc<Statement>> {
    ask.statements().cloned().collect()
}
