//! One session after its start: whole messages of both sides in, rows out.
//!
//! The client's messages are in [`requests`](super::requests), the server's in [`answers`](super::answers). This file
//! holds what both need, and what finishes a row.

use super::answer::Answer;
use super::names::Names;
use super::pending::Queue;
use crate::session::ending::{self, Report};
use crate::session::identity::Identity;
use crate::session::{Close, Shared, Start};
use crate::trace::{Kind, Loss, Losses, Outcome, Request, Sink};

/// The state of a session that messages change.
pub(super) struct Conversation {
    pub who: Identity,
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
}

impl Conversation {
    pub fn new(id: u64, start: Start, shared: Shared) -> Self {
        Conversation {
            who: Identity::new(id, start),
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
        }
    }

    /// Puts out a row about which nothing more will be learned.
    pub fn finish(&self, mut row: Request, out: &mut dyn Sink) {
        self.who.write_to(&mut row);
        out.request(row);
    }

    /// Bytes of either side are missing, so it is not known which answer belongs to which request.
    pub fn interrupt(&mut self, out: &mut dyn Sink) {
        for mut request in self.queue.clear() {
            ending::interrupt(&mut request.row);
            self.finish(request.row, out);
        }
        self.answer.reset();
        self.copy_aborted = true;
        self.who.gap();
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
                ending::cut_off(&mut request.row, how);
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
            None => self.who.row(at_ns, Kind::Disconnect),
        };
        ending::disconnect(&mut row, at_ns, how, lost, self.report.take());
        self.finish(row, out);
    }

    pub fn unexpected(&mut self) {
        self.losses.add(Loss::UnexpectedMessage, 1);
    }
}
