//! Entries become rows, by the process that wrote them.

use super::session::State;
use super::{Front, Message, Step};
use crate::log::Records;
use crate::log::postgresql::Severity;
use crate::log::sessions::{Session, Sessions};
use crate::trace::Loss;

/// Names of pgpool's own processes, which stand where a client's application would.
const PROCESSES: &[&[u8]] = &[
    b"main",
    b"health_check",
    b"sr_check_worker",
    b"pcp_main",
    b"pcp_child",
    b"watchdog",
    b"watchdog_utility",
    b"lifecheck",
    b"heart_beat_sender",
    b"heart_beat_receiver",
    b"heartbeat_sender",
    b"heartbeat_receiver",
    b"follow_child",
    b"logger",
];

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// Its time, nanoseconds since 1970 UTC, nanosecond by nanosecond in the order of the log where stamps are the same.
    pub at_ns: i64,
    /// Number of the process, which serves one client after another; empty where the log does not tell.
    pub process: &'a str,
    /// The client's application, or what the process does.
    pub application: Option<&'a [u8]>,
    pub user: Option<&'a [u8]>,
    pub database: Option<&'a [u8]>,
    pub severity: Severity,
    pub message: &'a [u8],
    pub detail: Option<&'a [u8]>,
}

/// What a log has been seen to hold. What is announced in one way is not taken for a request again where it is told in another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holds {
    /// `log_client_messages`
    pub client: bool,
    /// `log_statement`
    pub statements: bool,
}

/// The sessions of a log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
    holds: Holds,
}

impl Conversations {
    /// Takes the next entry, and says once what becomes of it.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        if entry.application.is_some_and(|application| PROCESSES.contains(&application)) {
            return out.lost(Loss::LogServer);
        }
        let message = Message::read(entry.message, entry.detail);
        // A notice to the client is an entry, too, where it tells of a node.
        let matters = match message {
            Message::Node { .. } => true,
            _ => entry.severity == Severity::Log,
        };
        match message {
            _ if !matters => out.lost(Loss::LogMessage),
            Message::Received { host, port } => {
                self.end(entry, out);
                self.sessions.get(entry.process).received(entry, host, port, out);
            }
            Message::Disconnection { user, database, host, port } => {
                let holds = self.holds;
                let session = self.session(entry, out);
                session.disconnected(entry, (user, database), (host, port), holds, out);
                self.end(entry, out);
            }
            Message::Other => {
                let is_begun = self.sessions.holds(entry.process);
                out.lost(if is_begun { Loss::LogMessage } else { Loss::LogServer });
            }
            _ => self.in_session(entry, message, out),
        }
        for mut session in self.sessions.overdue() {
            session.give_up(out);
        }
    }

    /// The log ends.
    pub fn finish(&mut self, out: &mut Records<'_>) {
        for mut session in self.sessions.drain() {
            session.give_up(out);
        }
    }

    fn in_session(&mut self, entry: &Entry<'_>, message: Message<'_>, out: &mut Records<'_>) {
        self.holds.client |= matches!(message, Message::Front(_));
        self.holds.statements |= matches!(message, Message::Statement { .. });
        let holds = self.holds;
        let session = self.session(entry, out);
        match message {
            Message::Front(Front::Call) => {
                session.settle(out);
                out.lost(Loss::LogFastpath);
            }
            Message::Front(Front::Other) => out.lost(Loss::LogMessage),
            Message::Front(front) => session.front(entry, front, out),
            Message::Statement { sql } => session.statement(entry, sql, holds, out),
            Message::Node { node, step } => session.node(entry, node, step, holds, out),
            Message::Complaint { sql, text } => session.complaint(sql, text, out),
            Message::Error { text } => session.error(text, out),
            Message::Notice { text } => session.notice(text, out),
            Message::Refused { text } => session.refused(text, out),
            Message::Received { .. } | Message::Disconnection { .. } | Message::Other => out.lost(Loss::LogMessage),
        }
    }

    /// The session of an entry, with what the entry tells of it.
    fn session(&mut self, entry: &Entry<'_>, out: &Records<'_>) -> &mut Session<State> {
        let session = self.sessions.get(entry.process);
        let told = |name: Option<&[u8]>| {
            name.filter(|name| !name.is_empty() && !matches!(*name, b"[unknown]" | b"child"))
                .map(|name| out.intern(name))
        };
        let context = &mut session.context;
        context.application = told(entry.application).or_else(|| context.application.take());
        context.user = told(entry.user).or_else(|| context.user.take());
        context.database = told(entry.database).or_else(|| context.database.take());
        session
    }

    /// The session of a process has ended.
    fn end(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        if let Some(mut session) = self.sessions.remove(entry.process) {
            session.give_up(out);
        }
    }
}

/// Whether a text is pgpool's own question to a catalog.
pub(super) fn is_own(step: Step<'_>) -> bool {
    const OWN: &[&[u8]] = &[
        b"SELECT version()",
        b"SELECT count(*) FROM pg_class AS c",
        b"SELECT count(*) FROM pg_catalog.pg_class AS c",
        b"SELECT count(*) FROM pg_catalog.pg_proc AS p",
        b"SELECT count(*) FROM (SELECT has_function_privilege(",
        b"SELECT pg_catalog.pg_is_in_recovery()",
        b"SELECT current_setting('transaction_read_only')",
        b"SELECT attname, d.adsrc, coalesce(",
        b"SELECT coalesce(c.oid,0) FROM pg_catalog.pg_class",
        b"SELECT datallowconn FROM pg_database",
    ];
    matches!(step, Step::Query { sql } if OWN.iter().any(|own| sql.starts_with(own)))
}
