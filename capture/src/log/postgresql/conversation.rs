//! Entries become rows, session by session.

use std::borrow::Cow;

use compact_str::CompactString;

use super::entry::{Entry, Severity};
use super::language;
use super::message::{Client, Message};
use super::session::{Received, State, set_error};
use crate::log::Records;
use crate::log::sessions::{Session, Sessions, compact};
use crate::trace::{Kind, Loss, Outcome, Param, Request};

/// The sessions of a PostgreSQL log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
    /// Time of the log's first entry.
    first_ns: Option<i64>,
    /// Entries in a language that is not read.
    foreign: u64,
}

impl Conversations {
    /// Takes the next entry, and says once what becomes of it.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        self.first_ns.get_or_insert(entry.at_ns);
        let message = match entry.severity {
            Severity::Log => Message::read(entry.message),
            Severity::Error | Severity::Fatal | Severity::Note => Message::Other,
        };
        match message {
            Message::Plan => out.lost(Loss::LogPlan),
            Message::Fastpath => out.lost(Loss::LogFastpath),
            Message::Authenticated => match &mut self.session(entry, out).state.received {
                Some(received) => received.entries += 1,
                None => out.lost(Loss::LogConnection),
            },
            Message::Replication => {
                self.session(entry, out).state.replicates = true;
                out.lost(Loss::LogConnection);
            }
            Message::Other if matches!(entry.severity, Severity::Log | Severity::Note) => {
                if is_broken(entry.message) && self.sessions.holds(&name(entry)) {
                    self.session(entry, out).state.broken = true;
                }
                self.foreign += u64::from(language::is_foreign(entry.message));
                out.lost(other(entry));
            }
            Message::Other if entry.is_servers_own() && !self.sessions.holds(&name(entry)) => out.lost(Loss::LogServer),
            Message::Received { client } => self.received(entry, client, out),
            Message::Disconnection => self.disconnection(entry, out),
            _ => self.in_session(entry, message, out),
        }
        for mut session in self.sessions.overdue() {
            session.give_up(out);
        }
    }

    /// Whether there is a session of this name that has begun: when it did is of no use then.
    pub fn has_begun(&self, session: &[u8]) -> bool {
        str::from_utf8(session).ok().and_then(|name| self.sessions.find(name)).is_some_and(Session::has_begun)
    }

    /// What the user must know of a file that ends.
    pub fn end_of_file(&mut self, out: &mut Records<'_>) {
        if self.foreign > 0 {
            out.problem(language::problem(std::mem::take(&mut self.foreign)));
        }
    }

    /// A line is lost that may be in a language that is not read.
    pub fn unread(&mut self, line: &[u8]) {
        self.foreign += u64::from(language::holds_foreign(line));
    }

    /// The log ends.
    pub fn finish(&mut self, out: &mut Records<'_>) {
        for mut session in self.sessions.drain() {
            session.give_up(out);
        }
    }

    /// A connection was accepted. Whether it becomes a session is told later.
    fn received(&mut self, entry: &Entry<'_>, client: Client<'_>, out: &mut Records<'_>) {
        let name = name(entry);
        // The number of a process is used again.
        if let Some(mut before) = self.sessions.remove(&name) {
            before.settle(out);
            before.give_up(out);
        }
        let client = match client.port {
            Some(port) => out.intern(&[client.host, b":", port].concat()),
            None => out.intern(client.host),
        };
        self.sessions.get(&name).state.received = Some(Received { entries: 1, at_ns: entry.at_ns, client });
    }

    fn disconnection(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let first_ns = self.first_ns.unwrap_or(entry.at_ns);
        let session = self.session(entry, out);
        if session.state.replicates {
            out.lost(Loss::LogConnection);
        } else if session.state.gone {
            out.joined();
        } else {
            session.settle(out);
            begin(session, entry, entry.at_ns, first_ns, out);
            out.opened();
            let mut row = session.row(Kind::Disconnect, entry.at_ns);
            // Drivers say goodbye, unless the server complains.
            row.messages = if session.state.broken { "" } else { "X" }.into();
            row.outcome = Outcome::Ok;
            out.request(row);
        }
        if let Some(mut session) = self.sessions.remove(&name(entry)) {
            session.give_up(out);
        }
    }

    fn in_session(&mut self, entry: &Entry<'_>, message: Message<'_>, out: &mut Records<'_>) {
        let first_ns = self.first_ns.unwrap_or(entry.at_ns);
        let session = self.session(entry, out);
        if session.state.replicates {
            return out.lost(Loss::LogServer);
        }
        match message {
            Message::Authorized { user, database, application } => {
                authorized(session, entry, [user, database, application], out);
            }
            Message::Duration { duration_ns } => match session.ended(duration_ns, out) {
                true => out.joined(),
                false => out.lost(Loss::LogDuration),
            },
            Message::Began(step) => {
                begin(session, entry, entry.at_ns, first_ns, out);
                session.began(entry, step, out);
            }
            Message::Ended { duration_ns, step } => {
                begin(session, entry, entry.at_ns.saturating_sub_unsigned(duration_ns), first_ns, out);
                session.ended_step(entry, duration_ns, step, out);
            }
            _ if entry.severity == Severity::Fatal && entry.statement.is_none() => fatal(session, entry, first_ns, out),
            _ => {
                if entry.statement.is_some() {
                    begin(session, entry, entry.at_ns, first_ns, out);
                }
                let was_running = session.failed(entry, out);
                let target = session.number;
                if was_running && entry.message == b"canceling statement due to user request" {
                    self.cancel(target, entry, out);
                }
            }
        }
    }

    /// Makes up the request that cancelled a statement, on a connection of its own.
    fn cancel(&mut self, target: u64, entry: &Entry<'_>, out: &mut Records<'_>) {
        const INT8: u32 = 20;
        let mut row = Request::new(self.sessions.number(), 0, entry.at_ns, Kind::Cancel);
        let value = Some(target.to_string().into_bytes().into_boxed_slice());
        row.params = vec![Param { type_id: INT8, binary: false, value }];
        row.outcome = Outcome::Ok;
        out.made_up(row);
    }

    /// The session of an entry, with what the entry tells of it.
    fn session(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) -> &mut Session<State> {
        let name = name(entry);
        let client = client(entry);
        let is_another = entry.session.is_none() && self.sessions.holds(&name) && {
            let known = &self.sessions.get(&name).context;
            let differs = |known: &Option<std::sync::Arc<str>>, told: Option<&[u8]>| {
                known.as_deref().zip(told).is_some_and(|(known, told)| known.as_bytes() != told && !told.is_empty())
            };
            let elsewhere =
                known.client.as_deref().zip(client.as_deref()).is_some_and(|(a, b)| !is_same_client(a.as_bytes(), b));
            differs(&known.user, entry.user) || differs(&known.database, entry.database) || elsewhere
        };
        if is_another && let Some(mut before) = self.sessions.remove(&name) {
            before.settle(out);
            before.give_up(out);
        }
        let session = self.sessions.get(&name);
        let context = &mut session.context;
        let tell = |known: &mut Option<std::sync::Arc<str>>, told: Option<&[u8]>| {
            if let Some(told) = told.filter(|told| !told.is_empty() && *told != b"[unknown]")
                && known.as_deref().map(str::as_bytes) != Some(told)
            {
                *known = Some(out.intern(told));
            }
        };
        tell(&mut context.user, entry.user);
        tell(&mut context.database, entry.database);
        tell(&mut context.application, entry.application);
        // A prefix may hold the host only, and the connection told the port as well.
        if !context.client.as_deref().zip(client.as_deref()).is_some_and(|(a, b)| is_same_client(a.as_bytes(), b)) {
            tell(&mut context.client, client.as_deref());
        }
        session
    }
}

