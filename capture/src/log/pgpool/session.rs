//! One client of a process: what it sent becomes rows.
//!
//! A log may tell a request up to three times: as the client's message, as a statement, and as what was sent to each node. The
//! first that comes opens the row, and the others join it.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;

use super::conversation::{Holds, is_own};
use super::message::Target;
use super::{Entry, Front, Step};
use crate::log::records::{Records, set_text};
use crate::log::sessions::Session;
use crate::sql::{Copies, copies, has_parameters};
use crate::trace::{Kind, Loss, Outcome, Request};

/// Names of prepared statements and portals that are remembered of one session.
const NAMES: usize = 10_000;
/// Rows that wait until the end of the session tells its user and database.
const HELD: usize = 2_000;

/// What a log told of a session so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The last request, of which later entries may tell more.
    pending: Option<Pending>,
    /// The text under each name of a prepared statement.
    statements: HashMap<CompactString, Arc<[u8]>>,
    /// The text of each portal.
    portals: HashMap<CompactString, Arc<[u8]>>,
    /// Number of the next pipeline group.
    group: u32,
    /// The client said goodbye; what follows is pgpool's own.
    goodbye: bool,
    /// Rows that are whole, except for user and database.
    held: Vec<Request>,
    /// There were too many of them.
    overflown: bool,
}

#[derive(Debug)]
struct Pending {
    row: Request,
    /// Its text, where it is known.
    sql: Option<Arc<[u8]>>,
    /// It was told as a statement.
    stated: bool,
    /// The nodes that it was sent to.
    nodes: Vec<CompactString>,
}

impl Pending {
    /// Whether it is of the extended protocol.
    fn is_extended(&self) -> bool {
        matches!(self.row.kind, Kind::Prepare | Kind::Execute | Kind::Fetch | Kind::Close | Kind::Other)
    }
}

impl Session<State> {
    /// A client connected.
    pub fn received(&mut self, entry: &Entry<'_>, host: &[u8], port: Option<&[u8]>, out: &mut Records<'_>) {
        self.context.client = Some(client(host, port, out));
        out.opened();
        let mut row = self.row(Kind::Connect, entry.at_ns);
        row.outcome = Outcome::Ok;
        self.wait(row, None);
    }

    /// The client is gone. Now it is told who it was.
    pub fn disconnected(
        &mut self,
        entry: &Entry<'_>,
        (user, database): (&[u8], &[u8]),
        (host, port): (&[u8], Option<&[u8]>),
        holds: Holds,
        out: &mut Records<'_>,
    ) {
        let told = |name: &[u8]| (!name.is_empty()).then(|| out.intern(name));
        let context = &mut self.context;
        context.user = told(user).or_else(|| context.user.take());
        context.database = told(database).or_else(|| context.database.take());
        context.client = Some(client(host, port, out));
        if self.state.goodbye {
            return out.joined();
        }
        // Drivers say goodbye, and where messages are told, one that is missing was not sent.
        let messages = if holds.client { "" } else { "X" };
        let mut row = self.open(entry, Kind::Disconnect, messages, None, out);
        row.outcome = Outcome::Ok;
        self.wait(row, None);
    }

    /// A message of the client.
    pub fn front(&mut self, entry: &Entry<'_>, front: Front<'_>, out: &mut Records<'_>) {
        match front {
            Front::Query { sql } => self.query(entry, sql, out),
            Front::Parse { name, sql } => {
                let mut row = self.open(entry, Kind::Prepare, "P", Some(sql), out);
                row.statement = Some(text(name));
                remember(&mut self.state.statements, name, sql);
                self.wait(row, Some(sql));
            }
            Front::Bind { portal, name } => {
                let sql = self.state.statements.get(&text(name)).cloned();
                let mut row = self.open(entry, Kind::Execute, "B", sql.as_deref(), out);
                (row.statement, row.portal) = (Some(text(name)), Some(text(portal)));
                if let Some(sql) = &sql {
                    remember(&mut self.state.portals, portal, sql);
                }
                self.wait(row, sql.as_deref());
            }
            Front::Describe(target) => self.describe(entry, target, out),
            Front::Close(target) => {
                let mut row = self.open(entry, Kind::Close, "C", None, out);
                match target {
                    Target::Statement(name) => {
                        self.state.statements.remove(&text(name));
                        row.statement = Some(text(name));
                    }
                    Target::Portal(name) => {
                        self.state.portals.remove(&text(name));
                        row.portal = Some(text(name));
                    }
                }
                self.wait(row, None);
            }
            Front::Execute { portal } => self.execute(entry, portal, out),
            Front::Sync => {
                if !self.adds('S', Pending::is_extended, out) {
                    let row = self.open(entry, Kind::Other, "S", None, out);
                    self.wait(row, None);
                }
                self.state.group = self.state.group.saturating_add(1);
            }
            Front::Flush => {
                if !self.adds('H', Pending::is_extended, out) {
                    let row = self.open(entry, Kind::Other, "H", None, out);
                    self.wait(row, None);
                }
            }
            Front::Copy => match &self.state.pending {
                // Its data are not told.
                Some(pending) if pending.row.kind == Kind::Copy => out.joined(),
                _ => out.lost(Loss::LogMessage),
            },
            Front::Terminate => {
                let mut row = self.open(entry, Kind::Disconnect, "X", None, out);
                row.outcome = Outcome::Ok;
                self.wait(row, None);
                self.state.goodbye = true;
            }
            Front::Call | Front::Other => out.lost(Loss::LogMessage),
        }
    }

