//! One session of a log: its statements become rows.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

use super::entry::Entry;
use super::message::Step;
use super::params::params;
use crate::log::records::{Records, set_text};
use crate::log::sessions::{Session, compact};
use crate::sql::{self, Copies, Naming};
use crate::trace::{Kind, Loss, Outcome, Param, Request};

/// Names of prepared statements that are remembered of one session. Preparing one again does no harm.
const NAMES: usize = 10_000;

/// What a log told of a session so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// When the server accepted the connection, and from where; its entries are not accounted for yet.
    pub received: Option<Received>,
    /// It streams WAL, and asks no statements.
    pub replicates: bool,
    /// The row of its end is out.
    pub gone: bool,
    /// The client left without a goodbye.
    pub broken: bool,
    /// A request of which later entries may tell more.
    pending: Option<Pending>,
    /// The text under each name of a prepared statement, by its digest.
    names: HashMap<CompactString, u64>,
    /// Number of the next pipeline group.
    group: u32,
}

/// A connection that was accepted, and may become a session.
#[derive(Debug)]
pub(super) struct Received {
    /// Entries that told of it so far: received, authenticated.
    pub entries: u64,
    pub at_ns: i64,
    pub client: Arc<str>,
}

#[derive(Debug)]
struct Pending {
    row: Request,
    /// Digest of its text.
    text: u64,
    stage: Stage,
    /// How long its earlier steps took.
    spent_ns: u64,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It was logged before it ran, and nothing was told of its end.
    Begun,
    /// It was parsed; what follows tells whether its pipeline group goes on.
    Parsed,
    /// It was bound, and executed next.
    Bound,
    /// The session has begun; the server may still refuse it.
    Connected,
}

impl Session<State> {
    /// A statement was logged before it runs.
    pub fn began(&mut self, entry: &Entry<'_>, step: Step<'_>, out: &mut Records<'_>) {
        if let Some(pending) = self.state.pending.as_mut().filter(|pending| pending.is_bound(step)) {
            out.joined();
            pending.stage = Stage::Begun;
            return;
        }
        out.opened();
        let row = self.open(entry.at_ns, step, entry, out);
        self.state.pending = Some(Pending { row, text: xxh3_64(step.sql()), stage: Stage::Begun, spent_ns: 0 });
    }

    /// A step has ended that was not logged before.
    pub fn ended_step(&mut self, entry: &Entry<'_>, duration_ns: u64, step: Step<'_>, out: &mut Records<'_>) {
        if let Some(pending) = self.state.pending.take_if(|pending| pending.is_bound(step)) {
            out.joined();
            self.finish_after(pending, duration_ns, out);
            return;
        }
        out.opened();
        let start_ns = entry.at_ns.saturating_sub_unsigned(duration_ns);
        let mut row = self.open(start_ns, step, entry, out);
        let (stage, spent_ns) = match step {
            Step::Parse { .. } => {
                row.duration_ns = Some(duration_ns);
                (Stage::Parsed, 0)
            }
            Step::Bind { .. } => (Stage::Bound, duration_ns),
            Step::Query { .. } | Step::Execute { .. } => {
                row.duration_ns = Some(duration_ns);
                self.finish(row, out);
                return;
            }
        };
        self.state.pending = Some(Pending { row, text: xxh3_64(step.sql()), stage, spent_ns });
    }

    /// What was logged before has ended. False where nothing was.
    pub fn ended(&mut self, duration_ns: u64, out: &mut Records<'_>) -> bool {
        let Some(pending) = self.state.pending.take_if(|pending| pending.stage == Stage::Begun) else { return false };
        self.finish_after(pending, duration_ns, out);
        true
    }

    fn finish_after(&mut self, pending: Pending, duration_ns: u64, out: &mut Records<'_>) {
        let Pending { mut row, spent_ns, .. } = pending;
        row.duration_ns = Some(spent_ns.saturating_add(duration_ns));
        self.finish(row, out);
    }

    /// The request of which later entries may have told more is as told so far.
    pub fn settle(&mut self, out: &mut Records<'_>) {
        self.settle_before(None, out);
    }

    /// The log ends.
    pub fn give_up(&mut self, out: &mut Records<'_>) {
        if let Some(pending) = self.state.pending.take_if(|pending| pending.stage == Stage::Begun) {
            // Whether it failed would have been told by what follows.
            out.request(pending.row);
        }
        self.settle(out);
        let received = self.state.received.take();
        (0..received.map_or(0, |received| received.entries)).for_each(|_| out.lost(Loss::LogConnection));
    }

    /// The session has begun.
    pub fn connected(&mut self, row: Request) {
        self.state.pending = Some(Pending { row, text: 0, stage: Stage::Connected, spent_ns: 0 });
    }