/// Whether the server complains that a client left without a goodbye.
fn is_broken(message: &[u8]) -> bool {
    [
        &b"unexpected EOF on client connection"[..],
        b"could not receive data from client",
        b"could not send data to client",
    ]
    .iter()
    .any(|start| message.starts_with(start))
}

/// What names the session of an entry: the log's own name for it, or the process, or whose it is.
fn name(entry: &Entry<'_>) -> CompactString {
    let part = |part: Option<&[u8]>| String::from_utf8_lossy(part.unwrap_or_default()).into_owned();
    match (entry.session, entry.pid) {
        (Some(session), _) if !session.is_empty() => compact(session),
        (_, Some(pid)) if !pid.is_empty() => compact_str::format_compact!("[{}]", String::from_utf8_lossy(pid)),
        _ => compact_str::format_compact!("{}|{}|{}", part(entry.client), part(entry.user), part(entry.database)),
    }
}

/// The client of an entry, with `host(port)` of a prefix as `host:port`.
fn client<'a>(entry: &Entry<'a>) -> Option<Cow<'a, [u8]>> {
    let client = entry.client.filter(|client| !client.is_empty() && *client != b"[unknown]")?;
    Some(match client.strip_suffix(b")") {
        Some(client) => client.iter().map(|&byte| if byte == b'(' { b':' } else { byte }).collect(),
        None => Cow::Borrowed(client),
    })
}

