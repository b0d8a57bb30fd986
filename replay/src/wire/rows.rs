//! Finished rows of one session, and the recorded requests that they repeat.

use std::collections::VecDeque;

use splitproof_capture::trace::{LateCause, Request, Sink};

/// What the rows that come of a recorded request have in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of the recorded request in its session.
    pub seq: u32,
    /// When it was due.
    pub due_ns: Option<i64>,
    /// Why it was sent late.
    pub late_cause: Option<LateCause>,
}

/// Finished rows of one session, on their way to the writer.
#[derive(Debug)]
pub struct Rows {
    recorded_session: u64,
    /// One tag for each row that was begun and is not finished, from the row `first_tag` on.
    tags: VecDeque<Option<Tag>>,
    first_tag: u32,
    /// The tag of rows that begin now: a request that waits for no answer is finished as soon as it is seen.
    beginning: Option<Tag>,
    batch: Vec<Request>,
}

impl Rows {
    /// For the rows that repeat a recorded session.
    pub fn of(recorded_session: u64) -> Self {
        Rows { recorded_session, tags: VecDeque::new(), first_tag: 0, beginning: None, batch: Vec::new() }
    }

    /// Takes what is finished.
    pub fn take(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.batch)
    }

    /// Number of finished rows.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// True when no row is finished.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Puts a row that no connection has produced.
    pub fn push(&mut self, mut request: Request, tag: Tag) {
        self.mark(&mut request, tag);
        self.batch.push(request);
    }

    /// Rows that begin from now on repeat this recorded request.
    pub(super) fn begin(&mut self, tag: Option<Tag>) {
        self.beginning = tag;
    }

    /// The rows up to number `end` have begun.
    pub(super) fn begun(&mut self, end: u32) {
        let tagged = self.first_tag.saturating_add(u32::try_from(self.tags.len()).unwrap_or(u32::MAX));
        self.tags.extend((tagged..end).map(|_| self.beginning));
        self.beginning = None;
    }

    fn mark(&self, request: &mut Request, tag: Tag) {
        request.recorded_session = Some(self.recorded_session);
        request.recorded_seq = Some(tag.seq);
        request.due_ns = tag.due_ns;
        request.late_cause = tag.late_cause;
    }
}

impl Sink for Rows {
    fn request(&mut self, mut request: Request) {
        if request.seq >= self.first_tag.saturating_add(u32::try_from(self.tags.len()).unwrap_or(u32::MAX)) {
            self.begun(request.seq.saturating_add(1));
        }
        let at = request.seq.checked_sub(self.first_tag).map(|at| at as usize);
        if let Some(tag) = at.and_then(|at| self.tags.get_mut(at)).and_then(Option::take) {
            self.mark(&mut request, tag);
        }
        while let Some(None) = self.tags.front() {
            self.tags.pop_front();
            self.first_tag += 1;
        }
        self.batch.push(request);
    }
}
