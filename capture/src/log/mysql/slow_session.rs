//! Entries of the slow log become rows.

use std::sync::Arc;

use compact_str::{CompactString, format_compact};

use super::command::Command;
use super::fields::Fields;
use super::text::Texts;
use crate::log::Records;
use crate::log::lanes::Lanes;
use crate::log::sessions::{Session, Sessions};
use crate::sql::mysql::Server;
use crate::trace::{Kind, Loss, Outcome};

/// `ER_QUERY_INTERRUPTED`: the statement was killed.
const INTERRUPTED: u64 = 1317;
/// What the times of requests that follow one another may overlap by.
const TOLERANCE_NS: i64 = 1_000_000_000;

/// An entry of the slow log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// When the statement began, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    pub fields: &'a Fields,
    /// The identity that it generated.
    pub insert_id: Option<u64>,
    /// Another command than a statement.
    pub command: Option<&'a [u8]>,
    pub sql: &'a [u8],
}

/// The sessions of a slow log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<Texts>,
    lanes: Lanes,
    server: Option<Server>,
}

impl Conversations {
    /// The log was opened, after a start or because somebody had it opened anew: sessions may go on.
    pub fn restarted(&mut self, server: Option<Server>) {
        self.server = server.or(self.server);
    }

    /// Takes the next entry, and says once what becomes of it.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let command = match entry.command {
            None => Command::Query,
            Some(name) => Command::named(name).unwrap_or(Command::Servers),
        };
        match command {
            // A preparation is told without its text.
            Command::Prepare | Command::Execute | Command::LongData | Command::Close | Command::OfStatement => {
                return out.lost(Loss::LogStatement);
            }
            Command::Servers => return out.lost(Loss::LogServer),
            _ => {}
        }
        let name = self.name(entry);
        self.session(&name, entry, out).ended(entry, command, out);
        if command == Command::Quit {
            self.sessions.remove(&name);
        }
        // None of them has anything that waits.
        self.sessions.overdue();
    }

    /// The log ends.
    pub fn finish(&mut self, _: &mut Records<'_>) {
        self.sessions.drain();
    }

    /// What names the session of an entry. Before version 5.6, MySQL told only who asked.
    fn name(&mut self, entry: &Entry<'_>) -> CompactString {
        match &entry.fields.connection {
            Some(number) => number.clone(),
            None => {
                let [user, client] =
                    [&entry.fields.user, &entry.fields.client].map(|part| part.as_deref().unwrap_or(""));
                let who = format!("{user}@{client}");
                self.lanes.name(&who, entry.start_ns, entry.end_ns, TOLERANCE_NS)
            }
        }
    }

    fn session(&mut self, name: &str, entry: &Entry<'_>, out: &Records<'_>) -> &mut Session<Texts> {
        let is_another = self.sessions.holds(name) && {
            // Numbers begin anew when the server does.
            let context = &self.sessions.get(name).context;
            let differs = |known: &Option<Arc<str>>, told: &Option<CompactString>| {
                known.as_deref().zip(told.as_deref()).is_some_and(|(known, told)| known != told)
            };
            differs(&context.user, &entry.fields.user) || differs(&context.client, &entry.fields.client)
        };
        if is_another {
            self.sessions.remove(name);
        }
        let is_new = !self.sessions.holds(name);
        let session = self.sessions.get(name);
        if is_new {
            session.state = Texts::of(self.server);
        }
        let context = &mut session.context;
        for (known, told) in [(&mut context.user, &entry.fields.user), (&mut context.client, &entry.fields.client)] {
            if told.is_some() {
                *known = one_copy(told, known, out);
            }
        }
        session
    }
}

/// The one copy of a name. Most are the known one.
fn one_copy(told: &Option<CompactString>, known: &Option<Arc<str>>, out: &Records<'_>) -> Option<Arc<str>> {
    let told = told.as_deref()?;
    let same = known.as_ref().filter(|known| ***known == *told);
    Some(same.map_or_else(|| out.intern(told.as_bytes()), Arc::clone))
}

impl Session<Texts> {
    /// A request has ended.
    fn ended(&mut self, entry: &Entry<'_>, command: Command, out: &mut Records<'_>) {
        let fields = entry.fields;
        if command == Command::Connect && self.has_begun() {
            return out.lost(Loss::LogMessage);
        }
        let start_ns = entry.start_ns;
        let (kind, code) = match command {
            Command::Connect => (Kind::Connect, None),
            Command::Quit => (Kind::Disconnect, Some(0x01)),
            Command::InitDb => (Kind::InitDb, Some(0x02)),
            Command::Ping => (Kind::Ping, Some(0x0e)),
            Command::ChangeUser => (Kind::ChangeUser, Some(0x11)),
            Command::ResetConnection => (Kind::Reset, Some(0x1f)),
            Command::Other(code) => (Kind::Other, Some(code)),
            _ => (Kind::Query, Some(0x03)),
        };
        let database = one_copy(&fields.database, &self.context.database, out);
        if kind == Kind::Connect {
            self.context.database = database;
        } else {
            let chooses = matches!(kind, Kind::InitDb | Kind::ChangeUser);
            self.lead(start_ns, database, (!chooses).then_some(entry.sql), out);
        }
        out.opened();
        let mut row = self.row(kind, start_ns);
        row.messages = code.map_or_else(CompactString::default, |code| format_compact!("{code:02x}"));
        row.duration_ns = fields.duration_ns;
        row.rows = fields.rows;
        row.affected = fields.affected;
        row.last_insert_id = entry.insert_id.filter(|id| *id > 0);
        let interrupted = fields.errno == Some(INTERRUPTED) || fields.killed == Some(INTERRUPTED);
        row.outcome = match fields.errno {
            _ if interrupted => Outcome::Cancelled,
            None | Some(0) => Outcome::Ok,
            Some(_) => Outcome::Error,
        };
        row.error_code = match row.outcome {
            Outcome::Cancelled => Some(format_compact!("{INTERRUPTED}")),
            _ => fields.errno.filter(|errno| *errno > 0).map(|errno| format_compact!("{errno}")),
        };
        if kind == Kind::Query {
            self.state.set(&mut row, entry.sql, out);
        }
        self.state.follow(&mut row, &mut self.context, out);
        if matches!(kind, Kind::ChangeUser | Kind::Reset) {
            self.state.begin_anew();
        }
        if let Some(end_ns) = row.end_ns() {
            self.busy_until(end_ns);
        }
        out.request(row);
    }
}
