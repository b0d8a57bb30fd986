//! Entries become rows, session by session.

use compact_str::CompactString;

use super::entry::{Entry, Severity};
use super::message::{Client, Message};
use super::session::{Received, State, set_error};
use crate::log::Records;
use crate::log::sessions::{Session, Sessions};
use crate::trace::{Kind, Loss, Outcome};

/// The sessions of a PostgreSQL log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
    /// Time of the log's first entry.
    first_ns: Option<i64>,
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
            Message::Other if matches!(entry.severity, Severity::Log | Severity::Note) || entry.is_servers_own() => {
                out.lost(other(entry));
            }
            Message::Received { client } => self.received(entry, client, out),
            Message::Disconnection => self.disconnection(entry, out),
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
        self.sessions.get(&name).state.received = Some(Received { at_ns: entry.at_ns, client });
    }

    fn disconnection(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let first_ns = self.first_ns.unwrap_or(entry.at_ns);
        let session = self.session(entry, out);
        if session.state.replicates {
            out.lost(Loss::LogConnection);
        } else {
            session.settle(out);
            begin(session, entry, entry.at_ns, first_ns, out);
            out.opened();
            let mut row = session.row(Kind::Disconnect, entry.at_ns);
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
        match message {
            Message::Authenticated if session.state.received.is_some() => return out.lost(Loss::LogConnection),
            Message::Authenticated => return out.lost(Loss::LogConnection),
            Message::Replication => {
                session.state.replicates = true;
                return out.lost(Loss::LogConnection);
            }
            _ if session.state.replicates => return out.lost(Loss::LogServer),
            Message::Authorized { user, database, application } => {
                authorized(session, entry, (user, database, application), out);
                return;
            }
            _ => {}
        }
        let start_ns = match message {
            Message::Ended { duration_ns, .. } => entry.at_ns.saturating_sub_unsigned(duration_ns),
            _ => entry.at_ns,
        };
        match message {
            Message::Duration { duration_ns } => match session.ended(duration_ns, out) {
                true => out.joined(),
                false => out.lost(Loss::LogDuration),
            },
            Message::Began(step) => {
                begin(session, entry, start_ns, first_ns, out);
                session.began(entry, step, out);
            }
            Message::Ended { duration_ns, step } => {
                begin(session, entry, start_ns, first_ns, out);
                session.ended_step(entry, duration_ns, step, out);
            }
            _ if entry.severity == Severity::Fatal && entry.statement.is_none() => fatal(session, entry, first_ns, out),
            _ => {
                if entry.statement.is_some() {
                    begin(session, entry, start_ns, first_ns, out);
                }
                session.failed(entry, out);
            }
        }
    }

    /// The session of an entry, with what the entry tells of it.
    fn session(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) -> &mut Session<State> {
        let name = name(entry);
        let is_another = self.sessions.holds(&name) && {
            let known = &self.sessions.get(&name).context;
            let differs = |known: &Option<std::sync::Arc<str>>, told: Option<&[u8]>| {
                known.as_deref().zip(told).is_some_and(|(known, told)| known.as_bytes() != told && !told.is_empty())
            };
            entry.session.is_none() && (differs(&known.user, entry.user) || differs(&known.database, entry.database))
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
        tell(&mut context.client, entry.client);
        session
    }
}

/// What names the session of an entry: the log's own name for it, or the process, or whose it is.
fn name(entry: &Entry<'_>) -> CompactString {
    let part = |part: Option<&[u8]>| String::from_utf8_lossy(part.unwrap_or_default()).into_owned();
    match (entry.session, entry.pid) {
        (Some(session), _) if !session.is_empty() => CompactString::from_utf8_lossy(session),
        (_, Some(pid)) if !pid.is_empty() => compact_str::format_compact!("[{}]", String::from_utf8_lossy(pid)),
        _ => compact_str::format_compact!("{}|{}|{}", part(entry.client), part(entry.user), part(entry.database)),
    }
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
    (user, database, application): (Option<&[u8]>, Option<&[u8]>, Option<&[u8]>),
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
        // Its process number was used again, and the log does not tell when.
        return out.lost(Loss::LogConnection);
    }
    let received = session.state.received.take();
    let start_ns = received.as_ref().map_or(entry.at_ns, |received| received.at_ns);
    if let Some(received) = &received {
        session.context.client = Some(received.client.clone());
        out.opened();
        out.joined();
    } else {
        out.opened();
    }
    let mut row = session.row(Kind::Connect, start_ns);
    row.duration_ns = received.map(|received| entry.at_ns.saturating_sub(received.at_ns).max(0).unsigned_abs());
    row.outcome = Outcome::Ok;
    out.request(row);
    session.busy_until(entry.at_ns);
}

/// A session ended by an error, or never began for one.
fn fatal(session: &mut Session<State>, entry: &Entry<'_>, first_ns: i64, out: &mut Records<'_>) {
    let received = session.state.received.take();
    let was_running = match entry.code {
        Some(code) => code.starts_with(b"57P") && code != b"57P03" || code.starts_with(b"25P"),
        None => entry.message.starts_with(b"terminating connection"),
    };
    if received.is_none() && (session.has_begun() || was_running) {
        session.settle(out);
        begin(session, entry, entry.at_ns, first_ns, out);
        out.opened();
        let mut row = session.row(Kind::Disconnect, entry.at_ns);
        row.outcome = Outcome::Ok;
        row.error_code = entry.code.map(CompactString::from_utf8_lossy);
        row.error_message = Some(out.intern(entry.message));
        out.request(row);
        return;
    }
    let start_ns = received.as_ref().map_or(entry.at_ns, |received| received.at_ns);
    if let Some(received) = &received {
        session.context.client = Some(received.client.clone());
        out.opened();
        out.joined();
    } else {
        out.opened();
    }
    let mut row = session.row(Kind::Connect, start_ns);
    row.duration_ns = received.map(|received| entry.at_ns.saturating_sub(received.at_ns).max(0).unsigned_abs());
    set_error(&mut row, entry, out);
    out.request(row);
}
