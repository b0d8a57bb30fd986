//! A statement taken for a read.
//!
//! A replica refuses most of these, so these faults are loud; where the replica does not refuse, the write is lost or
//! the replica differs from its primary from then on.

use splitproof_capture::sql::{RowLock, Statement, StatementKind};

use super::super::need::{self, Need};
use super::super::route::{Ask, Decision, Router};
use super::super::state::State;
use super::{Fault, to_replica};

pub(super) fn change(fault: Fault, router: &Router, state: &State, ask: &Ask, honest: &Decision) -> Option<Decision> {
    let taken = match fault {
        Fault::ForUpdateToReplica => ask.any(|statement| locks(statement, RowLock::NoKeyUpdate..=RowLock::Update)),
        Fault::ForShareToReplica => ask.any(|statement| locks(statement, RowLock::KeyShare..=RowLock::Share)),
        Fault::CteWriteToReplica => ask.any(|statement| statement.modifying_cte),
        Fault::VolatileFunctionToReplica => ask.any(|statement| {
            let volatile = &router.config.volatile_functions;
            is_query(statement)
                && calls(statement, |name| volatile.iter().any(|listed| listed.eq_ignore_ascii_case(name)))
        }),
        Fault::NextvalToReplica => {
            ask.any(|statement| is_query(statement) && calls(statement, |name| ["nextval", "setval"].contains(&name)))
        }
        Fault::CallToReplica => ask.any(|statement| statement.kind == StatementKind::Call),
        Fault::ReturningToReplica => ask.any(|statement| statement.returning && !statement.modifying_cte),
        Fault::MultiStatementByFirstWord => {
            ask.texts.iter().any(|text| text.statements.len() > 1)
                && honest.need > Need::Read
                && ask
                    .statements()
                    .next()
                    .is_some_and(|first| need::of(first, state, &router.config).need == Need::Read)
        }
        _ => false,
    };
    if taken { to_replica(router, honest) } else { None }
}

fn locks(statement: &Statement, strengths: std::ops::RangeInclusive<RowLock>) -> bool {
    statement.row_lock.is_some_and(|lock| strengths.contains(&lock))
}

fn is_query(statement: &Statement) -> bool {
    statement.kind == StatementKind::Select
}

pub(super) fn calls(statement: &Statement, is: impl Fn(&str) -> bool) -> bool {
    statement.functions.iter().any(|function| is(&function.name.to_ascii_lowercase()))
}