    /// The session that has just begun is refused. False where it has asked something already.
    pub fn refused(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) -> bool {
        let connected = |pending: &mut Pending| pending.stage == Stage::Connected;
        let Some(Pending { mut row, .. }) = self.state.pending.take_if(connected) else { return false };
        row.duration_ns = u64::try_from(entry.at_ns.saturating_sub(row.start_ns)).ok();
        set_error(&mut row, entry);
        self.finish(row, out);
        true
    }

    /// A statement failed: the one that was logged before, or one of which nothing else is known. True where it was logged
    /// before.
    pub fn failed(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) -> bool {
        let text = entry.statement.map(xxh3_64);
        let is_same = |pending: &mut Pending| match (pending.stage, text) {
            (Stage::Begun | Stage::Bound, Some(text)) => pending.text == text,
            (Stage::Begun, None) => true,
            _ => false,
        };
        if let Some(Pending { mut row, .. }) = self.state.pending.take_if(is_same) {
            out.joined();
            // The error is the end of the statement, or of the step that was to follow.
            row.duration_ns = u64::try_from(entry.at_ns.saturating_sub(row.start_ns)).ok();
            set_error(&mut row, entry);
            self.finish(row, out);
            return true;
        }
        let Some(sql) = entry.statement else {
            out.lost(Loss::LogMessage);
            return false;
        };
        out.opened();
        // What was parsed well has failed at its next step.
        let parsed = self.state.pending.as_ref().filter(|pending| Some(pending.text) == text);
        let parsed = parsed.and_then(|pending| pending.row.statement.clone());
        let step = match &parsed {
            Some(name) => Step::Execute { name: name.as_bytes(), portal: b"", sql, again: false },
            None => failed_step(entry, sql),
        };
        let mut row = self.open(entry.at_ns, step, entry, out);
        if row.kind == Kind::Prepare {
            row.messages.push('S');
        }
        set_error(&mut row, entry);
        self.finish(row, out);
        false
    }

    /// Puts out a row that is whole.
    fn finish(&mut self, mut row: Request, out: &mut Records<'_>) {
        if row.outcome == Outcome::Unfinished {
            row.outcome = Outcome::Ok;
        }
        if let Some(end_ns) = row.end_ns() {
            self.busy_until(end_ns);
        }
        out.request(row);
    }

    /// Puts out the pending request. One that was only parsed goes on where `next` is the execution of it.
    fn settle_before(&mut self, next: Option<(&[u8], u64)>, out: &mut Records<'_>) -> bool {
        let Some(Pending { mut row, text, stage, .. }) = self.state.pending.take() else { return false };
        let goes_on = stage == Stage::Parsed
            && next
                .is_some_and(|(name, next)| next == text && row.statement.as_deref().map(str::as_bytes) == Some(name));
        match stage {
            Stage::Parsed if !goes_on => row.messages.push('S'),
            // A bound one was executed too fast to be logged.
            Stage::Parsed | Stage::Bound | Stage::Begun | Stage::Connected => {}
        }
        if goes_on {
            self.state.group = self.state.group.saturating_sub(1);
        }
        self.finish(row, out);
        goes_on
    }

    /// Opens the row of a step, after the rows that must have been there.
    fn open(&mut self, start_ns: i64, step: Step<'_>, entry: &Entry<'_>, out: &mut Records<'_>) -> Request {
        let (kind, messages) = match step {
            Step::Query { .. } => (Kind::Query, "Q"),
            Step::Parse { .. } => (Kind::Prepare, "P"),
            // A log does not tell of Describe. Drivers send it, unless they know the answer's form.
            Step::Bind { .. } | Step::Execute { again: false, .. } => (Kind::Execute, "BDES"),
            Step::Execute { again: true, .. } => (Kind::Fetch, "ES"),
        };
        match step {
            Step::Bind { name, sql, .. } | Step::Execute { name, sql, again: false, .. } => {
                let digest = xxh3_64(sql);
                if !self.settle_before(Some((name, digest)), out) {
                    self.prepare(start_ns, name, sql, digest, out);
                }
            }
            Step::Query { .. } | Step::Parse { .. } | Step::Execute { .. } => self.settle(out),
        }
        let sql = step.sql();
        let text = out.text(sql);
        let is_copy = sql::copies(sql);
        let kind = if is_copy.is_some() && kind != Kind::Prepare { Kind::Copy } else { kind };
        if is_copy == Some(Copies::In) && kind == Kind::Copy {
            out.missing(Loss::LogCopyData, 1);
        }
        let mut row = self.row(kind, start_ns);
        row.messages = messages.into();
        set_text(&mut row, &text);
        row.pipeline_group = Some(self.state.group);
        self.state.group = self.state.group.saturating_add(1);
        match step {
            Step::Query { .. } => self.state.follow(sql),
            Step::Parse { name, .. } => {
                row.statement = Some(compact(name));
                self.state.remember(name, xxh3_64(sql));
            }
            Step::Bind { name, portal, .. } | Step::Execute { name, portal, .. } => {
                row.statement = Some(compact(name));
                row.portal = Some(compact(portal));
                self.parameters(&mut row, sql, entry, out);
                self.state.follow(sql);
            }
        }
        row
    }

