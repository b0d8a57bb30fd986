//! Where a client session stands with its transaction.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::trace::{Outcome, Request, TransactionStatus};

use super::statement::{Named, Savepoint, Statement};
use crate::attribution::is_mysql;
use crate::intent::Control;
use crate::staleness::Scope;

/// A write of the open transaction.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub key: (u64, u32),
    pub end_ns: i64,
    pub scope: Scope,
    /// The part of it that its answer does not say to be unchanged.
    pub changed: Scope,
    pub sql: Arc<str>,
}

/// What a request did to its session's transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Effect {
    /// An explicit transaction ended with it; true when it committed.
    pub ended: Option<bool>,
    /// What was committed by it.
    pub committed: Vec<Written>,
}

/// The transaction of one session, and its prepared statements and cursors.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    names: HashMap<String, Arc<Statement>>,
    open: bool,
    failed: bool,
    /// The open one's number within the session.
    number: Option<u32>,
    /// Writes that are not committed yet.
    pub writes: Vec<Written>,
    /// The open one's savepoints, with the number of writes before each.
    savepoints: Vec<(String, usize)>,
}

/// MySQL's error of a transaction that was rolled back to end a deadlock.
const DEADLOCK: &str = "1213";

/// Names that are remembered for one session.
const NAMES: usize = 1_000;

impl Transaction {
    /// What a statement does in this session: EXECUTE and FETCH do what has the name.
    pub(super) fn resolve(&mut self, statement: Arc<Statement>) -> Arc<Statement> {
        match &statement.named {
            Some(Named::Gives(name, inner)) => {
                self.name(name, Arc::new((**inner).clone()));
                statement
            }
            Some(Named::Uses(name)) => self.names.get(name).cloned().unwrap_or_else(|| {
                // Prepared out of sight: it may read anything. That it may write shows in its intent.
                Arc::new(Statement { reads_any: true, ..(*statement).clone() })
            }),
            None => statement,
        }
    }

    /// The protocol prepared this statement: SQL's EXECUTE finds it by the same name.
    pub(super) fn name(&mut self, name: &str, statement: Arc<Statement>) {
        if self.names.len() >= NAMES {
            self.names.clear();
        }
        self.names.insert(name.to_owned(), statement);
    }

    /// Takes the session's next request.
    pub(super) fn step(
        &mut self,
        request: &Request,
        statement: &Statement,
        control: Option<Control>,
        number: Option<u32>,
        key: (u64, u32),
    ) -> Effect {
        let was_open = self.open;
        let was_failed = self.failed;
        let ok = request.outcome == Outcome::Ok;
        // In a pipeline every request reports the status at the pipeline's end; only the one with the Sync reached it.
        // MySQL has no pipelines of that kind: each answer tells.
        let told = request.messages.is_empty() || is_mysql(&request.messages) || request.messages.contains(['Q', 'S']);
        if let Some(status) = request.transaction.filter(|_| told) {
            self.open = status != TransactionStatus::Idle;
            self.failed = status == TransactionStatus::Failed;
        } else if request.error_code.as_deref() == Some(DEADLOCK) && is_mysql(&request.messages) {
            // The answer does not say that the server has rolled back.
            self.open = false;
            self.writes.clear();
            self.savepoints.clear();
        } else if ok {
            // Where the status is not told, the text tells.
            match control {
                Some(Control::Begin) => self.open = true,
                Some(Control::Commit | Control::Rollback) => self.open = false,
                _ => {}
            }
        }
        // COMMIT AND CHAIN opens the next one at once, and so does MySQL's START TRANSACTION inside a transaction. The
        // latter's number tells it from PostgreSQL's, which is passed over.
        let replaced =
            control == Some(Control::Begin) && number.is_some() && self.number.is_some_and(|old| Some(old) != number);
        let chained = matches!(control, Some(Control::Commit | Control::Rollback)) || replaced;
        let ends = was_open && (!self.open || (ok && chained));
        self.number = number.filter(|_| self.open && (replaced || !ends));
        let mut effect = Effect::default();
        if ok {
            self.return_to_savepoints(&statement.savepoints);
        }
        if ok && statement.is_write() {
            self.writes.push(Written {
                key,
                end_ns: request.end_ns().unwrap_or(request.start_ns),
                scope: statement.write_scope(),
                changed: statement.changed_scope(request.affected),
                sql: request.sql.clone().unwrap_or_else(|| Arc::from("")),
            });
        }
        if ok && self.open {
            self.set_savepoints(&statement.savepoints);
        }
        if !self.open || ends {
            self.savepoints.clear();
            let committed = if was_open {
                ok && !was_failed && control != Some(Control::Rollback)
            } else {
                // Without an explicit transaction a statement commits itself.
                ok
            };
            let writes = std::mem::take(&mut self.writes);
            if committed {
                effect.committed = writes;
            }
            if ends {
                effect.ended = Some(committed);
            }
        }
        effect
    }

    /// Forgets what ROLLBACK TO undid. Within a text of several statements its own writes come after this, so that they are
    /// kept where it is not known whether they were undone too.
    fn return_to_savepoints(&mut self, savepoints: &[Savepoint]) {
        for savepoint in savepoints {
            let (Savepoint::Release(name) | Savepoint::RollBackTo(name)) = savepoint else { continue };
            let Some(at) = self.savepoints.iter().rposition(|(set, _)| set == name) else { continue };
            match savepoint {
                Savepoint::RollBackTo(_) => {
                    self.writes.truncate(self.savepoints.get(at).map_or(usize::MAX, |&(_, writes)| writes));
                    self.savepoints.truncate(at + 1);
                }
                _ => self.savepoints.truncate(at),
            }
        }
    }

    /// Takes new savepoints; behind the text's own writes, which a later ROLLBACK TO therefore keeps.
    fn set_savepoints(&mut self, savepoints: &[Savepoint]) {
        for savepoint in savepoints {
            if let Savepoint::Set(name) = savepoint {
                if self.savepoints.len() >= NAMES {
                    self.savepoints.clear();
                }
                self.savepoints.push((name.clone(), self.writes.len()));
            }
        }
    }
}

/// The tables that some writes touch together.
pub(super) fn scope<'a>(scopes: impl Iterator<Item = &'a Scope>) -> Scope {
    let mut all = Vec::new();
    for scope in scopes {
        match scope {
            Scope::Any => return Scope::Any,
            Scope::Tables(tables) => all.extend(tables.iter().cloned()),
        }
    }
    all.sort();
    all.dedup();
    Scope::Tables(all)
}
