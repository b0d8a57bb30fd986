//! What only MySQL and MariaDB have.

use splitproof_capture::sql::{Effect, Follows, Function, Scope, Statement, StatementKind};

use super::{Need, Wanted, wants};
use crate::router::config::Config;
use crate::router::node::PRIMARY;
use crate::router::state::State;

/// Functions that only the primary can answer, or that hold something there.
const PRIMARY_FUNCTIONS: &[&str] = &[
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "lastval",
    "nextval",
    "release_all_locks",
    "release_lock",
    "setval",
];

/// What is shown of the primary alone.
const PRIMARY_SHOWS: &[&str] = &["binary logs", "binlog events", "binlog status", "master logs", "master status"];

/// Whether a function belongs to the primary.
pub(super) fn primary_only(function: &Function) -> bool {
    PRIMARY_FUNCTIONS.contains(&function.name.to_ascii_lowercase().as_str())
}

/// Where a statement belongs, where MySQL has a rule of its own.
pub(super) fn of(statement: &Statement, state: &State, config: &Config) -> Option<Wanted> {
    let session = &statement.state;
    if let Some(follows) = session.follows.iter().max_by_key(|follows| belongs_to_primary(**follows)) {
        return Some(match belongs_to_primary(*follows) {
            true => wants(Need::Primary, "asks for what the primary gave"),
            // Diagnostics and row counts are those of the statement before, wherever that ran.
            false => wants(Need::Node(state.last_node.unwrap_or(PRIMARY)), "asks for the statement before"),
        });
    }
    if session.variables_read.iter().any(|name| state.is_variable_of_primary(name)) {
        return Some(wants(Need::Primary, "the primary holds the user variable"));
    }
    match &statement.kind {
        StatementKind::SetVariables => Some(set(statement)),
        StatementKind::SetStatement { inner } => Some(super::of(inner, state, config)),
        StatementKind::Use { .. } => Some(wants(Need::Everywhere, "current database")),
        // It holds for the next transaction alone, which then belongs where it was said.
        StatementKind::SetTransaction(mode) if state.transaction.is_none() => Some(match mode.read_only {
            Some(true) => wants(Need::Read, "the next transaction only reads"),
            _ => wants(Need::Primary, "shapes the next transaction"),
        }),
        StatementKind::ExecuteImmediate { inner } => Some(super::of(inner, state, config)),
        // A replica that is read only refuses even the plan of a write.
        StatementKind::Explain { inner, .. } if inner.effect != Effect::Read => {
            Some(wants(Need::Primary, "explains a write"))
        }
        StatementKind::Show { name } if PRIMARY_SHOWS.contains(&name.as_str()) => {
            Some(wants(Need::Primary, "shows the primary"))
        }
        StatementKind::LockTables
        | StatementKind::UnlockTables
        | StatementKind::Handler { .. }
        | StatementKind::Xa { .. }
        | StatementKind::Evaluate
        | StatementKind::Block
        | StatementKind::Signal
        | StatementKind::Kill { .. }
        | StatementKind::Unknown => Some(wants(Need::Primary, "belongs to the primary")),
        // Its value may be another one elsewhere.
        _ if !session.variables_written.is_empty() => Some(wants(Need::Primary, "sets a user variable")),
        _ => None,
    }
}

fn belongs_to_primary(follows: Follows) -> bool {
    matches!(follows, Follows::LastInsertId | Follows::SequenceValue)
}

/// System variables of which each server has a value of its own.
fn differs(name: &str) -> bool {
    const OWN: &[&str] =
        &["hostname", "identity", "last_insert_id", "port", "pseudo_thread_id", "rand_seed1", "rand_seed2"];
    const FAMILIES: &[&str] =
        &["gtid_", "in_transaction", "last_gtid", "read_only", "server_", "super_read_only", "timestamp"];
    OWN.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// SET: on every server, unless it changes the servers themselves or its value may be another one elsewhere.
pub(super) fn set(statement: &Statement) -> Wanted {
    let session = &statement.state;
    let scopes = |wanted: &[Scope]| session.assignments.iter().any(|assignment| wanted.contains(&assignment.scope));
    if scopes(&[Scope::Global, Scope::Persist]) {
        return wants(Need::Primary, "sets the server");
    }
    let constant = statement.functions.is_empty()
        && statement.reads.is_empty()
        && statement.surroundings.is_empty()
        && !session.system_variables.iter().any(|name| differs(name));
    if scopes(&[Scope::User]) && !constant {
        return wants(Need::Primary, "sets a user variable to what may differ elsewhere");
    }
    wants(Need::Everywhere, "session state")
}
