//! Statements prepared in SQL, and where they are.

use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::sql::{Discard, Statement, StatementKind};
use splitproof_capture::trace::TransactionStatus;

use super::Ended;
use super::answer::{Answer, Expect, What};
use super::session::Session;
use super::unit::{PartKind, Unit};
use crate::router::node::NodeId;
use crate::router::route::Ask;
use crate::router::state::How;

impl Session<'_> {
    /// EXECUTE, and Bind of what SQL prepared, work only where it is prepared.
    pub(super) async fn prepare_in_sql(&mut self, unit: &Unit, ask: &Ask, node: NodeId) -> Result<(), Ended> {
        let mut names: Vec<String> = ask.statements().filter_map(|statement| executed(statement)).collect();
        names.extend(unit.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Bind { statement, prepared: Some(prepared) } if matches!(prepared.how, How::Sql(_)) => {
                Some(statement.clone())
            }
            _ => None,
        }));
        for name in names {
            let Some(prepared) = self.ledger.state.prepared(&name).cloned() else { continue };
            let Some(server) = self.server(node) else { return Ok(()) };
            let known = server.prepared.get(&name).copied();
            if known == Some(prepared.generation) || server.status == TransactionStatus::Failed {
                continue;
            }
            let quoted = name.replace('"', "\"\"");
            let prepare = async {
                if known.is_some() {
                    server.query(&format!("DEALLOCATE \"{quoted}\"")).await?;
                }
                match &prepared.how {
                    How::Sql(sql) => drop(server.query(sql).await?),
                    How::Message(parse) => {
                        let mut bytes = parse.to_vec();
                        Frontend::Sync.encode(&mut bytes).map_err(|error| error.to_string())?;
                        let parse = What::Parse(name.clone(), prepared.generation);
                        let expect = [parse, What::Sync].map(|what| Expect { what, ours: true });
                        server.ask(&bytes, expect.into()).await?;
                    }
                }
                server.prepared.insert(name.clone(), prepared.generation);
                Ok::<_, String>(())
            };
            if let Err(problem) = prepare.await {
                return Err(self.lost(node, "57P01".to_owned(), problem));
            }
        }
        Ok(())
    }

    /// What SQL did to a server's prepared statements.
    pub(super) fn note_prepared(&mut self, ask: &Ask, node: NodeId, answer: &Answer) {
        if answer.error.is_some() {
            return;
        }
        for statement in ask.statements() {
            match &statement.kind {
                StatementKind::Prepare { name, .. } => {
                    let generation = self.ledger.state.prepared(name).map(|prepared| prepared.generation);
                    if let (Some(generation), Some(server)) = (generation, self.server(node)) {
                        server.prepared.insert(name.clone(), generation);
                    }
                }
                StatementKind::Deallocate { name: Some(name) } => {
                    if let Some(server) = self.server(node) {
                        server.prepared.remove(name);
                    }
                }
                // Every server of the session forgets them.
                StatementKind::Deallocate { name: None } | StatementKind::Discard { what: Discard::All } => {
                    for server in self.servers.iter_mut().flatten() {
                        server.prepared.clear();
                    }
                }
                _ => {}
            }
        }
    }

    /// The servers on which a prepared statement is to be forgotten.
    pub(super) fn holders(&self, ask: &Ask) -> Vec<NodeId> {
        let mut statements = ask.statements();
        let (Some(statement), None) = (statements.next(), statements.next()) else { return Vec::new() };
        let StatementKind::Deallocate { name: Some(name) } = &statement.kind else { return Vec::new() };
        let servers = self.servers.iter().enumerate();
        servers
            .filter(|(_, server)| server.as_ref().is_some_and(|server| server.prepared.contains_key(name)))
            .map(|(node, _)| node)
            .collect()
    }
}

/// The prepared statement that a statement executes.
fn executed(statement: &Statement) -> Option<String> {
    match &statement.kind {
        StatementKind::Execute { name } => Some(name.clone()),
        StatementKind::Explain { inner, .. } => executed(inner),
        _ => None,
    }
}
