//! What a statement of MySQL or MariaDB does to the transaction without saying so: "Statements That Cause an Implicit
//! Commit" and "autocommit, Commit, and Rollback" of the MySQL manual.

use splitproof_capture::sql::{Scope, StatementKind, TransactionMode};

use super::Session;
use crate::intent::{Class, StatementProfile};

impl Session {
    /// Ends and opens transactions before the statement is judged.
    pub(super) fn imply(&mut self, statement: &StatementProfile) {
        let (kind, state) = (&statement.facts.kind, &statement.facts.state);
        if state.implicit_commit && self.commits(kind) {
            self.end(true, false);
        }
        let touches = statement.class == Class::Primary
            || !statement.facts.reads.is_empty()
            || !statement.facts.writes.is_empty()
            || !statement.behind.is_empty();
        if !touches || self.transaction.is_some() || state.implicit_commit {
            return;
        }
        if self.manual_commit && !matches!(kind, StatementKind::Begin(_) | StatementKind::Xa { .. }) {
            self.begin(TransactionMode::default());
        } else {
            // A statement alone is the next transaction of SET TRANSACTION.
            self.next = TransactionMode::default();
        }
    }

    fn commits(&self, kind: &StatementKind) -> bool {
        match kind {
            // Only when the value changes.
            StatementKind::SetVariables => self.manual_commit,
            // Only when LOCK TABLES has locked some.
            StatementKind::UnlockTables => self.tables_locked,
            _ => true,
        }
    }

    /// SET of variables that ended well.
    pub(super) fn assign(&mut self, statement: &StatementProfile) {
        for assignment in &statement.facts.state.assignments {
            if assignment.scope != Scope::Session {
                continue;
            }
            let value = assignment.value.as_deref();
            match assignment.name.as_str() {
                "autocommit" => {
                    if let Some(value) = value {
                        self.manual_commit = matches!(value.to_ascii_lowercase().as_str(), "0" | "off" | "false");
                    }
                }
                "transaction_read_only" | "tx_read_only" => self.set("default_transaction_read_only", value, false),
                "transaction_isolation" | "tx_isolation" => {
                    let level = value.map(|value| value.replace('-', " "));
                    self.set("default_transaction_isolation", level.as_deref(), false);
                }
                _ => {}
            }
        }
    }
}
