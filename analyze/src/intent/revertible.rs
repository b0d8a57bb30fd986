//! Session state that a rollback may take back.

use std::collections::BTreeMap;

use splitproof_capture::sql::{Isolation, Relation};

use super::rules::Rules;

/// Session state that a rollback takes back where the engine does so. Small, so that BEGIN and SAVEPOINT keep a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Revertible {
    /// Temporary tables, views and sequences.
    pub temporary: BTreeMap<String, Temporary>,
    /// default_transaction_read_only; transaction_read_only of MySQL and MariaDB
    pub read_only: bool,
    /// default_transaction_isolation; transaction_isolation of MySQL and MariaDB. `None` is as the server has it.
    pub isolation: Option<Isolation>,
}

/// A temporary table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Temporary {
    /// It goes at commit.
    pub on_commit_drop: bool,
    /// It was made on the primary for certain.
    pub on_primary: bool,
}

impl Revertible {
    /// The temporary object of this name: without a schema it hides any other of that name.
    pub fn temporary(&self, relation: &Relation, rules: Rules) -> Option<Temporary> {
        match relation.schema.as_deref() {
            Some(schema) if rules.temporary_schema => {
                (schema == "pg_temp").then_some(Temporary { on_commit_drop: false, on_primary: true })
            }
            _ => self.temporary.get(&relation.name).copied(),
        }
    }

    /// ON COMMIT DROP takes effect.
    pub fn commit(&mut self) {
        self.temporary.retain(|_, temporary| !temporary.on_commit_drop);
    }

    /// The defaults of transactions are as the server set them.
    pub fn reset_defaults(&mut self) {
        let fresh = Revertible::default();
        (self.read_only, self.isolation) = (fresh.read_only, fresh.isolation);
    }
}
