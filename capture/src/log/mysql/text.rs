//! Texts of statements, and what they change for those after them.

use std::sync::Arc;

use crate::log::Records;
use crate::log::records::set_text;
use crate::log::sessions::{Context, Session};
use crate::session::mysql::{Follow, follow};
use crate::sql::Dialect;
use crate::sql::mysql::{Mode, Server, loads_local};
use crate::trace::{Kind, Loss, Outcome, Request};

/// How the server reads a session's texts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::log) struct Texts {
    mode: Mode,
}

impl Texts {
    /// Those of a new session of this server.
    pub fn of(server: Option<Server>) -> Self {
        Texts { mode: Mode::of(server.unwrap_or_default()) }
    }

    /// Sets the text of a row. The content of a file that it sends is not in a log, which is counted.
    pub fn set(&self, row: &mut Request, sql: &[u8], out: &mut Records<'_>) {
        set_text(row, &out.shared.text_in(sql, Dialect::Mysql(self.mode)));
        if row.kind == Kind::Query && loads_local(sql, &self.mode) {
            row.kind = Kind::Copy;
            out.missing(Loss::LogCopyData, 1);
        }
    }

    /// The server took a text. What it changes shows in its own row, too.
    pub fn follow(&mut self, row: &mut Request, context: &mut Context, out: &Records<'_>) {
        if row.outcome != Outcome::Ok || row.kind != Kind::Query {
            return;
        }
        match row.sql.as_deref().and_then(follow) {
            Some(Follow::Database(name)) => {
                context.database = Some(out.intern(name.as_bytes()));
                row.database.clone_from(&context.database);
            }
            Some(Follow::SqlMode(value)) => self.mode = self.mode.with_sql_mode(&value),
            None => {}
        }
    }

    /// The session is as new.
    pub fn begin_anew(&mut self) {
        self.mode = Mode::of(self.mode.server);
    }

    /// How the server reads texts now.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }
}

impl<S> Session<S> {
    /// Makes up what must have been there before a request that is told with its database: the session's start, and the choice
    /// of another database, unless it is the request itself that chooses (`sql` is `None`, or a USE).
    pub fn lead(&mut self, start_ns: i64, database: Option<Arc<str>>, sql: Option<&[u8]>, out: &mut Records<'_>) {
        if !self.has_begun() {
            self.context.database = database;
            self.context.joined_midway = true;
            let mut row = self.row(Kind::Connect, start_ns);
            row.outcome = Outcome::Ok;
            return out.made_up(row);
        }
        let Some(database) = database.filter(|database| self.context.database.as_ref() != Some(database)) else {
            return;
        };
        let chooses = sql.is_none_or(|sql| matches!(follow(&String::from_utf8_lossy(sql)), Some(Follow::Database(_))));
        self.context.database = Some(database);
        if !chooses {
            let mut row = self.row(Kind::InitDb, start_ns);
            (row.messages, row.outcome) = ("02".into(), Outcome::Ok);
            out.made_up(row);
        }
    }
}