    /// `log_statement`: before a query, and before each execution.
    pub fn statement(&mut self, entry: &Entry<'_>, sql: &[u8], holds: Holds, out: &mut Records<'_>) {
        if let Some(pending) = &mut self.state.pending
            && !pending.stated
            && pending.sql.as_deref() == Some(sql)
            && pending.row.kind != Kind::Prepare
        {
            pending.stated = true;
            return out.joined();
        }
        // What the client sent was told already; this is pgpool's own, such as the reset of a connection.
        if self.state.goodbye || holds.client {
            return out.lost(Loss::LogServer);
        }
        if has_parameters(sql) {
            self.extended(entry, sql, "BDES", out);
        } else {
            self.query(entry, sql, out);
        }
        if let Some(pending) = &mut self.state.pending {
            pending.stated = true;
        }
    }

    /// `log_per_node_statement`: what was sent to a node.
    pub fn node(&mut self, entry: &Entry<'_>, node: &[u8], step: Step<'_>, holds: Holds, out: &mut Records<'_>) {
        let node = text(node);
        if self.state.goodbye {
            return out.lost(Loss::LogServer);
        }
        let (kind, sql) = match step {
            Step::Query { sql } => (None, sql),
            Step::Parse { sql } => (Some(Kind::Prepare), sql),
            Step::Bind { sql } => (Some(Kind::Execute), sql),
            Step::Execute { sql } => (None, sql),
            Step::Letter(letter) => return self.letter(&node, letter, holds, out),
        };
        let is_execute = matches!(step, Step::Execute { .. });
        if let Some(pending) = &mut self.state.pending
            && kind.is_none_or(|kind| kind == pending.row.kind)
            && (kind.is_some() || pending.row.kind != Kind::Prepare)
        {
            // A name that was prepared before the log.
            if pending.sql.is_none() && matches!(step, Step::Bind { .. }) {
                pending.sql = Some(sql.into());
                set_text(&mut pending.row, &out.text(sql));
            }
            let is_told = holds.client || holds.statements && matches!(step, Step::Query { .. });
            let is_new = !pending.nodes.contains(&node);
            if pending.sql.as_deref() == Some(sql) && (is_told || is_new || is_execute) {
                if is_execute && !holds.client && !pending.row.messages.contains('E') {
                    pending.row.messages.push('E');
                }
                if is_new {
                    pending.nodes.push(node);
                }
                return out.joined();
            }
        }
        let announced = holds.client || holds.statements && matches!(step, Step::Query { .. });
        if announced || is_own(step) {
            return out.lost(Loss::LogServer);
        }
        match step {
            Step::Query { sql } => self.query(entry, sql, out),
            Step::Parse { sql } => {
                let mut row = self.open(entry, Kind::Prepare, "P", Some(sql), out);
                row.statement = Some(CompactString::default());
                remember(&mut self.state.statements, b"", sql);
                self.wait(row, Some(sql));
            }
            Step::Bind { sql } => self.extended(entry, sql, "B", out),
            Step::Execute { sql } => self.extended(entry, sql, "BE", out),
            Step::Letter(_) => {}
        }
        if let Some(pending) = &mut self.state.pending {
            pending.nodes.push(node);
        }
    }

    /// An error or a notice: an error, unless the next entry says otherwise.
    pub fn complaint(&mut self, sql: &[u8], message: &[u8], out: &mut Records<'_>) {
        match &mut self.state.pending {
            Some(pending) if pending.sql.as_deref() == Some(sql) => {
                fail(&mut pending.row, message, out);
                out.joined();
            }
            _ => out.lost(Loss::LogMessage),
        }
    }

