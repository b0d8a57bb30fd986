//! What must go to one server together: a text, or a pipeline group up to its Sync.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::postgresql::Invalid;
use splitproof_capture::postgresql::extended::Target;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::frontend::Frontend;

use crate::router::need::Need;
use crate::router::route::Ask;
use crate::router::state::{How, Prepared, State};
use crate::router::text::{Text, Texts};

/// A unit.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its messages.
    pub parts: Vec<Part>,
    /// How it ends.
    pub end: End,
}

/// How a unit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is one message that is answered up to a ReadyForQuery.
    Whole,
    /// Sync.
    Sync,
    /// Flush: more of the group follows.
    Flush,
}

/// One message.
#[derive(Debug)]
pub(super) struct Part {
    pub raw: Vec<u8>,
    pub kind: PartKind,
}

/// What a message is, as far as a router must know.
#[derive(Debug)]
pub(super) enum PartKind {
    Text(Arc<Text>),
    Call,
    /// The statement that it makes; `None` when one of that name is there already, so that the server will refuse.
    Parse {
        name: String,
        prepared: Option<Arc<Prepared>>,
    },
    Bind {
        statement: String,
        prepared: Option<Arc<Prepared>>,
    },
    DescribeStatement {
        name: String,
        prepared: Option<Arc<Prepared>>,
    },
    DescribePortal,
    Execute(Option<Portal>),
    CloseStatement(String),
    ClosePortal,
}

/// A prepared statement with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Portal {
    pub prepared: Option<Arc<Prepared>>,
    /// The Bind message.
    pub bind: Arc<[u8]>,
}

/// What the client's bytes begin with.
#[derive(Debug)]
pub(super) enum Next {
    Unit(Unit),
    Terminate,
    /// More bytes are needed.
    Incomplete,
}

/// A client's messages on their way to becoming units.
#[derive(Debug, Default)]
pub(super) struct Collector {
    parts: Vec<Part>,
    pub portals: HashMap<String, Portal>,
}

impl Collector {
    /// Takes messages from the client's bytes up to the end of a unit; gives how many bytes are used up.
    pub fn take(&mut self, input: &[u8], state: &mut State, texts: &Texts) -> Result<(Next, usize), Invalid> {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let Some(frame) = frame::next_from(Direction::Client, rest)? else { return Ok((Next::Incomplete, used)) };
            let length = frame.len;
            let raw = rest.get(..length).unwrap_or_default();
            used += length;
            let whole = |kind| Next::Unit(Unit { parts: vec![Part { raw: raw.to_vec(), kind }], end: End::Whole });
            let next = match Frontend::decode(frame)? {
                Frontend::Query { sql } => whole(PartKind::Text(texts.get(&text(sql)))),
                Frontend::FunctionCall(_) => whole(PartKind::Call),
                Frontend::Sync => Next::Unit(Unit { parts: std::mem::take(&mut self.parts), end: End::Sync }),
                Frontend::Flush => Next::Unit(Unit { parts: std::mem::take(&mut self.parts), end: End::Flush }),
                Frontend::Terminate => Next::Terminate,
                // What is left of a COPY that the server refused; a server passes over it too.
                Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => continue,
                Frontend::Password(_) => {
                    return Err(Invalid { message: "PasswordMessage", offset: 0, what: "nobody asked for a password" });
                }
                message => {
                    let kind = self.part(message, raw, state, texts);
                    self.parts.push(Part { raw: raw.to_vec(), kind });
                    continue;
                }
            };
            return Ok((next, used));
        }
    }

    fn part(&mut self, message: Frontend<'_>, raw: &[u8], state: &mut State, texts: &Texts) -> PartKind {
        match message {
            Frontend::Parse(parse) => {
                let (name, sql) = (text(parse.statement), text(parse.sql));
                let known = !name.is_empty() && state.prepared(&name).is_some();
                let prepared = (!known).then(|| {
                    let text = texts.get(&sql);
                    let how = How::Message(raw.into());
                    state.prepare(name.clone(), text.statements.clone(), sql.as_str().into(), how)
                });
                PartKind::Parse { name, prepared }
            }
            Frontend::Bind(bind) => {
                let statement = text(bind.statement);
                let prepared = state.prepared(&statement).cloned();
                self.portals.insert(text(bind.portal), Portal { prepared: prepared.clone(), bind: raw.into() });
                PartKind::Bind { statement, prepared }
            }
            Frontend::Describe(Target::Statement(name)) => {
                let name = text(name);
                let prepared = state.prepared(&name).cloned();
                PartKind::DescribeStatement { name, prepared }
            }
            Frontend::Describe(Target::Portal(_)) => PartKind::DescribePortal,
            Frontend::Execute { portal, .. } => PartKind::Execute(self.portals.get(&text(portal)).cloned()),
            Frontend::Close(Target::Statement(name)) => {
                let name = text(name);
                state.unprepare(&name, None);
                PartKind::CloseStatement(name)
            }
            Frontend::Close(Target::Portal(name)) => {
                self.portals.remove(&text(name));
                PartKind::ClosePortal
            }
            // Handled by `take`.
            _ => PartKind::DescribePortal,
        }
    }
}

impl Unit {
    /// What it asks the router.
    pub fn ask(&self, texts: &Texts) -> Ask {
        let mut ask = Ask { prepared: self.end != End::Whole, ..Ask::default() };
        let mut runs = false;
        for part in &self.parts {
            match &part.kind {
                PartKind::Text(text) => ask.texts.push(Arc::clone(text)),
                PartKind::Call => ask.also = Some(Need::Primary),
                PartKind::Execute(portal) => {
                    runs = true;
                    if let Some(prepared) = portal.as_ref().and_then(|portal| portal.prepared.as_ref()) {
                        ask.texts.push(texts.get(&prepared.sql));
                    }
                }
                _ => {}
            }
        }
        // What only prepares goes where it will run.
        if !runs && ask.texts.is_empty() {
            let prepared = self.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Parse { prepared, .. }
                | PartKind::Bind { prepared, .. }
                | PartKind::DescribeStatement { prepared, .. } => prepared.as_ref(),
                _ => None,
            });
            ask.texts.extend(prepared.map(|prepared| texts.get(&prepared.sql)));
        }
        ask
    }

    /// Whether it runs anything, rather than only preparing.
    pub fn runs(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.kind, PartKind::Text(_) | PartKind::Call | PartKind::Execute(_)))
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
