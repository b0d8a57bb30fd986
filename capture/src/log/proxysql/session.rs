//! Events become rows, session by session.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::{CompactString, format_compact};
use xxhash_rust::xxh3::xxh3_64;

use super::{Asked, Event};
use crate::log::Records;
use crate::log::mysql::Texts;
use crate::log::sessions::{Session, Sessions};
use crate::sql::mysql::has_parameters;
use crate::trace::{Kind, Loss, Outcome, Request};

/// `ER_QUERY_INTERRUPTED`: the statement was killed.
const INTERRUPTED: u64 = 1317;
/// Prepared statements that are remembered of one session. Preparing one again does no harm.
const PREPARED: usize = 10_000;

/// The sessions of an events log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
}

#[derive(Debug, Default)]
struct State {
    texts: Texts,
    /// The text of each statement that is prepared, by its digest.
    prepared: HashMap<u32, u64>,
    /// Numbers of the texts, where the log has none: before version 2.4.6.
    numbers: HashMap<u64, u32>,
}

impl Conversations {
    /// Takes the next event.
    pub fn event(&mut self, event: &Event<'_>, out: &mut Records<'_>) {
        let name = format_compact!("{}", event.thread);
        if self.sessions.holds(&name) {
            // Numbers begin anew when ProxySQL does.
            let context = &self.sessions.get(&name).context;
            let is = |known: &Option<Arc<str>>, told: &[u8]| {
                known.as_deref().is_none_or(|known| told.is_empty() || *known == *String::from_utf8_lossy(told))
            };
            if !is(&context.client, &event.client) {
                self.sessions.remove(&name);
            }
        }
        let session = self.sessions.get(&name);
        let told = |name: &[u8]| (!name.is_empty()).then(|| out.intern(name));
        session.context.user = told(&event.user).or_else(|| session.context.user.take());
        session.context.client = told(&event.client).or_else(|| session.context.client.take());
        session.ended(event, out);
        // Nothing waits in any of them.
        self.sessions.overdue();
    }

    /// The log ends.
    pub fn finish(&mut self) {
        self.sessions.drain();
    }
}

impl Session<State> {
    fn ended(&mut self, event: &Event<'_>, out: &mut Records<'_>) {
        let sql = event.sql.as_deref().unwrap_or_default();
        let database = (!event.database.is_empty()).then(|| out.intern(&event.database));
        self.lead(event.start_ns, database, Some(sql), out);
        let number = match event.asked {
            Asked::Query => None,
            Asked::Prepare => Some(self.prepares(event, sql, out)),
            Asked::Execute => Some(self.executes(event, sql, out)),
        };
        out.opened();
        let (kind, code) = match event.asked {
            Asked::Query => (Kind::Query, "03"),
            Asked::Prepare => (Kind::Prepare, "16"),
            Asked::Execute => (Kind::Execute, "17"),
        };
        let mut row = self.row(kind, event.start_ns);
        row.messages = code.into();
        row.statement = number.map(|number| format_compact!("{number}"));
        self.text(&mut row, event, out);
        if event.asked == Asked::Execute {
            self.parameters(&mut row, event, sql, out);
        }
        answer(&mut row, event, out);
        self.state.texts.follow(&mut row, &mut self.context, out);
        if row.kind == Kind::Prepare
            && row.outcome == Outcome::Ok
            && let Some(number) = number
        {
            self.remember(number, sql);
        }
        self.busy_until(event.start_ns.saturating_add_unsigned(event.duration_ns));
        out.request(row);
    }

    fn text(&self, row: &mut Request, event: &Event<'_>, out: &mut Records<'_>) {
        if let Some(sql) = &event.sql {
            self.state.texts.set(row, sql, out);
        }
        if event.replaced || event.sql.is_none() {
            row.truncated = true;
            out.missing(Loss::LogText, 1);
        }
    }

    fn parameters(&self, row: &mut Request, event: &Event<'_>, sql: &[u8], out: &mut Records<'_>) {
        match &event.params {
            Some(params) if !params.is_empty() => {
                row.param_types = Some(params.iter().map(|param| param.type_id).collect());
                row.params.clone_from(params);
            }
            // With mysql-eventslog_stmt_parameters off there is an empty list.
            _ if has_parameters(sql, self.state.texts.mode()) => {
                row.truncated = true;
                out.missing(Loss::LogParameters, 1);
            }
            _ => {}
        }
    }

    /// The number of a statement that is prepared now. One of the same number was closed before, and the log does not tell when.
    fn prepares(&mut self, event: &Event<'_>, sql: &[u8], out: &mut Records<'_>) -> u32 {
        let number = event.statement.filter(|number| *number > 0).unwrap_or_else(|| self.number(sql));
        if self.state.prepared.remove(&number).is_some() {
            self.closes(number, event.start_ns, out);
        }
        number
    }

    /// The number of a statement that is executed. Where its preparation is not in the log, it is made up.
    fn executes(&mut self, event: &Event<'_>, sql: &[u8], out: &mut Records<'_>) -> u32 {
        let number = event.statement.filter(|number| *number > 0).unwrap_or_else(|| self.number(sql));
        let known = self.state.prepared.get(&number).copied();
        if known == Some(xxh3_64(sql)) {
            return number;
        }
        if known.is_some() {
            self.closes(number, event.start_ns, out);
        }
        let mut row = self.made_up(Kind::Prepare, "16", number, event.start_ns);
        self.state.texts.set(&mut row, sql, out);
        out.made_up(row);
        self.remember(number, sql);
        number
    }

    fn closes(&mut self, number: u32, at_ns: i64, out: &mut Records<'_>) {
        let row = self.made_up(Kind::Close, "19", number, at_ns);
        out.made_up(row);
    }

    fn made_up(&mut self, kind: Kind, messages: &str, number: u32, at_ns: i64) -> Request {
        let mut row = self.row(kind, at_ns);
        (row.messages, row.outcome) = (messages.into(), Outcome::Ok);
        row.statement = Some(format_compact!("{number}"));
        row
    }

    fn remember(&mut self, number: u32, sql: &[u8]) {
        if self.state.prepared.len() >= PREPARED {
            self.state.prepared.clear();
        }
        self.state.prepared.insert(number, xxh3_64(sql));
    }

    /// The number of a text, where the log has none.
    fn number(&mut self, sql: &[u8]) -> u32 {
        let numbers = &mut self.state.numbers;
        if numbers.len() >= PREPARED {
            numbers.clear();
        }
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX).saturating_add(1);
        *numbers.entry(xxh3_64(sql)).or_insert(next)
    }
}

/// Sets what came back, and from where.
fn answer(row: &mut Request, event: &Event<'_>, out: &Records<'_>) {
    row.duration_ns = Some(event.duration_ns);
    row.rows = event.rows;
    row.affected = event.affected;
    row.last_insert_id = event.last_insert_id;
    row.position = event.gtid.as_deref().map(CompactString::from_utf8_lossy);
    // A version that does not tell of errors has only what went well, as far as anybody knows.
    row.outcome = match event.errno {
        None | Some(0) => Outcome::Ok,
        Some(INTERRUPTED) => Outcome::Cancelled,
        Some(_) => Outcome::Error,
    };
    row.error_code = event.errno.filter(|errno| *errno > 0).map(|errno| format_compact!("{errno}"));
    row.error_message = event.error.as_deref().map(|text| out.intern(text));
    row.node = Some(match event.hostgroup {
        Some(hostgroup) => {
            let server = String::from_utf8_lossy(&event.server);
            out.intern(format!("{hostgroup} {server}").trim_end().as_bytes())
        }
        None => out.intern(b"-1"),
    });
}
