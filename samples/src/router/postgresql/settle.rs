//! What a unit leaves behind: the session's state, and settings to repeat on the other servers.

use std::collections::VecDeque;
use std::sync::Arc;

use splitproof_capture::postgresql::Unencodable;
use splitproof_capture::postgresql::extended::{Bind, Parse};
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::sql::{Discard, Statement, StatementKind};
use splitproof_capture::trace::TransactionStatus;

use super::answer::{Answer, Expect, What};
use super::server::Server;
use super::session::Session;
use super::unit::{PartKind, Portal, Unit};
use crate::router::node::NodeId;
use crate::router::route::Ask;
use crate::router::state::How;

/// Something that a server did and another one must do as well.
#[derive(Clone, Debug)]
pub(super) enum Repeat {
    /// A text.
    Sql(Arc<str>),
    /// Parse, Bind and Execute without names, and a Sync.
    Messages(Arc<[u8]>),
}

impl Repeat {
    /// Runs it; nobody sees the answer. The error is that of the connection, not that of the statement.
    pub async fn run(&self, server: &mut Server) -> Result<Answer, String> {
        match self {
            Repeat::Sql(sql) => server.query(sql).await,
            Repeat::Messages(bytes) => {
                server.prepared.remove("");
                let parts = [What::Parse(String::new(), 0), What::Bind, What::Execute, What::Sync];
                let answer = server.ask(bytes, parts.map(|what| Expect { what, ours: true }).into()).await;
                server.prepared.remove("");
                answer
            }
        }
    }

    /// A portal that was executed.
    fn portal(portal: &Portal) -> Option<Repeat> {
        let prepared = portal.prepared.as_ref()?;
        let How::Message(parse) = &prepared.how else { return None };
        messages(parse, &portal.bind).ok().flatten().map(Repeat::Messages)
    }
}

/// The same statement and parameters without names.
fn messages(parse: &[u8], bind: &[u8]) -> Result<Option<Arc<[u8]>>, Unencodable> {
    let decode = |bytes| {
        let frame = frame::next_from(Direction::Client, bytes).ok().flatten()?;
        Frontend::decode(frame).ok()
    };
    let (Some(Frontend::Parse(parse)), Some(Frontend::Bind(bind))) = (decode(parse), decode(bind)) else {
        return Ok(None);
    };
    let mut out = Vec::new();
    Frontend::Parse(Parse { statement: b"", ..parse }).encode(&mut out)?;
    Frontend::Bind(Bind { portal: b"", statement: b"", ..bind }).encode(&mut out)?;
    Frontend::Execute { portal: b"", limit: 0 }.encode(&mut out)?;
    Frontend::Sync.encode(&mut out)?;
    Ok(Some(out.into()))
}

/// What a unit ran, each with its statements.
pub(super) fn repeats(unit: &Unit) -> VecDeque<(Option<Repeat>, Vec<Arc<Statement>>)> {
    unit.parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Text(text) => Some((Some(Repeat::Sql(text.sql.as_ref().into())), text.statements.clone())),
            PartKind::Execute(Some(portal)) => {
                let statements = portal.prepared.as_ref().map(|prepared| prepared.statements.clone());
                Some((Repeat::portal(portal), statements.unwrap_or_default()))
            }
            _ => None,
        })
        .collect()
}

impl Session<'_> {
    /// Takes over what a unit did on `node`; gives what the other servers must repeat.
    pub(super) fn settle(&mut self, unit: &Unit, ask: &Ask, node: NodeId, answer: &Answer) -> Vec<Repeat> {
        let router = &self.service.shared.router;
        for (name, generation) in &answer.refused {
            self.ledger.state.unprepare(name, Some(*generation));
        }
        if self.ledger.state.transaction.as_ref().is_some_and(|transaction| transaction.node != node) {
            return Vec::new();
        }
        let mut elsewhere = Vec::new();
        if answer.error.is_none() {
            for (repeat, statements) in repeats(unit) {
                let sql = match &repeat {
                    Some(Repeat::Sql(sql)) => Some(Arc::clone(sql)),
                    _ => None,
                };
                elsewhere.extend(self.ledger.apply(router, repeat, sql.as_deref(), &statements, node));
            }
            if ask.any(|statement| statement.kind == StatementKind::Discard { what: Discard::All }) {
                self.collector.portals.clear();
            }
        }
        if let Some(status) = answer.status {
            let open = status != TransactionStatus::Idle;
            let committed = answer.error.is_none() && !answer.rolled_back;
            elsewhere.extend(self.ledger.follow(router, open, committed, node, ask));
            if !open {
                self.collector.portals.clear();
            }
        }
        elsewhere
    }
}
