//! One session after its start: whole messages of both sides in, rows out.
//!
//! The client's messages are in [`requests`](super::requests), the server's in [`answers`](super::answers). This file
//! holds what both need, and what finishes a row.

use std::sync::Arc;

use compact_str::CompactString;

use super::answer::{Answer, nanos_between};
use super::names::Names;
use super::pending::Queue;
use crate::session::{Close, Shared, Start};
use crate::trace::{Kind, Loss, Losses, Outcome, Request, Sink};

/// An error that the server reported outside any answer, such as a shutdown.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub code: Option<CompactString>,
    pub message: Option<Arc<str>>,
}

/// The state of a session that messages change.
pub(super) struct Conversation {
    pub id: u64,
    pub shared: Shared,
    pub losses: Losses,
    pub queue: Queue,
    pub names: Names,
    /// What came back for the request that is being answered.
    pub answer: Answer,
    /// True once the session is known to have begun: the server was ready, or the session was joined midway.
    pub established: bool,
    /// Number of the next pipeline group.
    pub group: u32,
    /// True while requests of that group wait for their Sync.
    pub group_open: bool,
    /// A COPY failed at the server, or its request was given up; what the client still sends for it is void.
    pub copy_aborted: bool,
    /// The client said Terminate.
    pub goodbye: Option<Request>,
    /// The last error outside any answer.
    pub report: Option<Report>,
    pub database: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub application: Option<Arc<str>>,
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
            queue: Queue::default(),
            names: Names::default(),
            answer: Answer::new(),
            established: false,
            group: 0,
            group_open: false,
            copy_aborted: false,
            goodbye: None,
            report: None,
            database: None,
            user: None,
            application: None,
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
        out.request(row);
    }

    /// Bytes of either side are missing, so it is not known which answer belongs to which request.
    pub fn interrupt(&mut self, out: &mut dyn Sink) {
        for mut request in self.queue.clear() {
            request.settle(Outcome::Unfinished);
            request.row.truncated = true;
            request.row.duration_ns = None;
            self.finish(request.row, out);
        }
        self.answer.reset();
        self.copy_aborted = true;
        self.gap_before_next = true;
    }

    /// The connection ended, or the recording did.
    pub fn close(&mut self, at_ns: i64, how: Close, out: &mut dyn Sink) {
        let recording = how == Close::RecordingEnded;
        let mut lost = false;
        for mut request in self.queue.clear() {
            // An answered request that lacks only the end of its group is still undone by a broken connection,
            // because its implicit transaction is. If only the recording ended, what it saw stands.
            let answered = request.row.outcome == Outcome::Ok && request.step().is_none_or(|step| step == b'S');
            if !(recording && answered) {
                request.settle(if recording { Outcome::Unfinished } else { Outcome::Lost });
                if matches!(request.row.outcome, Outcome::Lost | Outcome::Unfinished) {
                    request.row.duration_ns = None;
                }
            }
            lost |= request.row.outcome == Outcome::Lost;
            self.finish(request.row, out);
        }
        let goodbye = self.goodbye.take();
        if !self.established || (recording && goodbye.is_none()) {
            return;
        }
        let mut row = match goodbye {
            Some(row) => row,
            None => self.row(at_ns, Kind::Disconnect),
        };
        row.outcome = if lost { Outcome::Lost } else { Outcome::Ok };
        if let Some(report) = self.report.take() {
            row.outcome = Outcome::Error;
            row.error_code = report.code;
            row.error_message = report.message;
        }
        row.duration_ns = (!recording).then(|| nanos_between(row.start_ns, at_ns));
        self.finish(row, out);
    }

    pub fn unexpected(&mut self) {
        self.losses.add(Loss::UnexpectedMessage, 1);
    }
}
