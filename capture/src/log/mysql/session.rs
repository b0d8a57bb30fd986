//! One session of a general log: its commands become rows.

use std::collections::VecDeque;

use compact_str::{CompactString, format_compact};

use super::account::{Account, Denied};
use super::command::Command;
use super::conversation::Entry;
use super::text::Texts;
use crate::log::Records;
use crate::log::sessions::Session;
use crate::session::mysql::{Follow, follow};
use crate::sql::mysql::{Server, prepares_and_executes};
use crate::trace::{Kind, Loss, Outcome, Request};

/// Prepared statements that are remembered of one session.
const PREPARED: usize = 20_000;

/// What a log told of a session so far.
#[derive(Debug, Default)]
pub(super) struct State {
    texts: Texts,
    /// The last request. The next entry of the session tells whether it was refused.
    pending: Option<Pending>,
    /// Numbers of the statements that are prepared. The log does not tell them: they are counted.
    prepared: VecDeque<u32>,
    last_prepared: u32,
    /// Entries of data that were sent ahead of the next execution.
    ahead: u64,
}

#[derive(Debug)]
struct Pending {
    row: Request,
    /// Before version 5.6, that an unknown user was denied stands before his name.
    denied_first: bool,
    /// How many statements it prepares and executes in SQL, of which no entry told yet; found when that matters.
    leads_to: Option<(u32, u32)>,
}

impl Pending {
    fn new(row: Request) -> Self {
        Pending { row, denied_first: false, leads_to: None }
    }
}

impl State {
    /// Of a session with this server.
    pub fn of(server: Option<Server>) -> Self {
        State { texts: Texts::of(server), ..State::default() }
    }
}

impl Session<State> {
    /// The server accepted the user, or tells next that it did not.
    pub fn connected(&mut self, entry: &Entry<'_>, account: &Account<'_>, out: &mut Records<'_>) {
        self.context.joined_midway = false;
        self.is_now(account, out);
        out.opened();
        let mut row = self.row_of(entry, Kind::Connect);
        row.outcome = Outcome::Ok;
        self.state.pending = Some(Pending::new(row));
    }

    /// The server refused a user: the one of the entry before, or of the entry after.
    pub fn denied(&mut self, entry: &Entry<'_>, denied: &Denied<'_>, out: &mut Records<'_>) {
        let asked = |pending: &mut Pending| matches!(pending.row.kind, Kind::Connect | Kind::ChangeUser);
        if let Some(mut pending) = self.state.pending.take_if(asked) {
            refuse(&mut pending.row, denied, out);
            out.joined();
            return out.request(pending.row);
        }
        self.settle(out);
        self.is_now(&Account { user: denied.user, host: denied.host, database: b"" }, out);
        out.opened();
        let mut row = self.row_of(entry, Kind::Connect);
        refuse(&mut row, denied, out);
        self.state.pending = Some(Pending { denied_first: true, ..Pending::new(row) });
    }

    /// Whether the last entry told that somebody was denied, and none told his name before.
    pub fn was_denied_before(&self) -> bool {
        self.state.pending.as_ref().is_some_and(|pending| pending.denied_first)
    }

    /// The name of who was denied.
    pub fn told_after_denial(&mut self, account: &Account<'_>, out: &mut Records<'_>) {
        self.is_now(account, out);
        let Some(mut pending) = self.state.pending.take() else { return };
        self.context.fill(&mut pending.row);
        out.joined();
        out.request(pending.row);
    }

    /// A command with an ordinary row.
    pub fn command(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        match entry.command {
            Command::InitDb => self.init_db(entry, out),
            Command::Query => self.text(entry, out),
            Command::Prepare => self.prepare(entry, out),
            Command::Execute if self.told_by_sql(|(_, executes)| executes) => out.joined(),
            Command::Execute => {
                for _ in 0..std::mem::take(&mut self.state.ahead) {
                    out.joined();
                }
                // The values are put into the text, as the server does for its statement-based replication.
                self.text(entry, out);
            }
            Command::LongData => {
                self.settle(out);
                self.state.ahead += 1;
            }
            Command::Close => self.close(entry, out),
            Command::ChangeUser => self.change_user(entry, out),
            Command::ResetConnection => {
                self.plain(entry, Kind::Reset, out);
                self.begin_anew(out);
            }
            Command::Ping => self.plain(entry, Kind::Ping, out),
            Command::Other(_) => self.plain(entry, Kind::Other, out),
            Command::OfStatement | Command::Connect | Command::Quit | Command::Servers => {
                self.settle(out);
                out.lost(Loss::LogStatement);
            }
        }
    }

