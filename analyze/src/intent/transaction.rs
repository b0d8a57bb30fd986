//! The explicit transaction of a session.

use splitproof_capture::sql::{Isolation, TransactionMode};

use super::revertible::Revertible;
use super::rules::Rules;

/// An explicit transaction.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// Its number within the session, from 1.
    pub number: u32,
    pub read_only: bool,
    /// `None` is as the server has it.
    pub isolation: Option<Isolation>,
    pub failed: bool,
    /// True once it has written, or may have.
    pub wrote: bool,
    /// What to return to when it is rolled back.
    pub before: Revertible,
    pub savepoints: Vec<Savepoint>,
}

/// A savepoint and what to return to.
#[derive(Clone, Debug)]
pub(super) struct Savepoint {
    pub name: String,
    pub before: Revertible,
}

impl Transaction {
    /// Opened with these modes; what they leave open comes from the session's defaults.
    pub fn new(number: u32, mode: TransactionMode, state: &Revertible) -> Self {
        Transaction {
            number,
            read_only: mode.read_only.unwrap_or(state.read_only),
            isolation: mode.isolation.or(state.isolation),
            failed: false,
            wrote: false,
            before: state.clone(),
            savepoints: Vec::new(),
        }
    }

    /// SET TRANSACTION.
    pub fn set(&mut self, mode: TransactionMode) {
        self.read_only = mode.read_only.unwrap_or(self.read_only);
        self.isolation = mode.isolation.or(self.isolation);
    }

    pub fn is_serializable(&self) -> bool {
        self.isolation == Some(Isolation::Serializable)
    }

    /// True when all its reads show one state of the data.
    pub fn keeps_snapshot(&self, rules: Rules) -> bool {
        match self.isolation.unwrap_or(rules.isolation) {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => false,
            Isolation::RepeatableRead => true,
            // Where its reads lock rows, they show the newest ones.
            Isolation::Serializable => rules.replica_refuses_serializable,
        }
    }

    /// True when nothing of it may run on a replica any more.
    pub fn needs_primary(&self) -> bool {
        self.wrote || self.is_serializable()
    }

    /// ROLLBACK TO: the state at the savepoint, which stays.
    pub fn roll_back_to(&mut self, name: &str) -> Option<Revertible> {
        let at = self.savepoints.iter().rposition(|savepoint| savepoint.name == name)?;
        self.savepoints.truncate(at + 1);
        self.failed = false;
        self.savepoints.last().map(|savepoint| savepoint.before.clone())
    }

    /// RELEASE: the savepoint and those after it are gone.
    pub fn release(&mut self, name: &str) {
        if let Some(at) = self.savepoints.iter().rposition(|savepoint| savepoint.name == name) {
            self.savepoints.truncate(at);
        }
    }
}
