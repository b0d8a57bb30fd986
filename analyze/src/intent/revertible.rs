//! Session state that a rollback takes back.

use std::collections::BTreeMap;

use splitproof_capture::sql::{Isolation, Relation};

/// Session state that a rollback takes back. Small, so that BEGIN and SAVEPOINT keep a copy.
#[derive(Clone, Debug)]
pub(super) struct Revertible {
    /// Temporary tables, views and sequences, and whether they go at commit.
    pub temporary: BTreeMap<String, bool>,
    /// default_transaction_read_only
    pub read_only: bool,
    /// default_transaction_isolation
    pub isolation: Isolation,
}

impl Default for Revertible {
    fn default() -> Self {
        Revertible { temporary: BTreeMap::new(), read_only: false, isolation: Isolation::ReadCommitted }
    }
}

impl Revertible {
    /// True for the name of a temporary object: without a schema it hides any other of that name.
    pub fn is_temporary(&self, relation: &Relation) -> bool {
        match relation.schema.as_deref() {
            None => self.temporary.contains_key(&relation.name),
            Some(schema) => schema == "pg_temp",
        }
    }

    /// ON COMMIT DROP takes effect.
    pub fn commit(&mut self) {
        self.temporary.retain(|_, on_commit_drop| !*on_commit_drop);
    }

    /// The defaults of transactions are as the server set them.
    pub fn reset_defaults(&mut self) {
        let fresh = Revertible::default();
        (self.read_only, self.isolation) = (fresh.read_only, fresh.isolation);
    }
}