    /// A row without more to it, whose outcome the next entry tells.
    pub fn plain(&mut self, entry: &Entry<'_>, kind: Kind, out: &mut Records<'_>) {
        let mut row = self.open(entry, kind, out);
        if let Some(body) = body(entry) {
            row.copy_data.push(body);
        }
        if kind == Kind::Disconnect {
            row.outcome = Outcome::Ok;
        }
        self.wait(row);
    }

    /// The last request is as told so far, and the session went on: no entry tells of an error, except that someone was
    /// denied.
    pub fn settle(&mut self, out: &mut Records<'_>) {
        let Some(Pending { mut row, .. }) = self.state.pending.take() else { return };
        if row.outcome == Outcome::Unfinished {
            row.outcome = Outcome::Ok;
        }
        self.state.texts.follow(&mut row, &mut self.context, out);
        out.request(row);
    }

    /// Nothing more is told of the session.
    pub fn give_up(&mut self, out: &mut Records<'_>) {
        if let Some(pending) = self.state.pending.take() {
            out.request(pending.row);
        }
        self.drop_ahead(out);
    }

    fn init_db(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let Some(denied) = Denied::read(entry.argument) else {
            let mut row = self.open(entry, Kind::InitDb, out);
            self.context.database = Some(out.intern(entry.argument));
            self.context.fill(&mut row);
            row.outcome = Outcome::Ok;
            return self.wait(row);
        };
        // A login with a database, and USE, are refused in the same words.
        let asked = |pending: &mut Pending| match pending.row.kind {
            Kind::Connect | Kind::ChangeUser => {
                pending.row.database.as_deref().map(str::as_bytes) == denied.database
                    && pending.row.outcome == Outcome::Ok
            }
            Kind::Query => {
                let follow = pending.row.sql.as_deref().and_then(follow);
                matches!(follow, Some(Follow::Database(name)) if Some(name.as_bytes()) == denied.database)
            }
            _ => false,
        };
        if let Some(mut pending) = self.state.pending.take_if(asked) {
            refuse(&mut pending.row, &denied, out);
            out.joined();
            return out.request(pending.row);
        }
        let mut row = self.open(entry, Kind::InitDb, out);
        refuse(&mut row, &denied, out);
        self.wait(row);
    }

    fn text(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let mut row = self.open(entry, Kind::Query, out);
        self.state.texts.set(&mut row, entry.argument, out);
        self.wait(row);
    }

    fn prepare(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        if self.told_by_sql(|(prepares, _)| prepares) {
            return out.joined();
        }
        let mut row = self.open(entry, Kind::Prepare, out);
        self.state.texts.set(&mut row, entry.argument, out);
        // Logged once it is prepared.
        row.outcome = Outcome::Ok;
        let state = &mut self.state;
        state.last_prepared = state.last_prepared.wrapping_add(1);
        row.statement = Some(number(state.last_prepared));
        state.prepared.push_back(state.last_prepared);
        if state.prepared.len() > PREPARED {
            state.prepared.pop_front();
        }
        self.wait(row);
    }

    /// SQL's PREPARE and EXECUTE are told twice: as a text, and as what the text led to.
    fn told_by_sql(&mut self, which: impl Fn(&mut (u32, u32)) -> &mut u32) -> bool {
        let Some(Pending { row, leads_to, .. }) = &mut self.state.pending else { return false };
        if row.kind != Kind::Query {
            return false;
        }
        let mode = self.state.texts.mode();
        let sql = row.sql.as_deref().unwrap_or_default();
        let left = which(leads_to.get_or_insert_with(|| prepares_and_executes(sql.as_bytes(), mode)));
        let is_told = *left > 0;
        *left = left.saturating_sub(1);
        is_told
    }

