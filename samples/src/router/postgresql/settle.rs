//! What a unit leaves behind: the session's state, and settings to repeat on the other servers.

use std::collections::VecDeque;
use std::sync::Arc;

use splitproof_capture::postgresql::Unencodable;
use splitproof_capture::postgresql::extended::{Bind, Parse};
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::sql::{Discard, Statement, StatementKind, TransactionMode};
use splitproof_capture::trace::TransactionStatus;

use super::answer::{Answer, Expect, What};
use super::server::Server;
use super::session::Session;
use super::unit::{PartKind, Portal, Unit};
use crate::router::fault;
use crate::router::need::{self, Need};
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
        for (name, generation) in &answer.refused {
            self.state.unprepare(name, Some(*generation));
        }
        if self.state.transaction.as_ref().is_some_and(|transaction| transaction.node != node) {
            return Vec::new();
        }
        let mut elsewhere = Vec::new();
        if answer.error.is_none() {
            for (repeat, statements) in repeats(unit) {
                elsewhere.extend(self.apply(repeat, &statements, node));
            }
        }
        if let Some(status) = answer.status {
            elsewhere.extend(self.follow(status, node, answer, ask));
            if status == TransactionStatus::Idle {
                self.collector.portals.clear();
            }
        }
        elsewhere
    }

    fn apply(&mut self, repeat: Option<Repeat>, statements: &[Arc<Statement>], node: NodeId) -> Vec<Repeat> {
        let config = &self.service.shared.router.config;
        let needs: Vec<Need> =
            statements.iter().map(|statement| need::of(statement, &self.state, config).need).collect();
        let writes = statements
            .iter()
            .zip(&needs)
            .any(|(statement, need)| *need == Need::Primary && !matches!(statement.kind, StatementKind::Begin(_)));
        let mut elsewhere = Vec::new();
        for statement in statements {
            elsewhere.extend(self.end_chained(statement, node));
            self.state.apply(statement, node);
            self.mark(statement);
        }
        self.remember_prepared(statements, repeat.as_ref());
        match &mut self.state.transaction {
            Some(transaction) => {
                transaction.wrote |= writes;
                transaction.fresh &= statements.iter().all(|statement| {
                    matches!(statement.kind, StatementKind::Begin(_) | StatementKind::SetTransaction(_))
                });
                if let Some(repeat) = &repeat
                    && (transaction.fresh || fault::repeats_commit(&self.service.shared.router.faults))
                {
                    self.done.push(repeat.clone());
                }
            }
            None => self.state.wrote |= writes,
        }
        if needs.contains(&Need::Everywhere) && fault::keeps_setting(&self.service.shared.router.faults) {
            match repeat {
                Some(repeat) if needs.iter().all(|need| *need == Need::Everywhere) => {
                    elsewhere.extend(self.set(repeat, statements));
                }
                _ => self.state.pinned = Some("a setting that cannot be repeated by itself"),
            }
        }
        elsewhere
    }

    /// A savepoint keeps the settings before it.
    fn mark(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Savepoint { name } => self.marks.push((name.clone(), self.history.mark())),
            StatementKind::RollbackTo { name } => {
                if let Some((_, mark)) = self.marks.iter().rfind(|(known, _)| known == name) {
                    self.history.roll_back(*mark);
                }
            }
            _ => {}
        }
    }

    /// Remembers a setting; gives it back to be repeated at once, outside a transaction.
    fn set(&mut self, repeat: Repeat, statements: &[Arc<Statement>]) -> Vec<Repeat> {
        let everything = |statement: &Arc<Statement>| statement.kind == StatementKind::Discard { what: Discard::All };
        if statements.iter().any(everything) {
            self.history.clear();
            self.collector.portals.clear();
            return vec![repeat];
        }
        let pending = self.state.transaction.is_some();
        self.history.push(key(statements), repeat.clone(), pending);
        if pending { Vec::new() } else { vec![repeat] }
    }

    /// PREPARE in SQL.
    fn remember_prepared(&mut self, statements: &[Arc<Statement>], repeat: Option<&Repeat>) {
        for statement in statements {
            if let (StatementKind::Prepare { name, inner }, Some(Repeat::Sql(sql))) = (&statement.kind, repeat) {
                let inner = vec![Arc::new((**inner).clone())];
                self.state.prepare(name.clone(), inner, Arc::clone(sql), How::Sql(Arc::clone(sql)));
            }
        }
    }

    /// AND CHAIN: one transaction ends and the next begins, though the status stays the same.
    fn end_chained(&mut self, statement: &Statement, node: NodeId) -> Vec<Repeat> {
        let (committed, chain) = match statement.kind {
            StatementKind::Commit { chain } => (true, chain),
            StatementKind::Rollback { chain } => (false, chain),
            _ => return Vec::new(),
        };
        let Some(modes) = self.state.transaction.as_ref().map(|transaction| transaction.modes).filter(|_| chain) else {
            return Vec::new();
        };
        let elsewhere = self.end(committed);
        self.state.begin(node, TransactionMode { read_only: Some(modes.read_only), isolation: Some(modes.isolation) });
        if let Some(transaction) = &mut self.state.transaction {
            transaction.fresh = false;
        }
        elsewhere
    }

    /// Follows what the server says about the transaction.
    fn follow(&mut self, status: TransactionStatus, node: NodeId, answer: &Answer, ask: &Ask) -> Vec<Repeat> {
        match (status, self.state.transaction.is_some()) {
            (TransactionStatus::Idle, true) => self.end(answer.error.is_none() && !answer.rolled_back),
            (TransactionStatus::Open | TransactionStatus::Failed, false) => {
                self.state.begin(node, TransactionMode::default());
                if let Some(transaction) = &mut self.state.transaction {
                    transaction.fresh = false;
                    transaction.wrote = ask.any(|statement| statement.effect == splitproof_capture::sql::Effect::Write);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The transaction is over; gives the settings that it made.
    fn end(&mut self, committed: bool) -> Vec<Repeat> {
        let wrote = self.state.transaction.as_ref().is_some_and(|transaction| transaction.wrote);
        let done = std::mem::take(&mut self.done);
        if committed && wrote && fault::repeats_commit(&self.service.shared.router.faults) {
            self.duplicate = Some(done);
        }
        self.marks.clear();
        self.state.end(committed);
        if committed {
            return self.history.commit();
        }
        self.history.roll_back(0);
        Vec::new()
    }
}

/// What a setting replaces.
fn key(statements: &[Arc<Statement>]) -> Option<String> {
    let [statement] = statements else { return None };
    Some(match &statement.kind {
        StatementKind::Set { name, .. } | StatementKind::Reset { name: Some(name) } => name.clone(),
        StatementKind::Reset { name: None } => "RESET ALL".to_owned(),
        kind => match statement.settings.as_slice() {
            [setting] => setting.name.as_ref()?.to_lowercase(),
            _ => format!("{kind:?}"),
        },
    })
}
