//! What the server answers: its packets complete the rows.

use std::sync::Arc;

use compact_str::{CompactString, format_compact};

use super::conversation::Conversation;
use super::follow::Follow;
use super::pending::{Asked, Pending};
use crate::mysql::{Answer as Part, Command, ErrPacket, Invalid, PrepareOk, SessionState, Status};
use crate::session::ending::Report;
use crate::sql::mysql::Mode;
use crate::trace::{Kind, Outcome, Sink};

/// `ER_QUERY_INTERRUPTED`: the statement was killed.
const INTERRUPTED: u16 = 1317;

impl Conversation {
    /// Takes one payload of the server, which was complete at `at_ns`.
    pub fn server_payload(&mut self, at_ns: i64, payload: &[u8], out: &mut dyn Sink) -> Result<(), Invalid> {
        if let Some(Pending { asked, answer: None, .. }) = self.queue.front() {
            let answer = self.answer_to(asked);
            self.queue.front_mut().map(|request| request.answer.insert(answer));
        }
        let Some(Pending { row, answer: Some(answer), sending, may_end_ns, .. }) = self.queue.front_mut() else {
            self.unasked(payload);
            return Ok(());
        };
        if self.eof_known && answer.is_row(payload) {
            self.answer.row(at_ns, payload);
            return Ok(());
        }
        let part = answer.next(payload)?;
        self.answer.packet(at_ns, payload, &part);
        *may_end_ns = answer.may_be_complete().then_some(at_ns);
        let (complete, deprecates_eof) = (answer.is_complete(), answer.deprecates_eof());
        match part {
            Part::LocalInfile { .. } => {
                row.kind = Kind::Copy;
                *sending = true;
            }
            Part::Err(error) => {
                row.outcome = if error.code == INTERRUPTED { Outcome::Cancelled } else { Outcome::Error };
                row.error_code = Some(format_compact!("{}", error.code));
                row.error_message = Some(message(&error));
            }
            Part::Ok(ok) | Part::ResultEnd(ok) | Part::CursorOpen(ok) => {
                if let Some(gtid) = ok.session.gtid() {
                    row.position = Some(CompactString::from_utf8_lossy(gtid));
                }
                self.follow_status(ok.status);
                self.follow_session(&ok.session);
            }
            Part::PrepareOk(prepared) => self.prepared(prepared),
            _ => {}
        }
        if let (false, Some(deprecated)) = (self.eof_known, deprecates_eof) {
            self.learn_eof(deprecated);
        }
        if complete {
            self.complete(at_ns, out);
        }
        Ok(())
    }

    fn unasked(&mut self, payload: &[u8]) {
        match ErrPacket::decode(payload) {
            Ok(error) => {
                let code = Some(format_compact!("{}", error.code));
                self.report = Some(Report { code, message: Some(message(&error)) });
            }
            Err(_) => self.unexpected(),
        }
    }

    /// The server gave a statement its number: also executions that were sent before it can be read now.
    fn prepared(&mut self, prepared: PrepareOk) {
        let Some(Pending { row, asked: Asked::Prepare(text), .. }) = self.queue.front_mut() else { return };
        row.statement = Some(format_compact!("{}", prepared.statement));
        self.statements.prepared(prepared.statement, text.clone(), prepared.parameters);
        let mut at = 1;
        while let Some(request) = self.queue.get_mut(at) {
            match &mut request.asked {
                Asked::Prepare(_) => break,
                Asked::Execute { body, .. } => {
                    if let Some(body) = body.take() {
                        let mut row = request.row.clone();
                        if let Ok(Command::Execute(execute)) = Command::decode(&body, self.capabilities) {
                            self.read_execute(&mut row, execute, &body, &mut []);
                        }
                        if let Some(request) = self.queue.get_mut(at) {
                            request.row = row;
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The flags that tell how the server reads texts.
    fn follow_status(&mut self, status: Status) {
        self.mode.no_backslash_escapes = status.contains(Status::NO_BACKSLASH_ESCAPES);
        let ansi_quotes = status.contains(Status::ANSI_QUOTES);
        self.tells_ansi_quotes |= ansi_quotes;
        if self.tells_ansi_quotes {
            self.mode.ansi_quotes = ansi_quotes;
        }
    }

    /// What session tracking tells.
    fn follow_session(&mut self, session: &SessionState<'_>) {
        if let Some(name) = session.schema() {
            self.who.database = (!name.is_empty()).then(|| self.shared.intern(name));
        }
        if let Some(value) = session.variable(b"sql_mode") {
            self.mode = self.mode.with_sql_mode(&String::from_utf8_lossy(value));
        }
    }

    /// The server agreed to what was asked.
    pub fn agreed(&mut self, asked: Asked) {
        match asked {
            Asked::Connect => self.established = true,
            Asked::Query(Some(Follow::Database(name))) => {
                self.who.database = Some(self.shared.intern(name.as_bytes()));
            }
            Asked::Query(Some(Follow::SqlMode(value))) => self.mode = self.mode.with_sql_mode(&value),
            Asked::InitDb(database) => self.who.database = Some(database),
            Asked::ChangeUser(user) => {
                self.who.user = user.user;
                self.who.database = user.database;
                self.who.application = user.application.or_else(|| self.who.application.take());
                self.collation = user.collation.or(self.collation);
                self.begin_anew();
            }
            Asked::Reset => self.begin_anew(),
            _ => {}
        }
    }

    /// Nothing of the session's state is left.
    fn begin_anew(&mut self) {
        self.statements.forget();
        self.mode = Mode::of(self.mode.server);
    }
}

fn message(error: &ErrPacket<'_>) -> Arc<str> {
    String::from_utf8_lossy(error.message).into()
}
