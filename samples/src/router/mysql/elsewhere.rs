//! What a session's other servers must do because of one of them.

use splitproof_capture::sql::StatementKind;

use super::Ended;
use super::progress::Answer;
use super::server::Server;
use super::session::Session;
use super::settle::Repeat;
use super::unit::Unit;
use crate::router::node::{NodeId, PRIMARY};

impl Session<'_> {
    /// Repeats something on another server of the session. One that cannot follow is dropped; should the session need
    /// it again, it is told everything anew.
    pub(super) async fn repeat_on(&mut self, node: NodeId, what: &[Repeat], open: bool, resets: bool) {
        if self.server(node).is_none() {
            if open {
                // A server that opens is told what was set, this included.
                let _ = self.open(node).await;
            }
            return;
        }
        for repeat in what {
            let Some(server) = self.server(node) else { return };
            if resets {
                server.forget_all();
            }
            if repeat.run(server).await.is_err() {
                self.drop_server(node);
            }
        }
    }

    /// The fault that runs a transaction a second time: its COMMIT was in flight, and the router took it for lost.
    pub(super) async fn run_again(&mut self, done: &[Repeat]) {
        let router = &self.service.shared.router;
        let address = router.nodes.get(PRIMARY).map_or("", |node| &node.address);
        let password = router.config.password(&self.login.user);
        let Ok(mut server) = Server::connect(address, &self.login, password).await else { return };
        for repeat in self.ledger.history.settled().iter().chain(done) {
            if repeat.run(&mut server).await.is_err() {
                return;
            }
        }
    }

    /// A transaction in which nothing has happened yet begins again elsewhere.
    pub(super) async fn move_transaction(&mut self, to: NodeId) -> Result<(), Ended> {
        let Some(from) = self.ledger.state.transaction.as_ref().map(|transaction| transaction.node) else {
            return Ok(());
        };
        if let Some(server) = self.server(from)
            && server.query("ROLLBACK").await.is_err()
        {
            self.drop_server(from);
        }
        let done = self.ledger.done.clone();
        for repeat in &done {
            let Some(server) = self.server(to) else { break };
            repeat.run(server).await.map_err(|problem| self.lost(to, 2013, &problem))?;
        }
        if let Some(transaction) = &mut self.ledger.state.transaction {
            transaction.node = to;
        }
        Ok(())
    }

    /// What SQL did to a server's prepared statements.
    pub(super) fn note_names(&mut self, unit: &Unit, node: NodeId, answer: &Answer) {
        if answer.error.is_some() {
            return;
        }
        for statement in unit.ask.statements() {
            match &statement.kind {
                StatementKind::Prepare { name, .. } => {
                    let generation = self.ledger.state.prepared(name).map(|prepared| prepared.generation);
                    if let (Some(generation), Some(server)) = (generation, self.server(node)) {
                        server.names.insert(name.clone(), generation);
                    }
                }
                StatementKind::Deallocate { name: Some(name) } => {
                    if let Some(server) = self.server(node) {
                        server.names.remove(name);
                    }
                }
                _ => {}
            }
        }
    }
}
