//! State of a session looked for on the wrong server.

use splitproof_capture::sql::StatementKind;

use super::super::need::Need;
use super::super::node::PRIMARY;
use super::super::route::{Ask, Decision, Router};
use super::super::state::State;
use super::statement::calls;
use super::{Fault, Faults, to_replica};

pub(super) fn change(fault: Fault, router: &Router, state: &State, ask: &Ask, honest: &Decision) -> Option<Decision> {
    let elsewhere = match fault {
        Fault::SessionSetOnOneNode if honest.everywhere => {
            return Some(Decision { node: PRIMARY, everywhere: false, ..honest.clone() });
        }
        Fault::TempTableReadOnReplica => ask.any(|statement| {
            statement.kind == StatementKind::Select && statement.reads.iter().any(|table| state.is_temporary(table))
        }),
        Fault::LastInsertIdElsewhere => ask.any(|statement| {
            statement.kind == StatementKind::Select
                && calls(statement, |name| ["last_insert_id", "lastval", "currval"].contains(&name))
        }),
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

/// Whether a setting is remembered for the servers that the session has not used yet.
pub fn keeps_setting(faults: &Faults) -> bool {
    !faults.has(Fault::SessionSetOnOneNode)
}