    /// An error of the last request, or of one in its pipeline group.
    pub fn error(&mut self, message: &[u8], out: &mut Records<'_>) {
        match &mut self.state.pending {
            Some(pending) => {
                fail(&mut pending.row, message, out);
                out.joined();
            }
            None => out.lost(Loss::LogMessage),
        }
    }

    /// A notice or a warning, which the entry before may have told, too.
    pub fn notice(&mut self, message: &[u8], out: &mut Records<'_>) {
        let Some(Pending { row, .. }) = &mut self.state.pending else { return out.lost(Loss::LogMessage) };
        if row.error_message.as_deref().map(str::as_bytes) == Some(message) {
            (row.outcome, row.error_message) = (Outcome::Unfinished, None);
        }
        row.warnings = Some(row.warnings.unwrap_or(0).saturating_add(1));
        out.joined();
    }

    /// A node refused the session.
    pub fn refused(&mut self, message: &[u8], out: &mut Records<'_>) {
        match &mut self.state.pending {
            Some(pending) if pending.row.kind == Kind::Connect => {
                fail(&mut pending.row, message, out);
                out.joined();
            }
            _ => out.lost(Loss::LogMessage),
        }
    }

    /// The last request is as told so far, and the session went on.
    pub fn settle(&mut self, out: &mut Records<'_>) {
        let Some(mut pending) = self.state.pending.take() else { return };
        if pending.row.outcome == Outcome::Unfinished {
            pending.row.outcome = Outcome::Ok;
        }
        self.finish(pending, out);
    }

    /// Nothing more is told of the session.
    pub fn give_up(&mut self, out: &mut Records<'_>) {
        if let Some(pending) = self.state.pending.take() {
            self.finish(pending, out);
        }
        self.release(out);
    }

    fn finish(&mut self, pending: Pending, out: &mut Records<'_>) {
        let Pending { mut row, sql, nodes, .. } = pending;
        if !nodes.is_empty() {
            row.node = Some(out.intern(nodes.join(",").as_bytes()));
        }
        if row.kind == Kind::Execute {
            match &sql {
                None => out.missing(Loss::UnknownStatement, 1),
                Some(sql) if has_parameters(sql) => {
                    row.truncated = true;
                    out.missing(Loss::LogParameters, 1);
                }
                Some(_) => {}
            }
        }
        self.state.held.push(row);
        if self.state.overflown || self.state.held.len() >= HELD {
            self.state.overflown = true;
            self.release(out);
        }
    }

    /// Rows come out, with the user and the database as far as they are known.
    fn release(&mut self, out: &mut Records<'_>) {
        for mut row in std::mem::take(&mut self.state.held) {
            row.user = row.user.or_else(|| self.context.user.clone());
            row.database = row.database.or_else(|| self.context.database.clone());
            out.request(row);
        }
    }

    fn query(&mut self, entry: &Entry<'_>, sql: &[u8], out: &mut Records<'_>) {
        let copies = copies(sql);
        let kind = if copies.is_some() { Kind::Copy } else { Kind::Query };
        if copies == Some(Copies::In) {
            out.missing(Loss::LogCopyData, 1);
        }
        let row = self.open(entry, kind, "Q", Some(sql), out);
        self.state.group = self.state.group.saturating_add(1);
        self.wait(row, Some(sql));
    }

    /// An execution of which only the text is told: of the statement without a name, which is prepared before it.
    fn extended(&mut self, entry: &Entry<'_>, sql: &[u8], messages: &str, out: &mut Records<'_>) {
        self.settle(out);
        self.begin(entry, out);
        if self.state.statements.get("").is_none_or(|known| **known != *sql) {
            let mut row = self.row(Kind::Prepare, entry.at_ns);
            (row.messages, row.outcome) = ("P".into(), Outcome::Ok);
            (row.statement, row.pipeline_group) = (Some(CompactString::default()), Some(self.state.group));
            set_text(&mut row, &out.text(sql));
            remember(&mut self.state.statements, b"", sql);
            self.made_up(row, out);
        }
        let mut row = self.open(entry, Kind::Execute, messages, Some(sql), out);
        (row.statement, row.portal) = (Some(CompactString::default()), Some(CompactString::default()));
        if messages.ends_with('S') {
            self.state.group = self.state.group.saturating_add(1);
        }
        self.wait(row, Some(sql));
    }

