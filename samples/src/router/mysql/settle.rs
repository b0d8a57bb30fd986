//! What a command leaves behind: the session's state, and what the other servers must repeat.

use std::sync::Arc;

use splitproof_capture::mysql::{Code, Status};
use splitproof_capture::sql::StatementKind;

use super::prepared;
use super::progress::Answer;
use super::server::Server;
use super::session::Session;
use super::unit::{Unit, What};
use crate::router::node::NodeId;

/// Something that a server did and another one must do as well.
#[derive(Clone, Debug)]
pub(super) enum Repeat {
    /// A command.
    Command(Arc<[u8]>),
    /// A prepared statement: its text, long data, and the execution with its types.
    Execute { sql: Arc<str>, long: Vec<Arc<[u8]>>, execute: Arc<[u8]> },
}

impl Repeat {
    /// Runs it; nobody sees the answer. The error is that of the connection, not that of the statement.
    pub async fn run(&self, server: &mut Server) -> Result<Answer, String> {
        let (sql, long, execute) = match self {
            Repeat::Command(payload) => {
                server.database_changed |= payload.first() == Some(&Code::INIT_DB.0);
                return server.ask(payload).await;
            }
            Repeat::Execute { sql, long, execute } => (sql, long, execute),
        };
        let prepare = [&[Code::STMT_PREPARE.0], sql.as_bytes()].concat();
        let answer = server.ask(&prepare).await?;
        let Some(statement) = answer.prepared.map(|prepared| prepared.statement) else { return Ok(answer) };
        for data in long {
            server.ask(&prepared::renumbered(data, statement)).await?;
        }
        let answer = server.ask(&prepared::renumbered(execute, statement)).await?;
        let close = [&[Code::STMT_CLOSE.0][..], &statement.to_le_bytes()].concat();
        server.ask(&close).await?;
        Ok(answer)
    }
}

impl Session<'_> {
    /// How another server repeats a unit.
    pub(super) fn repeat(&self, unit: &Unit) -> Repeat {
        match unit.what {
            What::Execute(number) => match self.statements.get(number) {
                Some(known) => Repeat::Execute {
                    sql: known.text.sql.as_ref().into(),
                    long: known.long.clone(),
                    execute: prepared::with_types(unit.payload.clone(), known.parameters, known.types.as_ref()).into(),
                },
                None => Repeat::Command(unit.payload.as_slice().into()),
            },
            _ => Repeat::Command(unit.payload.as_slice().into()),
        }
    }

    /// Takes over what a unit did on `node`; gives what the other servers must repeat.
    pub(super) fn settle(&mut self, unit: &Unit, node: NodeId, answer: &Answer) -> Vec<Repeat> {
        let router = &self.service.shared.router;
        let well = answer.error.is_none();
        if self.ledger.state.transaction.as_ref().is_some_and(|transaction| transaction.node != node) {
            return Vec::new();
        }
        let mut elsewhere = Vec::new();
        if well {
            match unit.what {
                What::Text | What::Execute(_) => {
                    let repeat = self.repeat(unit);
                    let sql = unit.ask.texts.first().filter(|_| unit.what == What::Text).map(|text| &*text.sql);
                    let statements = unit.ask.texts.first().map(|text| text.statements.clone()).unwrap_or_default();
                    elsewhere.extend(self.ledger.apply(router, Some(repeat), sql, &statements, node));
                }
                What::Database | What::Option => {
                    let repeat = self.repeat(unit);
                    let key = if unit.what == What::Database { "database" } else { "COM_SET_OPTION" };
                    self.ledger.history.push(Some(key.to_owned()), repeat.clone(), false);
                    elsewhere.push(repeat);
                }
                What::Reset => {
                    self.ledger.reset();
                    self.statements.clear();
                    elsewhere.push(self.repeat(unit));
                }
                _ => {}
            }
        }
        if let Some(status) = answer.status.filter(|_| !unit.is_aside()) {
            let rolled_back = unit.ask.any(|statement| matches!(statement.kind, StatementKind::Rollback { .. }));
            let open = status.contains(Status::IN_TRANS);
            elsewhere.extend(self.ledger.follow(router, open, !rolled_back, node, &unit.ask));
        }
        if matches!(unit.what, What::Text | What::Execute(_)) && !unit.everywhere {
            self.ledger.state.last_node = Some(node);
        }
        elsewhere
    }
}