    /// Makes up the preparation of a statement, unless it is known to be there. The one without a name is prepared for each
    /// execution, as drivers do.
    fn prepare(&mut self, start_ns: i64, name: &[u8], sql: &[u8], digest: u64, out: &mut Records<'_>) {
        let known = self.state.names.get(&compact(name)).copied();
        if !name.is_empty() && known == Some(digest) {
            return;
        }
        let statement = Some(compact(name));
        if !name.is_empty() && known.is_some() {
            // Somebody closed it, and no log tells.
            let mut close = self.row(Kind::Close, start_ns);
            (close.messages, close.outcome) = ("C".into(), Outcome::Ok);
            (close.statement, close.pipeline_group) = (statement.clone(), Some(self.state.group));
            out.made_up(close);
        }
        let text = out.text(sql);
        let mut row = self.row(Kind::Prepare, start_ns);
        (row.messages, row.outcome) = ("P".into(), Outcome::Ok);
        (row.statement, row.pipeline_group) = (statement, Some(self.state.group));
        set_text(&mut row, &text);
        out.made_up(row);
        self.state.remember(name, digest);
    }

    /// Sets the parameters of an execution: those of `DETAIL`, or those of an error's `CONTEXT`.
    fn parameters(&self, row: &mut Request, sql: &[u8], entry: &Entry<'_>, out: &mut Records<'_>) {
        let told = entry.detail.and_then(params).or_else(|| context_params(entry.context?));
        match told {
            Some(params) => row.params = params,
            None if row.kind == Kind::Fetch => {}
            None if sql::has_parameters(sql) => {
                row.truncated = true;
                out.missing(Loss::LogParameters, 1);
            }
            None => {}
        }
    }
}

impl Pending {
    /// Whether it was bound, and this step executes it.
    fn is_bound(&self, step: Step<'_>) -> bool {
        let Step::Execute { name, portal, sql, again: false } = step else { return false };
        let is = |known: &Option<CompactString>, name: &[u8]| {
            known.as_deref().is_some_and(|known| known == compact(name).as_str())
        };
        self.stage == Stage::Bound
            && is(&self.row.statement, name)
            && is(&self.row.portal, portal)
            && self.text == xxh3_64(sql)
    }
}

impl State {
    fn remember(&mut self, name: &[u8], digest: u64) {
        if name.is_empty() {
            return;
        }
        if self.names.len() >= NAMES {
            self.names.clear();
        }
        self.names.insert(compact(name), digest);
    }

    /// What a text does to the names of prepared statements, which SQL shares with the protocol.
    fn follow(&mut self, sql: &[u8]) {
        for naming in sql::namings(sql) {
            match naming {
                Naming::Prepare { name, .. } => self.remember(&name, xxh3_64(sql)),
                Naming::Deallocate { name } => drop(self.names.remove(compact(&name).as_str())),
                Naming::DeallocateAll => self.names.clear(),
            }
        }
    }
}

/// How a statement came that is known only by its failure. With parameters it came in the extended protocol.
fn failed_step<'a>(entry: &Entry<'_>, sql: &'a [u8]) -> Step<'a> {
    match entry.tag {
        Some(b"PARSE") => Step::Parse { name: b"", sql },
        Some(b"BIND") => Step::Execute { name: b"", portal: b"", sql, again: false },
        _ if sql::has_parameters(sql) => Step::Execute { name: b"", portal: b"", sql, again: false },
        _ if entry.context.is_some_and(|context| context_params(context).is_some()) => {
            Step::Execute { name: b"", portal: b"", sql, again: false }
        }
        _ => Step::Query { sql },
    }
}

/// `unnamed portal with parameters: $1 = '…'`, which may stand behind other lines.
fn context_params(context: &[u8]) -> Option<Vec<Param>> {
    const WITH: &[u8] = b" with ";
    let at = memmem::find(context, b" with parameters: $1 = ")?;
    params(context.get(at + WITH.len()..)?)
}

/// Sets what an error says of its request.
pub(super) fn set_error(row: &mut Request, entry: &Entry<'_>) {
    let cancelled = match entry.code {
        Some(code) => code == b"57014",
        None => entry.message.starts_with(b"canceling statement due to "),
    };
    row.outcome = if cancelled { Outcome::Cancelled } else { Outcome::Error };
    row.error_code = entry.code.map(compact);
    row.error_message = Some(String::from_utf8_lossy(primary(entry.message)).into());
}

/// An error's primary message, to which the text log adds where in the statement it is.
fn primary(message: &[u8]) -> &[u8] {
    let digits = message.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = message.get(..message.len() - digits).filter(|_| digits > 0);
    rest.and_then(|rest| rest.strip_suffix(b" at character ")).unwrap_or(message)
}
