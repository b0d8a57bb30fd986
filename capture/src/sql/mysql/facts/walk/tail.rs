//! What may stand behind a query: locks, and INTO.

use super::{Clause, Walker, write};
use crate::sql::mysql::lexer::Kind;
use crate::sql::{LockWait, RowLock};

impl Walker<'_, '_> {
    pub(super) fn lock(&mut self, lock: RowLock) {
        self.found.row_lock = self.found.row_lock.max(Some(lock));
    }

    /// FOR UPDATE and FOR SHARE.
    pub(super) fn for_lock(&mut self, at: usize) -> usize {
        let lock = match () {
            () if self.source.is(at + 1, "update") => RowLock::Update,
            () if self.source.is(at + 1, "share") => RowLock::Share,
            () => return at + 1,
        };
        self.lock(lock);
        self.set_clause(Clause::Expression);
        let mut at = at + 2;
        if self.source.is(at, "of") {
            at += 2;
            while matches!(self.source.kind(at), Some(Kind::Dot | Kind::Comma)) {
                at += 2;
            }
        }
        self.wait(at)
    }

    /// NOWAIT, WAIT n or SKIP LOCKED.
    pub(super) fn wait(&mut self, at: usize) -> usize {
        let (wait, length) = match () {
            () if self.source.is(at, "nowait") => (LockWait::NoWait, 1),
            () if self.source.is(at, "wait") => (LockWait::Limited, 2),
            () if self.source.is(at, "skip") && self.source.is(at + 1, "locked") => (LockWait::SkipLocked, 2),
            () => return at,
        };
        self.found.state.lock_wait = Some(wait);
        at + length
    }

    /// What INTO of a query names.
    pub(super) fn into(&mut self, mut at: usize) -> usize {
        self.found.into = true;
        self.set_clause(Clause::Expression);
        if self.source.is_any(at, &["outfile", "dumpfile"]) {
            self.found.state.server_file = true;
            return at + 2;
        }
        loop {
            match self.source.variable(at) {
                Some(name) => write(&mut self.found.state.variables_written, name),
                // A variable of a stored program.
                None if self.source.name(at).is_some() => {}
                None => return at,
            }
            at += 1;
            if self.source.kind(at) != Some(Kind::Comma) {
                return at;
            }
            at += 1;
        }
    }
}
