//! One session from its greeting on: whole payloads of both sides in, rows out.
//!
//! The client's commands are in [`requests`](super::requests), the server's answers in [`answers`](super::answers). This
//! file holds what both need, and what finishes a row.

use std::collections::VecDeque;

use super::answer::Answer;
use super::pending::{Asked, Pending};
use super::statements::Statements;
use crate::mysql::{Capabilities, Exchange};
use crate::session::ending::{self, Report};
use crate::session::identity::Identity;
use crate::session::shared::Text;
use crate::session::{Close, Shared, Start};
use crate::sql::Dialect;
use crate::sql::mysql::Mode;
use crate::trace::{Kind, Loss, Losses, Outcome, Request, Sink};

/// The state of a session that messages change.
pub(super) struct Conversation {
    pub who: Identity,
    pub shared: Shared,
    pub losses: Losses,
    /// The requests that are not answered, in the order in which they were sent.
    pub queue: VecDeque<Pending>,
    pub statements: Statements,
    /// What came back for the request that is being answered.
    pub answer: Answer,
    /// What both sides agreed on; of a session that was joined midway what is assumed, and what its bytes showed.
    pub capabilities: Capabilities,
    /// False in a session that was joined midway.
    pub capabilities_known: bool,
    /// False while it is not known whether EOF packets stand behind descriptions.
    pub eof_known: bool,
    /// How the server reads the session's texts.
    pub mode: Mode,
    /// True once the server told of ANSI_QUOTES with its answers, which not every server does.
    pub tells_ansi_quotes: bool,
    /// True once the session is known to have begun: the server agreed, or the session was joined midway.
    pub established: bool,
    /// The client said COM_QUIT.
    pub goodbye: Option<Request>,
    /// The last error outside any answer.
    pub report: Option<Report>,
    /// What the client said it can do.
    pub announced: Option<u64>,
    pub collation: Option<u16>,
}

impl Conversation {
    pub fn new(id: u64, start: Start, shared: Shared) -> Self {
        Conversation {
            who: Identity::new(id, start),
            shared,
            losses: Losses::default(),
            queue: VecDeque::new(),
            statements: Statements::default(),
            answer: Answer::new(),
            capabilities: Capabilities::ASSUMED,
            capabilities_known: false,
            eof_known: false,
            mode: Mode::default(),
            tells_ansi_quotes: false,
            established: false,
            goodbye: None,
            report: None,
            announced: None,
            collation: None,
        }
    }

    /// Puts out a row about which nothing more will be learned.
    pub fn finish(&self, mut row: Request, out: &mut dyn Sink) {
        self.who.write_to(&mut row);
        row.capabilities = self.announced;
        row.collation = self.collation;
        out.request(row);
    }

    /// Puts out a row that gets no answer.
    pub fn finish_unanswered(&self, mut row: Request, out: &mut dyn Sink) {
        row.outcome = Outcome::Ok;
        row.duration_ns = Some(0);
        self.finish(row, out);
    }

    /// A text as the trace has it.
    pub fn text(&self, bytes: &[u8]) -> Text {
        self.shared.text_in(bytes, Dialect::Mysql(self.mode))
    }

    /// The answer to what was asked, before its first packet.
    pub fn answer_to(&self, asked: &Asked) -> Exchange {
        let code = asked.code();
        let answer = match self.eof_known {
            true => Exchange::new(code, self.capabilities),
            false => Exchange::joined(code),
        };
        if matches!(asked, Asked::Execute { cursor: true, .. }) { answer.with_cursor() } else { answer }
    }

    /// Bytes of either side are missing, so it is not known which answer belongs to which request.
    pub fn interrupt(&mut self, out: &mut dyn Sink) {
        self.settle_tentative(out);
        for mut request in std::mem::take(&mut self.queue) {
            ending::interrupt(&mut request.row);
            self.finish(request.row, out);
        }
        self.answer.reset();
        self.who.gap();
    }

    /// The client goes on, or nothing follows: an answer that may have been complete was.
    pub fn settle_tentative(&mut self, out: &mut dyn Sink) {
        if let Some(end_ns) = self.queue.front().and_then(|request| request.may_end_ns) {
            self.learn_eof(true);
            self.complete(end_ns, out);
        }
    }

    /// The answer to the first request is complete.
    pub fn complete(&mut self, at_ns: i64, out: &mut dyn Sink) {
        let Some(mut request) = self.queue.pop_front() else { return };
        ending::answered(&mut request.row, at_ns);
        match request.asked.is_authentication() {
            true => self.answer.write_status_to(&mut request.row),
            false => self.answer.write_to(&mut request.row),
        }
        self.answer.reset();
        let Pending { row, asked, .. } = request;
        if row.outcome == Outcome::Ok {
            self.agreed(asked);
        }
        self.finish(row, out);
    }

    /// The connection ended, or the recording did.
    pub fn close(&mut self, at_ns: i64, how: Close, out: &mut dyn Sink) {
        let recording = how == Close::RecordingEnded;
        self.settle_tentative(out);
        let mut lost = false;
        for long in self.statements.clear_long_data() {
            self.finish_unanswered(super::requests::long_data_row(long), out);
        }
        for mut request in std::mem::take(&mut self.queue) {
            ending::cut_off(&mut request.row, how);
            lost |= request.row.outcome == Outcome::Lost;
            self.finish(request.row, out);
        }
        let goodbye = self.goodbye.take();
        if goodbye.is_none() && (!self.established || recording) {
            return;
        }
        let mut row = match goodbye {
            Some(row) => row,
            None => self.who.row(at_ns, Kind::Disconnect),
        };
        ending::disconnect(&mut row, at_ns, how, lost, self.report.take());
        self.finish(row, out);
    }

    /// An answer showed whether `DEPRECATE_EOF` is agreed.
    pub fn learn_eof(&mut self, deprecated: bool) {
        self.eof_known = true;
        self.capabilities = match deprecated {
            true => self.capabilities | Capabilities::DEPRECATE_EOF,
            false => self.capabilities.without(Capabilities::DEPRECATE_EOF),
        };
    }

    pub fn unexpected(&mut self) {
        self.losses.add(Loss::UnexpectedMessage, 1);
    }
}
