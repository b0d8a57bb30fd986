//! What a session's other servers must do because of one of them.

use splitproof_replay::pair::Secret;

use super::Ended;
use super::server::Server;
use super::session::Session;
use super::settle::Repeat;
use crate::router::node::{NodeId, PRIMARY};

impl Session<'_> {
    /// Repeats something on another server of the session. One that cannot follow is dropped; should the session need
    /// it again, it is told everything anew.
    pub(super) async fn repeat(&mut self, node: NodeId, what: &[Repeat], open: bool) {
        if self.server(node).is_none() {
            if open {
                // A server that opens is told what was set, this included.
                let _ = self.open(node).await;
            }
            return;
        }
        for repeat in what {
            let Some(server) = self.server(node) else { return };
            if repeat.run(server).await.is_err() {
                self.drop_server(node);
            }
        }
    }

    /// The fault that runs a transaction a second time: its COMMIT was in flight, and the router took it for lost.
    pub(super) async fn run_again(&mut self, done: &[Repeat]) {
        let router = &self.service.shared.router;
        let password = router.config.password(&self.login.user).map(|password| Secret::new(password.as_bytes()));
        let address = router.nodes.get(PRIMARY).map_or("", |node| &node.address);
        let Ok(mut server) = Server::connect(address, &self.login, password.as_ref()).await else { return };
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
            repeat.run(server).await.map_err(|problem| self.lost(to, "57P01".to_owned(), problem))?;
        }
        if let Some(transaction) = &mut self.ledger.state.transaction {
            transaction.node = to;
        }
        Ok(())
    }
}
