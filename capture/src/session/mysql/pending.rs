//! Requests that await their answer.

use std::sync::Arc;

use super::follow::Follow;
use crate::mysql::{Code, Exchange};
use crate::session::shared::Text;
use crate::trace::Request;

/// One request and how far its answer is.
#[derive(Debug)]
pub(super) struct Pending {
    pub row: Request,
    pub asked: Asked,
    /// The answer, from when the server begins it.
    pub answer: Option<Exchange>,
    /// The client is to send a file, and has not ended it.
    pub sending: bool,
    /// Data of the file kept so far, in bytes.
    pub copied: usize,
    /// When the last packet came after which the answer may be complete.
    pub may_end_ns: Option<i64>,
}

/// What was asked, as far as its answer changes the session.
#[derive(Debug)]
pub(super) enum Asked {
    /// The client connects.
    Connect,
    /// A text, which may change what the next texts mean.
    Query(Option<Follow>),
    /// A statement with this text is to be prepared.
    Prepare(Text),
    /// An execution. `body` is kept where it cannot be read before the statement's preparation is answered.
    Execute { cursor: bool, body: Option<Box<[u8]>> },
    /// Another database.
    InitDb(Arc<str>),
    /// Another user.
    ChangeUser(Box<User>),
    /// The session begins anew.
    Reset,
    /// A command that changes nothing that matters here.
    Command(Code),
}

/// Who the client wants to be.
#[derive(Debug)]
pub(super) struct User {
    pub user: Option<Arc<str>>,
    pub database: Option<Arc<str>>,
    pub application: Option<Arc<str>>,
    pub collation: Option<u16>,
}

impl Asked {
    /// First byte of the command that an answer is read for. A client that connects goes through the same steps as one
    /// that changes its user.
    pub fn code(&self) -> Code {
        match self {
            Asked::Connect | Asked::ChangeUser(_) => Code::CHANGE_USER,
            Asked::Query(_) => Code::QUERY,
            Asked::Prepare(_) => Code::STMT_PREPARE,
            Asked::Execute { .. } => Code::STMT_EXECUTE,
            Asked::InitDb(_) => Code::INIT_DB,
            Asked::Reset => Code::RESET_CONNECTION,
            Asked::Command(code) => *code,
        }
    }

    /// True while the client proves who it is: what it sends is not looked at.
    pub fn is_authentication(&self) -> bool {
        matches!(self, Asked::Connect | Asked::ChangeUser(_))
    }
}

impl Pending {
    pub fn new(row: Request, asked: Asked) -> Self {
        Pending { row, asked, answer: None, sending: false, copied: 0, may_end_ns: None }
    }
}
