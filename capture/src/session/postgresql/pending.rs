//! Requests that await their answer, or the end of their pipeline group.

use std::collections::VecDeque;

use compact_str::CompactString;

use super::answer::Answer;
use super::names::Change;
use crate::session::ending::settle;
use crate::trace::{Kind, Outcome, Request};

/// Stands for the start-up, which has no message that may be listed.
pub(super) const CONNECT: u8 = 0;

/// Where a request is with its COPY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Copying {
    /// The server has not said that this is a COPY.
    #[default]
    No,
    /// The server awaits data.
    In,
    /// The client has sent all its data.
    Sent,
}

/// One request and what of it has been answered.
#[derive(Debug)]
pub(super) struct Pending {
    pub row: Request,
    /// Index in `row.messages` of the first message without an answer.
    pub next: usize,
    /// Sync and Flush before this index are void: the server reads over them while it awaits COPY data.
    pub void: usize,
    pub copying: Copying,
    /// COPY data kept so far, in bytes.
    pub copied: usize,
    /// The server went past part of this request without an answer, though no error explains it.
    pub missed: bool,
    /// What it did to the names of statements.
    pub changes: Vec<Change>,
}

impl Pending {
    pub fn new(row: Request) -> Self {
        Pending { row, next: 0, void: 0, copying: Copying::No, copied: 0, missed: false, changes: Vec::new() }
    }

    /// The first message that still needs an answer. CopyDone, CopyFail and Flush get none of their own.
    pub fn step(&mut self) -> Option<u8> {
        if self.row.kind == Kind::Connect {
            return Some(CONNECT);
        }
        loop {
            match self.row.messages.as_bytes().get(self.next).copied() {
                Some(b'H' | b'c' | b'f') => self.next += 1,
                Some(b'S') if self.next < self.void => self.next += 1,
                step => return step,
            }
        }
    }

    /// True when the request holds a message of this type.
    pub fn holds(&self, tag: u8) -> bool {
        self.row.messages.as_bytes().contains(&tag)
    }
}

/// The requests of a session that are not finished, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub requests: VecDeque<Pending>,
    /// The request whose answer comes next. Those before it are answered and await the end of their group.
    at: usize,
    /// After an error in the extended protocol the server passes over everything up to Sync.
    pub skipping: bool,
}

impl Queue {
    pub fn push(&mut self, request: Pending) {
        self.requests.push_back(request);
    }

    /// The request, and the message of it, that the server answers next; `None` when it owes nothing. `answer` is what
    /// came back so far for that request: it starts afresh where this moves on to another one.
    pub fn turn(&mut self, answer: &mut Answer) -> Option<(&mut Pending, u8)> {
        let step = loop {
            match self.requests.get_mut(self.at)?.step() {
                Some(step) => break step,
                None if self.at + 1 < self.requests.len() => {
                    self.at += 1;
                    answer.reset();
                }
                None => return None,
            }
        };
        Some((self.requests.get_mut(self.at)?, step))
    }

    /// The request whose answer comes next, if the server awaits COPY data for it.
    pub fn copying(&mut self) -> Option<&mut Pending> {
        self.requests.get_mut(self.at).filter(|request| request.copying == Copying::In)
    }

    /// The server is ready: finds the Sync, simple query or call that this answers, and returns how many requests are
    /// finished by it. Those that the server passed over on its way there are settled as skipped or marked as missed.
    pub fn ready(&mut self) -> Option<usize> {
        for (index, request) in self.requests.iter_mut().enumerate().skip(self.at) {
            while let Some(step) = request.step() {
                if matches!(step, b'S' | CONNECT) || (matches!(step, b'Q' | b'F') && !self.skipping) {
                    return Some(index + 1);
                }
                if self.skipping {
                    settle(&mut request.row, Outcome::Skipped);
                } else {
                    request.missed = true;
                }
                request.next += 1;
            }
        }
        None
    }

    /// Whether the request at `index` is the one whose answer came last.
    pub fn is_at(&self, index: usize) -> bool {
        self.at == index
    }

    /// Starts over at the first request, after those before it were taken out.
    pub fn rewind(&mut self) {
        self.at = 0;
        self.skipping = false;
    }

    /// Takes out everything.
    pub fn clear(&mut self) -> VecDeque<Pending> {
        self.rewind();
        std::mem::take(&mut self.requests)
    }
}

/// A name from the wire.
pub(super) fn name(bytes: &[u8]) -> CompactString {
    CompactString::from_utf8_lossy(bytes)
}
