//! The sessions of a log, and the order of their rows.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::RandomState;

use crate::trace::{Kind, Request};

/// Sessions that are remembered at a time. Most logs do not tell when a session ends.
const LIMIT: usize = 50_000;

/// The sessions of a log by what names them there, each with a reader's own state.
#[derive(Debug)]
pub(super) struct Sessions<S> {
    by_name: HashMap<CompactString, Session<S>, RandomState>,
    limit: usize,
    next: u64,
    now: u64,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session<S> {
    /// Its number within the trace.
    pub number: u64,
    /// As whom it is connected, as far as the log told.
    pub context: Context,
    /// The reader's own.
    pub state: S,
    seq: u32,
    /// No later row of the session begins before.
    not_before_ns: i64,
    /// When it was last looked up.
    seen: u64,
}

/// What the rows of a session have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    pub database: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub application: Option<Arc<str>>,
    pub client: Option<Arc<str>>,
    pub server: Option<Arc<str>>,
    /// The session began before the log.
    pub joined_midway: bool,
}

/// A name, with U+FFFD in place of what is no UTF-8.
pub(super) fn compact(name: &[u8]) -> CompactString {
    // Nearly every name is UTF-8, and finding that out is faster than the replacement.
    str::from_utf8(name).map_or_else(|_| CompactString::from_utf8_lossy(name), CompactString::new)
}

impl<S> Default for Sessions<S> {
    fn default() -> Self {
        Sessions { by_name: HashMap::default(), limit: LIMIT, next: 0, now: 0 }
    }
}

impl<S: Default> Sessions<S> {
    /// A number for a session that has no name in the log.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The session of this name. It begins where the name is new.
    pub fn get(&mut self, name: &str) -> &mut Session<S> {
        self.now += 1;
        let next = &mut self.next;
        let session = self.by_name.entry(CompactString::new(name)).or_insert_with(|| {
            *next += 1;
            Session::new(*next - 1)
        });
        session.seen = self.now;
        session
    }

    /// The session of this name, where there is one.
    pub fn find(&self, name: &str) -> Option<&Session<S>> {
        self.by_name.get(name)
    }

    /// Whether there is a session of this name.
    pub fn holds(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Forgets the session of this name, which has ended, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Session<S>> {
        self.by_name.remove(name)
    }

    /// Where there are too many, forgets the half that was longest not looked up, and returns it. Should one of them go on,
    /// that is a session of its own.
    pub fn overdue(&mut self) -> Vec<Session<S>> {
        if self.by_name.len() <= self.limit {
            return Vec::new();
        }
        let mut seen: Vec<u64> = self.by_name.values().map(|session| session.seen).collect();
        let middle = seen.len() / 2;
        let (_, &mut median, _) = seen.select_nth_unstable(middle);
        let mut old: Vec<_> =
            self.by_name.extract_if(|_, session| session.seen < median).map(|(_, session)| session).collect();
        old.sort_unstable_by_key(|session| session.number);
        old
    }

    /// Every session, in the order of their numbers; none are left.
    pub fn drain(&mut self) -> Vec<Session<S>> {
        let mut all: Vec<_> = self.by_name.drain().map(|(_, session)| session).collect();
        all.sort_unstable_by_key(|session| session.number);
        all
    }
}

impl<S: Default> Session<S> {
    fn new(number: u64) -> Self {
        Session { number, context: Context::default(), state: S::default(), seq: 0, not_before_ns: 0, seen: 0 }
    }
}

impl<S> Session<S> {
    /// The next row, with the session's context. Stamps are coarse and durations are not: it never begins before the row
    /// before it, nor before the session was [busy](Self::busy_until).
    pub fn row(&mut self, kind: Kind, start_ns: i64) -> Request {
        let start_ns = start_ns.max(self.not_before_ns);
        self.not_before_ns = start_ns;
        let mut row = Request::new(self.number, self.seq, start_ns, kind);
        self.seq = self.seq.saturating_add(1);
        self.context.fill(&mut row);
        row
    }

    /// The session was busy until then.
    pub fn busy_until(&mut self, end_ns: i64) {
        self.not_before_ns = self.not_before_ns.max(end_ns);
    }

    /// Whether it has a row.
    pub fn has_begun(&self) -> bool {
        self.seq > 0
    }
}

impl Context {
    /// Sets a row's columns.
    pub fn fill(&self, row: &mut Request) {
        row.database.clone_from(&self.database);
        row.user.clone_from(&self.user);
        row.application.clone_from(&self.application);
        row.client.clone_from(&self.client);
        row.server.clone_from(&self.server);
        row.joined_midway = self.joined_midway;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_session_stay_in_order() {
        let mut sessions = Sessions::<()>::default();
        let session = sessions.get("a");
        assert_eq!(session.row(Kind::Query, 100).start_ns, 100);
        session.busy_until(150);
        // Its stamp is as coarse as a second, and its duration reaches back.
        let row = session.row(Kind::Query, 90);
        assert_eq!((row.start_ns, row.seq), (150, 1));
        assert_eq!(session.row(Kind::Query, 200).start_ns, 200);
        let other = sessions.get("b").row(Kind::Query, 90);
        assert_eq!((other.session, other.seq, other.start_ns), (1, 0, 90));
    }

    #[test]
    fn the_sessions_that_are_remembered_are_the_latest() {
        let mut sessions = Sessions::<()> { limit: 4, ..Sessions::default() };
        for name in ["a", "b", "c", "d", "a", "e"] {
            sessions.get(name);
        }
        let old: Vec<u64> = sessions.overdue().iter().map(|session| session.number).collect();
        assert_eq!(old, [1, 2], "b and c");
        assert!(sessions.holds("a") && sessions.holds("d") && sessions.holds("e"));
        assert!(sessions.overdue().is_empty());
        assert_eq!(sessions.get("b").number, 5);
    }
}
