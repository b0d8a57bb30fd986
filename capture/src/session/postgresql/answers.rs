//! What the server answers: its messages complete the rows.

use std::sync::Arc;

use super::conversation::Conversation;
use super::pending::{CONNECT, Copying, Pending, name};
use crate::postgresql::report::Fields;
use crate::postgresql::{Backend, Frame, Invalid};
use crate::session::ending::{Report, answered, nanos_between};
use crate::trace::{Kind, Outcome, Sink, TransactionStatus};

/// What a message of the server means for the request that it answers.
enum Effect {
    /// More of the answer follows.
    Part,
    /// The client's message is answered.
    Answered,
    /// The request turns out to be a COPY. True when the client is to send data.
    Copy(bool),
}

fn effect(step: u8, tag: u8) -> Option<Effect> {
    Some(match (step, tag) {
        (b'P', b'1') | (b'B', b'2') | (b'C', b'3') => Effect::Answered,
        (b'D', b't') => Effect::Part,
        (b'D', b'T' | b'n') => Effect::Answered,
        (b'E', b'C' | b'I' | b's') => Effect::Answered,
        (b'E', b'D' | b'd' | b'c') => Effect::Part,
        (b'Q', b'T' | b'D' | b'C' | b'I' | b'd' | b'c') => Effect::Part,
        (b'Q' | b'E', b'G' | b'W') => Effect::Copy(true),
        (b'Q' | b'E', b'H') => Effect::Copy(false),
        (b'F', b'V') => Effect::Part,
        _ => return None,
    })
}

impl Conversation {
    /// Takes one message of the server, which was complete at `at_ns`.
    pub fn server_message(&mut self, at_ns: i64, frame: Frame<'_>, out: &mut dyn Sink) -> Result<(), Invalid> {
        match frame.tag {
            // Only the messages whose content matters are decoded. A result is hashed as it comes.
            b'Z' | b'E' | b'S' | b'K' | b't' => match Backend::decode(frame)? {
                Backend::ReadyForQuery(status) => self.ready(at_ns, status, out),
                Backend::ErrorResponse(fields) => self.error(at_ns, frame, fields, out),
                Backend::ParameterStatus { name: b"application_name", value } => self.rename(value),
                Backend::BackendKeyData { process_id, secret } => {
                    self.shared.remember_cancel_key(process_id, secret, self.who.id);
                    self.authentication();
                }
                Backend::ParameterDescription(types) => {
                    self.part(at_ns, frame);
                    self.parameter_types(types.iter().collect());
                }
                _ => {}
            },
            b'N' => {
                if self.queue.turn(&mut self.answer).is_some() {
                    self.answer.message(at_ns, frame);
                }
            }
            b'A' => {}
            b'R' | b'v' => self.authentication(),
            _ => self.part(at_ns, frame),
        }
        Ok(())
    }

    fn part(&mut self, at_ns: i64, frame: Frame<'_>) {
        let Some((request, step)) = self.queue.turn(&mut self.answer) else {
            return self.unexpected();
        };
        let Some(effect) = effect(step, frame.tag) else {
            return self.unexpected();
        };
        self.answer.message(at_ns, frame);
        match effect {
            Effect::Part if frame.tag == b'C' => request.copying = Copying::No,
            Effect::Part => {}
            Effect::Answered => {
                request.next += 1;
                request.copying = Copying::No;
                answered(&mut request.row, at_ns);
                self.answer.write_to(&mut request.row);
            }
            Effect::Copy(from_client) => {
                request.row.kind = Kind::Copy;
                if from_client {
                    request.copying = Copying::In;
                }
                // A client may have sent Sync before it knew; the server reads over it.
                if step == b'E' && from_client {
                    request.void = request.row.messages.len();
                }
            }
        }
    }

    fn error(&mut self, at_ns: i64, frame: Frame<'_>, fields: Fields<'_>, out: &mut dyn Sink) {
        let code = fields.sqlstate().map(name);
        let message = fields.message().map(|message| Arc::from(String::from_utf8_lossy(message)));
        let Some((request, step)) = self.queue.turn(&mut self.answer) else {
            self.report = Some(Report { code, message });
            return;
        };
        self.answer.message(at_ns, frame);
        let cancelled = code.as_deref() == Some("57014");
        request.row.outcome = if cancelled { Outcome::Cancelled } else { Outcome::Error };
        request.row.error_code = code;
        request.row.error_message = message;
        request.row.duration_ns = Some(nanos_between(request.row.start_ns, at_ns));
        self.answer.write_to(&mut request.row);
        self.copy_aborted |= request.copying == Copying::In;
        request.copying = Copying::No;
        match step {
            CONNECT => {
                // The server refuses the client and closes; nothing more is answered.
                if let Some(refused) = self.queue.requests.pop_front() {
                    self.finish(refused.row, out);
                }
                self.answer.reset();
            }
            b'Q' | b'F' | b'S' => {}
            _ => {
                request.next += 1;
                self.queue.skipping = true;
            }
        }
    }

    fn ready(&mut self, at_ns: i64, status: TransactionStatus, out: &mut dyn Sink) {
        let Some(count) = self.queue.ready() else {
            return self.unexpected();
        };
        if !self.queue.is_at(count - 1) {
            self.answer.reset();
        }
        // Names go back to what they were in the reverse of the order in which they changed.
        for request in self.queue.requests.iter_mut().take(count).rev() {
            let (done, reached) = (request.row.outcome == Outcome::Ok, request.row.outcome != Outcome::Skipped);
            // A simple query that did not fail is settled below.
            let done = done || (request.row.outcome == Outcome::Unfinished && request.holds(b'Q') && !request.missed);
            for change in request.changes.drain(..).rev().filter(|_| !done) {
                self.names.undo(change, reached);
            }
        }
        let mut group = None;
        for left in (0..count).rev() {
            let Some(mut request) = self.queue.requests.pop_front() else { break };
            if left == 0 {
                self.complete(at_ns, &mut request);
            }
            request.row.truncated |= request.missed;
            if request.row.outcome == Outcome::Unfinished && !request.missed {
                request.row.outcome = Outcome::Ok;
                request.row.duration_ns.get_or_insert(nanos_between(request.row.start_ns, at_ns));
            }
            request.row.transaction = Some(status);
            group = request.row.pipeline_group.or(group);
            self.finish(request.row, out);
        }
        self.queue.rewind();
        self.answer.reset();
        if let (TransactionStatus::Idle, Some(group)) = (status, group) {
            self.names.end_transaction(group);
        }
    }

    /// Completes the request that ReadyForQuery itself answers.
    fn complete(&mut self, at_ns: i64, request: &mut Pending) {
        match request.row.kind {
            Kind::Connect => self.established = true,
            _ if request.holds(b'Q') || request.holds(b'F') => self.answer.write_to(&mut request.row),
            _ => return,
        }
        answered(&mut request.row, at_ns);
    }

    fn authentication(&mut self) {
        if self.queue.turn(&mut self.answer).is_none_or(|(_, step)| step != CONNECT) {
            self.unexpected();
        }
    }

    fn rename(&mut self, value: &[u8]) {
        if self.who.application.as_ref().is_none_or(|known| known.as_bytes() != value) {
            self.who.application = Some(self.shared.intern(value));
        }
    }

    fn parameter_types(&mut self, types: Vec<u32>) {
        if let Some((request, _)) = self.queue.turn(&mut self.answer)
            && let Some(statement) = request.row.statement.as_deref()
        {
            self.names.describe(statement, types);
        }
    }
}