    /// Which statement is closed is not told. Executions are texts here, so that it does not matter to them.
    fn close(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        self.settle(out);
        let Some(oldest) = self.state.prepared.pop_front() else { return out.lost(Loss::LogStatement) };
        let mut row = self.open(entry, Kind::Close, out);
        row.statement = Some(number(oldest));
        row.outcome = Outcome::Ok;
        self.wait(row);
    }

    fn change_user(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let mut row = self.open(entry, Kind::ChangeUser, out);
        self.is_now(&Account::read(entry.argument).unwrap_or_default(), out);
        self.context.fill(&mut row);
        row.outcome = Outcome::Ok;
        self.wait(row);
        self.begin_anew(out);
    }

    /// Nothing of the session's state is left.
    fn begin_anew(&mut self, out: &mut Records<'_>) {
        self.drop_ahead(out);
        self.state.texts.begin_anew();
        self.state.prepared.clear();
    }

    fn drop_ahead(&mut self, out: &mut Records<'_>) {
        for _ in 0..std::mem::take(&mut self.state.ahead) {
            out.lost(Loss::LogStatement);
        }
    }

    /// Opens the row of an entry, after what was before it.
    fn open(&mut self, entry: &Entry<'_>, kind: Kind, out: &mut Records<'_>) -> Request {
        self.settle(out);
        if !self.has_begun() {
            self.context.joined_midway = true;
            let mut row = self.row(Kind::Connect, entry.at_ns);
            row.outcome = Outcome::Ok;
            out.made_up(row);
        }
        out.opened();
        self.row_of(entry, kind)
    }

    fn row_of(&mut self, entry: &Entry<'_>, kind: Kind) -> Request {
        let mut row = self.row(kind, entry.at_ns);
        row.messages = code(entry.command).map_or_else(CompactString::default, |code| format_compact!("{code:02x}"));
        row
    }

    fn wait(&mut self, row: Request) {
        self.state.pending = Some(Pending::new(row));
    }

    /// As whom the session is connected.
    fn is_now(&mut self, account: &Account<'_>, out: &Records<'_>) {
        let told = |name: &[u8]| (!name.is_empty()).then(|| out.intern(name));
        self.context.user = told(account.user);
        self.context.database = told(account.database);
        self.context.client = told(account.host).or_else(|| self.context.client.take());
    }
}

/// The byte of the command that a replay sends.
fn code(command: Command) -> Option<u8> {
    Some(match command {
        Command::Quit => 0x01,
        Command::InitDb => 0x02,
        Command::Query | Command::Execute => 0x03,
        Command::Ping => 0x0e,
        Command::ChangeUser => 0x11,
        Command::Prepare => 0x16,
        Command::Close => 0x19,
        Command::ResetConnection => 0x1f,
        Command::Other(code) => code,
        Command::Connect | Command::LongData | Command::OfStatement | Command::Servers => return None,
    })
}

/// The bytes behind a command, where the log tells them.
fn body(entry: &Entry<'_>) -> Option<Box<[u8]>> {
    match entry.command {
        // The table, and what its columns are to be like.
        Command::Other(0x04) => {
            let blank = memchr::memrchr(b' ', entry.argument)?;
            let (table, columns) = entry.argument.split_at_checked(blank)?;
            Some([table, b"\0", columns.get(1..)?].concat().into())
        }
        Command::Other(0x05 | 0x06) => Some(entry.argument.into()),
        _ => None,
    }
}

fn refuse(row: &mut Request, denied: &Denied<'_>, out: &Records<'_>) {
    row.outcome = Outcome::Error;
    row.error_code = Some(CompactString::const_new(denied.code()));
    row.error_message = Some(out.intern(denied.message));
}

fn number(statement: u32) -> CompactString {
    format_compact!("{statement}")
}