/// Whether two addresses may be the same client's: one of them may be without its port.
fn is_same_client(a: &[u8], b: &[u8]) -> bool {
    let without_port = |long: &[u8], short: &[u8]| long.strip_prefix(short).is_some_and(|port| port.starts_with(b":"));
    a == b || without_port(a, b) || without_port(b, a)
}

/// Why an entry is no request.
fn other(entry: &Entry<'_>) -> Loss {
    if entry.is_servers_own() { Loss::LogServer } else { Loss::LogMessage }
}

/// Makes up the start of a session that the log does not tell of: when it began, where the log tells that and goes back that
/// far, or just before its first request.
fn begin(session: &mut Session<State>, entry: &Entry<'_>, start_ns: i64, first_ns: i64, out: &mut Records<'_>) {
    if session.has_begun() {
        return;
    }
    let told = entry.session_start_ns.filter(|&start_ns| start_ns >= first_ns);
    session.context.joined_midway = told.is_none();
    let mut row = session.row(Kind::Connect, told.unwrap_or(start_ns).min(start_ns));
    row.outcome = Outcome::Ok;
    out.made_up(row);
}

/// A session has begun.
fn authorized(
    session: &mut Session<State>,
    entry: &Entry<'_>,
    [user, database, application]: [Option<&[u8]>; 3],
    out: &mut Records<'_>,
) {
    let context = &mut session.context;
    for (known, told) in
        [(&mut context.user, user), (&mut context.database, database), (&mut context.application, application)]
    {
        if let Some(told) = told {
            *known = Some(out.intern(told));
        }
    }
    if session.has_begun() {
        // Somebody else's: the number of a process was used again, and the log does not tell when.
        return out.lost(Loss::LogConnection);
    }
    let mut row = connect(session, entry, out);
    row.outcome = Outcome::Ok;
    session.busy_until(entry.at_ns);
    session.connected(row);
}

/// The row of a start that this entry tells of, together with the one that told that the connection was received.
fn connect(session: &mut Session<State>, entry: &Entry<'_>, out: &mut Records<'_>) -> Request {
    out.opened();
    let Some(received) = session.state.received.take() else { return session.row(Kind::Connect, entry.at_ns) };
    (0..received.entries).for_each(|_| out.joined());
    session.context.client = Some(received.client);
    let mut row = session.row(Kind::Connect, received.at_ns);
    row.duration_ns = u64::try_from(entry.at_ns.saturating_sub(received.at_ns)).ok();
    row
}

/// A session ended by an error, or never began for one.
fn fatal(session: &mut Session<State>, entry: &Entry<'_>, first_ns: i64, out: &mut Records<'_>) {
    let ends = match entry.code {
        Some(code) => (code.starts_with(b"57P") && code != b"57P03") || code.starts_with(b"25P"),
        None => entry.message.starts_with(b"terminating connection"),
    };
    if !ends && session.refused(entry, out) {
        return out.joined();
    }
    if session.state.received.is_none() && (ends || session.has_begun()) {
        session.settle(out);
        begin(session, entry, entry.at_ns, first_ns, out);
        out.opened();
        let mut row = session.row(Kind::Disconnect, entry.at_ns);
        set_error(&mut row, entry);
        row.outcome = Outcome::Ok;
        out.request(row);
        session.state.gone = true;
        return;
    }
    let mut row = connect(session, entry, out);
    set_error(&mut row, entry);
    out.request(row);
}
