//! One client's life: each command runs to its end before the next.

use std::sync::Arc;

use splitproof_capture::mysql::Status;
use tokio::net::TcpStream;

use super::client::Client;
use super::login::Login;
use super::prepared::Statements;
use super::server::Server;
use super::settle::Repeat;
use super::{Ended, Service, start};
use crate::router::ledger::Ledger;
use crate::router::node::{NodeId, PRIMARY};
use crate::router::state::State;

/// One client.
pub(super) struct Session<'a> {
    pub service: &'a Service,
    pub id: u64,
    /// The router's number of the connection.
    pub connection: u32,
    /// Statements so far.
    pub seq: u64,
    pub client: Client,
    pub login: Login,
    /// Connections to the servers, by their place.
    pub servers: Vec<Option<Server>>,
    pub ledger: Ledger<Repeat>,
    pub statements: Statements,
}

/// Serves a client to its end.
pub async fn serve(service: Arc<Service>, id: u64, stream: TcpStream) {
    let mut client = Client::new(stream);
    let connection = service.connections.issue();
    match start::begin(&mut client, &service, connection).await {
        Ok(login) => {
            let servers = (0..service.shared.router.nodes.count()).map(|_| None).collect();
            let (ledger, statements) = (Ledger::new(State::of_mysql()), Statements::default());
            let mut session =
                Session { service: &service, id, connection, seq: 0, client, login, servers, ledger, statements };
            let why = match session.live().await {
                Err(why) => why,
                Ok(never) => match never {},
            };
            session.client.farewell(&why).await;
            // A connection in the middle of something is of no use to others.
            if matches!(why, Ended::Gone) {
                for (node, server) in session.servers.into_iter().enumerate() {
                    if let Some(server) = server {
                        service.pool.give(node, &session.login, server).await;
                    }
                }
            }
        }
        Err(why) => client.farewell(&why).await,
    }
    service.connections.forget(connection);
}

impl Session<'_> {
    async fn live(&mut self) -> Result<std::convert::Infallible, Ended> {
        self.open(PRIMARY).await?;
        self.client.say_ok(Status::AUTOCOMMIT)?;
        loop {
            self.client.flush().await?;
            let payload = self.client.payload().await?;
            self.run(payload).await?;
        }
    }

    /// The connection to a server, opened if it is not; it knows what the session has set.
    pub async fn open(&mut self, node: NodeId) -> Result<(), Ended> {
        if self.servers.get(node).is_none_or(Option::is_some) {
            return Ok(());
        }
        let shared = &self.service.shared;
        let mut server = match self.service.pool.take(node, &self.login) {
            Some(server) => server,
            None => {
                let address = shared.router.nodes.get(node).map_or("", |node| &node.address);
                let password = shared.router.config.password(&self.login.user);
                match Server::connect(address, &self.login, password).await {
                    Ok(server) => server,
                    Err(no) => {
                        if !no.refused {
                            shared.router.nodes.failed(node);
                        }
                        return Err(self.lost(node, no.code, &no.problem));
                    }
                }
            }
        };
        for repeat in self.ledger.history.settled() {
            repeat.run(&mut server).await.map_err(|problem| self.lost(node, 2013, &problem))?;
        }
        self.service.connections.at_work(self.connection, (node, server.connection));
        if let Some(slot) = self.servers.get_mut(node) {
            *slot = Some(server);
        }
        Ok(())
    }

    pub fn lost(&self, node: NodeId, code: u16, problem: &str) -> Ended {
        Ended::Server { code, problem: format!("{}: {problem}", self.service.shared.router.nodes.name(node)) }
    }

    pub fn server(&mut self, node: NodeId) -> Option<&mut Server> {
        self.servers.get_mut(node).and_then(Option::as_mut)
    }

    pub fn drop_server(&mut self, node: NodeId) {
        if let Some(server) = self.servers.get_mut(node) {
            *server = None;
        }
    }
}
