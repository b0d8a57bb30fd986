//! Which state of the data an answer shows.

use splitproof_capture::sql::Effect;
use splitproof_capture::trace::{Outcome, Request};

use super::cursor::Moment;
use super::statement::Statement;
use crate::attribution::is_mysql;
use crate::intent::{Control, Verdict};

/// When the state was taken that an answer shows: not before and not after these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AsOf {
    pub from_ns: i64,
    pub to_ns: i64,
}

/// The state that the open transaction of a session has kept from its first read on, where its isolation does that (REPEATABLE
/// READ, and PostgreSQL's SERIALIZABLE).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    /// The transaction's number within the session.
    transaction: Option<u32>,
    from_ns: i64,
    /// The end of the first read.
    taken_ns: Option<i64>,
    /// How that was answered.
    read: Option<Moment>,
}

impl Snapshot {
    /// The time that its state may go back to, while the transaction is open.
    pub fn since_ns(&self) -> Option<i64> {
        self.transaction.map(|_| self.from_ns)
    }

    /// Takes the session's next statement, and the replica that answered it; `wrote` when the transaction has written before it.
    /// Says which state its answer shows, and puts the replica's read at the time of that state.
    pub fn step(
        &mut self,
        request: &Request,
        verdict: &Verdict,
        statement: &Statement,
        wrote: bool,
        read: &mut Option<Moment>,
    ) -> AsOf {
        let end_ns = request.end_ns().unwrap_or(request.start_ns);
        let now = AsOf { from_ns: request.start_ns, to_ns: end_ns };
        if verdict.transaction.is_none() || matches!(verdict.control, Some(Control::Commit | Control::Rollback)) {
            *self = Snapshot::default();
            return now;
        }
        if self.transaction != verdict.transaction {
            // BEGIN may take the state itself: START TRANSACTION WITH CONSISTENT SNAPSHOT.
            *self =
                Snapshot { transaction: verdict.transaction, from_ns: request.start_ns, taken_ns: None, read: None };
        }
        // InnoDB takes the state when a table is read, and not before.
        if !verdict.snapshot || statement.scope().is_empty() {
            return now;
        }
        let all = |wanted: fn(Effect) -> bool| {
            let statements = verdict.profile.iter().flat_map(|profile| &profile.statements);
            statements.map(|statement| statement.does().facts.effect).all(wanted)
        };
        if is_mysql(&request.messages) && all(|effect| matches!(effect, Effect::Write | Effect::Lock)) {
            // It takes the newest rows. PostgreSQL's fails when those are newer than the state.
            return now;
        }
        if wrote || !all(|effect| effect == Effect::Read) {
            // What a transaction changed itself it sees on top of rows that were the newest then.
            return AsOf { from_ns: self.from_ns, to_ns: end_ns };
        }
        if self.taken_ns.is_none() && request.outcome == Outcome::Ok {
            (self.taken_ns, self.read) = (Some(end_ns), *read);
        }
        if let (Some(first), Some(this)) = (self.read, &mut *read)
            && first.node == this.node
        {
            *this = first;
        }
        AsOf { from_ns: self.from_ns, to_ns: self.taken_ns.unwrap_or(end_ns) }
    }
}
