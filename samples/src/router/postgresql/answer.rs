//! The answer to a unit, as it comes: which message it belongs to, and whether the client gets to see it.

use std::collections::VecDeque;

use splitproof_capture::postgresql::Invalid;
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::Frame;
use splitproof_capture::trace::TransactionStatus;

/// A message that was sent and will be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expect {
    pub what: What,
    /// Sent on the router's own account, so that the client must not see the answer.
    pub ours: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A text, or a call of a function outside SQL.
    Whole,
    /// Name and generation.
    Parse(String, u64),
    Bind,
    Describe,
    Execute,
    /// The statement that is closed, if it is one.
    Close(Option<String>),
    Sync,
}

/// What became of a unit.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The transaction status at its end; `None` at the end of a group that only a Flush ended.
    pub status: Option<TransactionStatus>,
    /// SQLSTATE and message of the first error.
    pub error: Option<(String, String)>,
    /// Whether any command ended a transaction by rolling it back.
    pub rolled_back: bool,
    /// Statements prepared, by name and generation.
    pub parsed: Vec<(String, u64)>,
    /// Statements that could not be prepared.
    pub refused: Vec<(String, u64)>,
    /// Statements closed.
    pub closed: Vec<String>,
    /// Whether the client was sent anything of it.
    pub relayed: bool,
}

/// What to do with a message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Relay,
    Swallow,
    /// The server waits for COPY data.
    CopyIn,
}

/// An answer under way.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub expect: VecDeque<Expect>,
    pub answer: Answer,
    /// Lose the second row of every result.
    pub drop_rows: bool,
    rows: u64,
}

impl Progress {
    pub fn new(expect: VecDeque<Expect>, drop_rows: bool) -> Self {
        Progress { expect, drop_rows, ..Progress::default() }
    }

    /// Whether nothing more will come.
    pub fn is_done(&self) -> bool {
        self.expect.is_empty()
    }

    pub fn take(&mut self, frame: Frame<'_>) -> Result<Pass, Invalid> {
        let ours = self.expect.front().is_some_and(|expect| expect.ours);
        let pass = if ours { Pass::Swallow } else { Pass::Relay };
        match Backend::decode(frame)? {
            // These may come at any time and belong to the session.
            Backend::NotificationResponse(_) | Backend::ParameterStatus { .. } | Backend::NoticeResponse(_) => {
                return Ok(Pass::Relay);
            }
            Backend::ParseComplete => {
                if let Some(What::Parse(name, generation)) = self.pop(|what| matches!(what, What::Parse(..))) {
                    self.answer.parsed.push((name, generation));
                }
            }
            Backend::BindComplete => drop(self.pop(|what| *what == What::Bind)),
            Backend::CloseComplete => {
                if let Some(What::Close(Some(name))) = self.pop(|what| matches!(what, What::Close(_))) {
                    self.answer.closed.push(name);
                }
            }
            Backend::RowDescription(_) | Backend::NoData => {
                self.rows = 0;
                drop(self.pop(|what| *what == What::Describe));
            }
            Backend::DataRow(_) => {
                self.rows += 1;
                if self.drop_rows && self.rows == 2 {
                    return Ok(Pass::Swallow);
                }
            }
            Backend::CommandComplete { tag } => {
                self.rows = 0;
                self.answer.rolled_back |= tag == b"ROLLBACK";
                drop(self.pop(|what| *what == What::Execute));
            }
            Backend::EmptyQueryResponse | Backend::PortalSuspended => {
                self.rows = 0;
                drop(self.pop(|what| *what == What::Execute));
            }
            Backend::CopyInResponse(_) => return Ok(Pass::CopyIn),
            Backend::ErrorResponse(fields) => {
                let text = |field: Option<&[u8]>| String::from_utf8_lossy(field.unwrap_or_default()).into_owned();
                self.answer.error.get_or_insert((text(fields.sqlstate()), text(fields.message())));
                self.fail();
                // The client's own statement cannot run either.
                return Ok(Pass::Relay);
            }
            Backend::ReadyForQuery(status) => {
                self.answer.status = Some(status);
                self.expect.clear();
                return Ok(Pass::Swallow);
            }
            _ => {}
        }
        Ok(pass)
    }

    /// After an error the server passes over everything up to the Sync.
    fn fail(&mut self) {
        while let Some(expect) = self.expect.front() {
            if matches!(expect.what, What::Sync | What::Whole) {
                return;
            }
            if let Some(Expect { what: What::Parse(name, generation), .. }) = self.expect.pop_front() {
                self.answer.refused.push((name, generation));
            }
        }
    }

    fn pop(&mut self, is: impl Fn(&What) -> bool) -> Option<What> {
        self.expect
            .front()
            .is_some_and(|expect| is(&expect.what))
            .then(|| self.expect.pop_front())
            .flatten()
            .map(|expect| expect.what)
    }
}
