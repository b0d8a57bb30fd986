//! Entries of the general log become rows.

use super::account::{Account, Denied};
use super::command::Command;
use super::session::State;
use crate::log::Records;
use crate::log::sessions::{Session, Sessions};
use crate::sql::mysql::Server;
use crate::trace::{Kind, Loss};

/// An entry of the general log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// Its time, nanoseconds since 1970 UTC, nanosecond by nanosecond in the order of the log where stamps are the same.
    pub at_ns: i64,
    /// Number of the connection, which a server uses again after a restart.
    pub connection: &'a str,
    pub command: Command,
    pub argument: &'a [u8],
}

/// The sessions of a general log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
    server: Option<Server>,
}

impl Conversations {
    /// The log was opened, after a start or because somebody had it opened anew: sessions may go on.
    pub fn restarted(&mut self, server: Option<Server>) {
        self.server = server.or(self.server);
    }

    /// Takes the next entry, and says once what becomes of it.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        match entry.command {
            Command::Servers => return out.lost(Loss::LogServer),
            Command::Connect => self.connect(entry, out),
            Command::Quit => {
                self.session(entry).plain(entry, Kind::Disconnect, out);
                if let Some(mut session) = self.sessions.remove(entry.connection) {
                    session.give_up(out);
                }
            }
            _ => self.session(entry).command(entry, out),
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

    fn connect(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        if let Some(denied) = Denied::read(entry.argument) {
            return self.session(entry).denied(entry, &denied, out);
        }
        let account = Account::read(entry.argument).unwrap_or_default();
        if self.sessions.holds(entry.connection) {
            let session = self.session(entry);
            if session.was_denied_before() {
                return session.told_after_denial(&account, out);
            }
            // The server was restarted since.
            if let Some(mut before) = self.sessions.remove(entry.connection) {
                before.give_up(out);
            }
        }
        self.session(entry).connected(entry, &account, out);
    }

    fn session(&mut self, entry: &Entry<'_>) -> &mut Session<State> {
        let is_new = !self.sessions.holds(entry.connection);
        let session = self.sessions.get(entry.connection);
        if is_new {
            session.state = State::of(self.server);
        }
        session
    }
}
