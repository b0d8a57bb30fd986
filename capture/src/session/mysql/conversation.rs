//! One session from its greeting on: whole payloads of both sides in, rows out.
//!
//! The client's commands are in [`requests`](super::requests), the server's answers in [`answers`](super::answers). This
//! file holds what both need, and what finishes a row.

use std::collections::VecDeque;
use std::sync::Arc;

use compact_str::CompactString;

use super::answer::{Answer, nanos_between};
use super::pending::{Asked, Pending};
use super::statements::Statements;
use crate::mysql::{Capabilities, Exchange};
use crate::session::shared::Text;
use crate::session::{Close, Shared, Start};
use crate::sql::Dialect;
use crate::sql::mysql::Mode;
use crate::trace::{Kind, Loss, Losses, Outcome, Request, Sink};

/// An error that the server reported outside any answer, such as a shutdown.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub code: CompactString,
    pub message: Arc<str>,
}

/// The state of a session that messages change.
pub(super) struct Conversation {
    pub id: u64,
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
    pub database: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub application: Option<Arc<str>>,
    /// What the client said it can do.
    pub announced: Option<u64>,
    pub collation: Option<u16>,
    client: Arc<str>,
    server: Arc<str>,
    next_seq: u32,
    gap_before_next: bool,
    midway: bool,
}

impl Conversation {
    pub fn new(id: u64, start: Start, shared: Shared) -> Self {
        Conversation {
            id,
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
            database: None,
            user: None,
            application: None,
            announced: None,
            collation: None,
            client: start.client,
            server: start.server,
            next_seq: 0,
            gap_before_next: false,
            midway: start.midway,
        }
    }

    /// Number of the next row.
    pub fn next_seq(&self) -> u32 {
        self.next_seq
    }

    /// A row that begins now. Rows are numbered in the order in which the client asked.
    pub fn row(&mut self, at_ns: i64, kind: Kind) -> Request {
        let mut row = Request::new(self.id, self.next_seq, at_ns, kind);
        self.next_seq = self.next_seq.saturating_add(1);
        row.gap_before = std::mem::take(&mut self.gap_before_next);
        row.joined_midway = self.midway;
        row
    }

    /// Puts out a row about which nothing more will be learned.
    pub fn finish(&self, mut row: Request, out: &mut dyn Sink) {
        row.database.clone_from(&self.database);
        row.user.clone_from(&self.user);
        row.application.clone_from(&self.application);
        row.client = Some(Arc::clone(&self.client));
        row.server = Some(Arc::clone(&self.server));
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
            request.settle(Outcome::Unfinished);
            request.row.truncated = true;
            request.row.duration_ns = None;
            self.finish(request.row, out);
        }
        self.answer.reset();
        self.gap_before_next = true;
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
        request.settle(Outcome::Ok);
        request.row.duration_ns = Some(nanos_between(request.row.start_ns, at_ns));
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
            request.settle(if recording { Outcome::Unfinished } else { Outcome::Lost });
            if matches!(request.row.outcome, Outcome::Lost | Outcome::Unfinished) {
                request.row.duration_ns = None;
            }
            lost |= request.row.outcome == Outcome::Lost;
            self.finish(request.row, out);
        }
        let goodbye = self.goodbye.take();
        if goodbye.is_none() && (!self.established || recording) {
            return;
        }
        let mut row = match goodbye {
            Some(row) => row,
            None => self.row(at_ns, Kind::Disconnect),
        };
        row.outcome = if lost { Outcome::Lost } else { Outcome::Ok };
        if let Some(report) = self.report.take() {
            row.outcome = Outcome::Error;
            row.error_code = Some(report.code);
            row.error_message = Some(report.message);
        }
        row.duration_ns = (!recording).then(|| nanos_between(row.start_ns, at_ns));
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