    fn describe(&mut self, entry: &Entry<'_>, target: Target<'_>, out: &mut Records<'_>) {
        let is_it = |pending: &Pending| match target {
            Target::Statement(name) => pending.row.kind == Kind::Prepare && pending.row.statement == Some(text(name)),
            Target::Portal(name) => pending.row.kind == Kind::Execute && pending.row.portal == Some(text(name)),
        };
        if self.adds('D', is_it, out) {
            return;
        }
        let mut row = self.open(entry, Kind::Other, "D", None, out);
        match target {
            Target::Statement(name) => row.statement = Some(text(name)),
            Target::Portal(name) => row.portal = Some(text(name)),
        }
        self.wait(row, None);
    }

    fn execute(&mut self, entry: &Entry<'_>, portal: &[u8], out: &mut Records<'_>) {
        let is_bound = |pending: &Pending| {
            pending.row.kind == Kind::Execute
                && pending.row.portal == Some(text(portal))
                && !pending.row.messages.contains('E')
        };
        if self.adds('E', is_bound, out) {
            return;
        }
        let sql = self.state.portals.get(&text(portal)).cloned();
        let mut row = self.open(entry, Kind::Fetch, "E", sql.as_deref(), out);
        row.portal = Some(text(portal));
        self.wait(row, sql.as_deref());
    }

    /// A message that is told only by its letter.
    fn letter(&mut self, node: &CompactString, letter: u8, holds: Holds, out: &mut Records<'_>) {
        let Some(pending) = &mut self.state.pending else { return out.lost(Loss::LogServer) };
        if !pending.nodes.contains(node) {
            pending.nodes.push(node.clone());
        }
        let letter = char::from(letter);
        if !holds.client && matches!(letter, 'D' | 'S') && !pending.row.messages.contains(letter) {
            pending.row.messages.push(letter);
            self.state.group = self.state.group.saturating_add(u32::from(letter == 'S'));
        }
        out.joined();
    }

    /// Adds a message to the last request, where it belongs to it. Nothing follows a Sync.
    fn adds(&mut self, message: char, belongs: impl Fn(&Pending) -> bool, out: &mut Records<'_>) -> bool {
        let Some(pending) = &mut self.state.pending else { return false };
        if pending.row.messages.contains('S') || !belongs(pending) {
            return false;
        }
        pending.row.messages.push(message);
        out.joined();
        true
    }

    /// Opens the row of an entry, after what was before it.
    fn open(
        &mut self,
        entry: &Entry<'_>,
        kind: Kind,
        messages: &str,
        sql: Option<&[u8]>,
        out: &mut Records<'_>,
    ) -> Request {
        self.settle(out);
        self.begin(entry, out);
        out.opened();
        let mut row = self.row(kind, entry.at_ns);
        row.messages = messages.into();
        if kind != Kind::Disconnect {
            row.pipeline_group = Some(self.state.group);
        }
        if let Some(sql) = sql {
            set_text(&mut row, &out.text(sql));
        }
        row
    }

    /// Makes up the start of a session that the log does not tell of.
    fn begin(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        if !self.has_begun() {
            self.context.joined_midway = true;
            let mut row = self.row(Kind::Connect, entry.at_ns);
            row.outcome = Outcome::Ok;
            self.made_up(row, out);
        }
    }

    /// A row that no entry tells of, in its place among the others.
    fn made_up(&mut self, row: Request, out: &mut Records<'_>) {
        out.statistics.made_up += 1;
        self.state.held.push(row);
    }

    fn wait(&mut self, row: Request, sql: Option<&[u8]>) {
        let sql = sql.map(Arc::from);
        self.state.pending = Some(Pending { row, sql, stated: false, nodes: Vec::new() });
    }
}

fn client(host: &[u8], port: Option<&[u8]>, out: &Records<'_>) -> Arc<str> {
    match port {
        Some(port) => out.intern(&[host, b":", port].concat()),
        None => out.intern(host),
    }
}

fn fail(row: &mut Request, message: &[u8], out: &Records<'_>) {
    let cancelled = message.starts_with(b"canceling statement due to ");
    row.outcome = if cancelled { Outcome::Cancelled } else { Outcome::Error };
    row.error_message = Some(out.intern(message));
}

fn remember(names: &mut HashMap<CompactString, Arc<[u8]>>, name: &[u8], sql: &[u8]) {
    if names.len() >= NAMES {
        names.clear();
    }
    names.insert(text(name), sql.into());
}

fn text(name: &[u8]) -> CompactString {
    CompactString::from_utf8_lossy(name)
}
