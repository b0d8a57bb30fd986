//! What a statement that ended well does to the state.

use splitproof_capture::sql::{Discard, Isolation, StatementKind, TransactionMode, XaVerb};
use splitproof_capture::trace::TransactionStatus;

use super::{Cursor, Session};
use crate::intent::revertible::{Revertible, Temporary};
use crate::intent::transaction::{Savepoint, Transaction};
use crate::intent::{Intent, StatementProfile, Verdict};

impl Session {
    /// What a statement that ended well does to the state.
    pub(super) fn apply(&mut self, statement: &StatementProfile, verdict: &Verdict) {
        let statement = statement.does();
        let facts = &statement.facts;
        match &facts.kind {
            StatementKind::Begin(mode) => {
                match &mut self.transaction {
                    None => self.begin(*mode),
                    // BEGIN in a transaction is passed over, with a warning; its modes are set all the same (PostgreSQL).
                    Some(transaction) => transaction.set(*mode),
                }
                // START TRANSACTION gives table locks back.
                self.tables_locked = false;
            }
            StatementKind::Xa { verb } => self.xa(*verb),
            StatementKind::Commit { chain } => {
                let failed = self.transaction.as_ref().is_some_and(|transaction| transaction.failed);
                self.end(!failed, *chain);
            }
            StatementKind::Rollback { chain } => self.end(false, *chain),
            // Its changes wait elsewhere; the session goes on without them.
            StatementKind::PrepareTransaction => self.end(true, false),
            StatementKind::Savepoint { name } => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.savepoints.push(Savepoint { name: name.clone(), before: self.state.clone() });
                }
            }
            StatementKind::RollbackTo { name } => {
                let before = self.transaction.as_mut().and_then(|transaction| transaction.roll_back_to(name));
                if let Some(before) = before.filter(|_| self.rules.rollback_reverts_state) {
                    self.state = before;
                }
            }
            StatementKind::Release { name } => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.release(name);
                }
            }
            StatementKind::SetTransaction(mode) => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.set(*mode);
                } else if self.rules.shapes_next_transaction {
                    self.next = shaped(self.next, *mode);
                }
            }
            StatementKind::SetCharacteristics(mode) => self.set_defaults(*mode),
            StatementKind::Set { name, value, local } => self.set(name, value.as_deref(), *local),
            StatementKind::SetVariables => self.assign(statement),
            StatementKind::LockTables => self.tables_locked = true,
            StatementKind::Maintain { name } if name == "flush tables with read lock" => self.tables_locked = true,
            StatementKind::UnlockTables => self.tables_locked = false,
            StatementKind::Reset { name } => match name.as_deref() {
                None => self.state.reset_defaults(),
                Some(name) => self.set(name, None, false),
            },
            StatementKind::Discard { what } => self.discard(*what),
            StatementKind::Prepare { name, .. } => {
                if let Some(inner) = &statement.inner {
                    self.prepared.insert(name.clone(), inner.clone());
                }
            }
            StatementKind::Deallocate { name } => match name {
                Some(name) => drop(self.prepared.remove(name)),
                None => self.prepared.clear(),
            },
            StatementKind::Declare { name, hold, .. } => {
                if let Some(query) = &statement.inner {
                    let declared_in = self.transaction.as_ref().map(|transaction| transaction.number);
                    let cursor = Cursor { query: query.clone(), hold: *hold, declared_in };
                    self.cursors.insert(name.clone(), cursor);
                }
            }
            StatementKind::CloseCursor { name } => match name {
                Some(name) => drop(self.cursors.remove(name)),
                None => self.cursors.clear(),
            },
            StatementKind::Create { temporary: true, on_commit_drop } => {
                if let Some(table) = facts.writes.first() {
                    // Outside a transaction ON COMMIT DROP drops at once.
                    if self.transaction.is_some() || !on_commit_drop {
                        let on_primary = verdict.intent == Intent::Primary || verdict.on_primary;
                        let made = Temporary { on_commit_drop: *on_commit_drop, on_primary };
                        self.state.temporary.insert(table.name.clone(), made);
                    }
                }
            }
            StatementKind::Drop => {
                for table in &facts.writes {
                    self.state.temporary.remove(&table.name);
                }
            }
            StatementKind::Rename { to } => {
                let renamed = facts.writes.first().and_then(|table| self.state.temporary.remove(&table.name));
                if let Some(temporary) = renamed {
                    self.state.temporary.insert(to.clone(), temporary);
                }
            }
            _ => {
                for setting in &facts.settings {
                    if let Some(name) = &setting.name {
                        self.set(&name.to_lowercase(), setting.value.as_deref(), setting.local == Some(true));
                    }
                }
            }
        }
    }

    /// XA transactions are the primary's.
    fn xa(&mut self, verb: XaVerb) {
        match verb {
            XaVerb::Start if self.transaction.is_none() => {
                self.begin(TransactionMode { read_only: Some(false), isolation: None });
                if let Some(transaction) = &mut self.transaction {
                    transaction.wrote = true;
                }
            }
            XaVerb::Commit | XaVerb::CommitOnePhase => self.end(true, false),
            XaVerb::Rollback => self.end(false, false),
            XaVerb::Start | XaVerb::End | XaVerb::Prepare | XaVerb::Recover => {}
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Option<&str>, local: bool) {
        let fresh = Revertible::default();
        let read_only = || value.map_or(fresh.read_only, is_on);
        let isolation = || value.and_then(Isolation::from_name);
        match (name, &mut self.transaction) {
            ("transaction_read_only", Some(transaction)) => transaction.read_only = read_only(),
            ("transaction_isolation", Some(transaction)) => transaction.isolation = isolation(),
            ("default_transaction_read_only", _) if !local => self.state.read_only = read_only(),
            ("default_transaction_isolation", _) if !local => self.state.isolation = isolation(),
            _ => {}
        }
    }

    fn set_defaults(&mut self, mode: TransactionMode) {
        self.state.read_only = mode.read_only.unwrap_or(self.state.read_only);
        self.state.isolation = mode.isolation.or(self.state.isolation);
    }

    fn discard(&mut self, what: Discard) {
        match what {
            Discard::All => {
                *self = Session { rules: self.rules, transactions: self.transactions, ..Session::new() };
            }
            Discard::Temp => self.state.temporary.clear(),
            Discard::Plans | Discard::Sequences => {}
        }
    }

    pub(super) fn begin(&mut self, mode: TransactionMode) {
        self.transactions += 1;
        let mode = shaped(std::mem::take(&mut self.next), mode);
        self.transaction = Some(Transaction::new(self.transactions, mode, &self.state));
    }

    pub(super) fn end(&mut self, commit: bool, chain: bool) {
        let Some(transaction) = self.transaction.take() else {
            // MySQL and MariaDB begin the next one also where there was none.
            if chain && self.rules.begin_commits {
                self.begin(TransactionMode::default());
            }
            return;
        };
        if commit {
            self.state.commit();
        } else if self.rules.rollback_reverts_state {
            self.state = transaction.before;
        }
        self.cursors.retain(|_, cursor| {
            let own = cursor.declared_in.take() == Some(transaction.number);
            !own || (commit && cursor.hold)
        });
        if chain {
            let (read_only, isolation) = (Some(transaction.read_only), transaction.isolation);
            self.begin(TransactionMode { read_only, isolation });
        }
    }

    pub(super) fn fail(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.failed = true;
        }
    }

    /// Takes over what the server reported about the transaction, once the group that it ended is over: within a
    /// group every request carries the status after the last one.
    pub(super) fn believe_report(&mut self, next_group: Option<u32>) {
        let Some((group, status)) = self.reported else { return };
        if group.is_some() && group == next_group {
            return;
        }
        self.reported = None;
        match (status, &mut self.transaction) {
            (TransactionStatus::Idle, Some(_)) => self.end(true, false),
            (TransactionStatus::Open | TransactionStatus::Failed, None) => {
                // Its beginning was not seen, so that it may be anything: a transaction that may write.
                self.begin(TransactionMode { read_only: Some(false), isolation: None });
                if status == TransactionStatus::Failed {
                    self.fail();
                }
            }
            (TransactionStatus::Failed, Some(transaction)) => transaction.failed = true,
            (TransactionStatus::Open, Some(transaction)) => transaction.failed = false,
            (TransactionStatus::Idle, None) => {}
        }
    }
}

/// What both say of a transaction; the later one decides.
fn shaped(earlier: TransactionMode, later: TransactionMode) -> TransactionMode {
    TransactionMode {
        read_only: later.read_only.or(earlier.read_only),
        isolation: later.isolation.or(earlier.isolation),
    }
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "on" | "true" | "t" | "yes" | "y" | "1")
}
