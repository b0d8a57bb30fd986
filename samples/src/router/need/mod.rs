//! Where a statement belongs by its meaning, given what the session holds.
//!
//! - `mod.rs`: what both engines share
//! - `postgresql`, `mysql`: statements and functions of one engine

mod mysql;
mod postgresql;

use std::borrow::Cow;

use splitproof_capture::sql::{Effect, Function, Isolation, Statement, StatementKind};

use super::config::Config;
use super::node::NodeId;
use super::state::State;

/// Where a statement belongs, the least demanding first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Wherever the session is.
    Nothing,
    /// Any server; a replica is better.
    Read,
    /// Every server that the session uses.
    Everywhere,
    /// This server, which holds what the statement names.
    Node(NodeId),
    /// The primary.
    Primary,
}

/// A need and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where it belongs.
    pub need: Need,
    /// Why.
    pub why: Cow<'static, str>,
}

fn wants(need: Need, why: &'static str) -> Wanted {
    Wanted { need, why: Cow::Borrowed(why) }
}

/// Where a statement belongs.
pub fn of(statement: &Statement, state: &State, config: &Config) -> Wanted {
    if state.is_mysql()
        && let Some(wanted) = mysql::of(statement, state, config)
    {
        return wanted;
    }
    match &statement.kind {
        StatementKind::Begin(mode) => {
            let read_only = mode.read_only.unwrap_or(state.modes.read_only);
            let isolation = mode.isolation.unwrap_or(state.modes.isolation);
            if read_only && isolation != Isolation::Serializable {
                wants(Need::Read, "begins a read-only transaction")
            } else {
                wants(Need::Primary, "begins a transaction that may write")
            }
        }
        StatementKind::Commit { .. }
        | StatementKind::Rollback { .. }
        | StatementKind::Savepoint { .. }
        | StatementKind::Release { .. }
        | StatementKind::RollbackTo { .. }
        | StatementKind::SetTransaction(_)
        | StatementKind::SetConstraints
        | StatementKind::Set { local: true, .. } => wants(Need::Nothing, "transaction control"),
        StatementKind::Prepare { inner, .. } => of(inner, state, config),
        StatementKind::Execute { name } => match state.prepared(name) {
            Some(prepared) => all(&prepared.statements, state, config),
            None => wants(Need::Primary, "prepared statement of unknown origin"),
        },
        StatementKind::Explain { inner, .. } if matches!(inner.kind, StatementKind::Execute { .. }) => {
            of(inner, state, config)
        }
        // The protocol's side knows where it is: `Ask::holders`.
        StatementKind::Deallocate { name: Some(_) } => wants(Need::Nothing, "forgets a prepared statement"),
        StatementKind::Declare { hold: true, .. } if state.transaction.is_none() => {
            wants(Need::Primary, "declares a cursor that outlives its transaction")
        }
        StatementKind::Declare { inner, .. } => of(inner, state, config),
        StatementKind::Fetch { name } | StatementKind::CloseCursor { name: Some(name) } => match state.cursor(name) {
            Some(node) => wants(Need::Node(node), "the cursor is there"),
            None => wants(Need::Nothing, "no such cursor outside the transaction"),
        },
        StatementKind::CloseCursor { name: None } => wants(Need::Nothing, "closes cursors"),
        StatementKind::Listen { .. } | StatementKind::Unlisten { .. } | StatementKind::Notify { .. } => {
            wants(Need::Primary, "notifications")
        }
        _ => match statement.effect {
            Effect::Session => wants(Need::Everywhere, "session state"),
            Effect::Transaction => wants(Need::Primary, "two-phase commit"),
            Effect::Lock => wants(Need::Primary, "takes locks"),
            Effect::Utility => wants(Need::Primary, "maintenance"),
            Effect::Write => wants(Need::Primary, "writes"),
            Effect::Read => read(statement, state, config),
        },
    }
}

/// Whether a SET gives its variables the same value on every server.
pub(super) fn sets_everywhere(statement: &Statement) -> bool {
    statement.kind == StatementKind::SetVariables && mysql::set(statement).need == Need::Everywhere
}

/// Where statements belong that go to one place together: the most demanding decides.
pub fn all<S: std::ops::Deref<Target = Statement>>(statements: &[S], state: &State, config: &Config) -> Wanted {
    let nothing = wants(Need::Nothing, "nothing to run");
    statements.iter().map(|statement| of(statement, state, config)).fold(nothing, most)
}

/// The more demanding one; of equals the first.
pub fn most(one: Wanted, other: Wanted) -> Wanted {
    if other.need > one.need || (one.need == Need::Nothing && other.need == Need::Nothing) { other } else { one }
}

/// A statement whose text only reads.
fn read(statement: &Statement, state: &State, config: &Config) -> Wanted {
    let primary_only = if state.is_mysql() { mysql::primary_only } else { postgresql::primary_only };
    let listed = |function: &&Function| {
        config.volatile_functions.iter().any(|listed| listed.eq_ignore_ascii_case(&function.name))
    };
    let function = statement.functions.iter().find(|function| listed(function) || primary_only(function));
    if let Some(function) = function {
        return Wanted { need: Need::Primary, why: format!("calls {}()", function.name).into() };
    }
    let held = statement.reads.iter().chain(&statement.writes).find(|table| state.is_temporary(table));
    if let Some(table) = held {
        return Wanted { need: Need::Primary, why: format!("temporary table {}", table.name).into() };
    }
    let only = statement.reads.iter().find(|table| config.primary_tables.contains(&table.name));
    if let Some(table) = only {
        return Wanted { need: Need::Primary, why: format!("{} is on the primary only", table.name).into() };
    }
    // A read of its own takes no lock on MySQL; PostgreSQL's replicas refuse the level altogether.
    if state.modes.isolation == Isolation::Serializable && state.transaction.is_none() && !state.is_mysql() {
        return wants(Need::Primary, "a replica refuses SERIALIZABLE");
    }
    if postgresql::sets(statement) {
        return wants(Need::Everywhere, "session state");
    }
    wants(Need::Read, "read")
}
