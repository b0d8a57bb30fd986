//! What only a session of MySQL or MariaDB holds.

use splitproof_capture::sql::{Isolation, Scope, Statement, StatementKind, TransactionMode, XaVerb};

use super::{Modes, State, is_on};
use crate::router::need::sets_everywhere;
use crate::router::node::{NodeId, PRIMARY};

impl State {
    /// The state of a session of MySQL or MariaDB.
    pub fn of_mysql() -> Self {
        let modes = Modes { read_only: false, isolation: Isolation::RepeatableRead };
        State { mysql: true, modes, ..State::default() }
    }

    /// Where everything goes now, and why.
    pub fn pin(&self) -> Option<(NodeId, &'static str)> {
        let reasons = [(!self.autocommit, "autocommit is off"), (self.tables_locked, "tables are locked")];
        let held = reasons.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why);
        let shaped = || self.next.map(|(node, _)| (node, "SET TRANSACTION was said there"));
        self.pinned.or(held).map(|why| (PRIMARY, why)).or_else(shaped)
    }

    /// Whether the primary alone knows a user variable.
    pub fn is_variable_of_primary(&self, name: &str) -> bool {
        self.variables_of_primary.contains(name)
    }

    /// What only MySQL has.
    pub(super) fn apply_mysql(&mut self, statement: &Statement, node: NodeId) {
        let session = &statement.state;
        match &statement.kind {
            StatementKind::LockTables => self.tables_locked = true,
            // BEGIN unlocks tables as well.
            StatementKind::UnlockTables | StatementKind::Begin(_) => self.tables_locked = false,
            StatementKind::Xa { verb: XaVerb::Start } if self.transaction.is_none() => {
                self.begin(node, TransactionMode::default());
            }
            _ => {}
        }
        for assignment in &session.assignments {
            let value = assignment.value.as_deref();
            match (assignment.scope, assignment.name.as_str()) {
                (Scope::Session, "autocommit") => self.autocommit = value.is_none_or(is_on),
                (Scope::Session, "transaction_read_only" | "tx_read_only") => {
                    self.modes.read_only = value.is_some_and(is_on);
                }
                (Scope::Session, "transaction_isolation" | "tx_isolation") => {
                    let level = value.and_then(|value| Isolation::from_name(&value.replace('-', " ")));
                    self.modes.isolation = level.unwrap_or(Isolation::RepeatableRead);
                }
                (Scope::User, name) if sets_everywhere(statement) => {
                    self.variables_of_primary.remove(name);
                }
                _ => {}
            }
        }
        if !sets_everywhere(statement) {
            self.variables_of_primary.extend(session.variables_written.iter().cloned());
        }
        self.next = match &statement.kind {
            StatementKind::SetTransaction(mode) if self.transaction.is_none() => Some((node, *mode)),
            // BEGIN takes it up.
            StatementKind::SetVariables | StatementKind::Use { .. } | StatementKind::Begin(_) => self.next,
            _ => None,
        };
    }
}
