//! One client's life: what it sends is collected into units, and each runs to its end before the next.

use std::sync::Arc;

use bytes::Buf;
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::trace::TransactionStatus;
use splitproof_replay::pair::Secret;
use tokio::net::TcpStream;

use super::client::Client;
use super::handshake::{CancelKey, Login};
use super::server::{Server, any_readable};
use super::settle::Repeat;
use super::start::{self, Wish};
use super::unit::{Collector, Next, Unit};
use super::{Ended, Service};
use crate::router::ledger::Ledger;
use crate::router::node::{NodeId, PRIMARY};
use crate::router::state::State;

/// One client.
pub(super) struct Session<'a> {
    pub service: &'a Service,
    pub id: u64,
    /// Statements so far.
    pub seq: u64,
    pub client: Client,
    pub login: Login,
    pub key: CancelKey,
    /// Connections to the servers, by their place.
    pub servers: Vec<Option<Server>>,
    pub ledger: Ledger<Repeat>,
    pub collector: Collector,
    /// The group that a Flush left open.
    pub group: Option<Group>,
}

/// A pipeline group under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub node: NodeId,
    /// Nothing has been bound or run in it, so that it can go on elsewhere.
    pub only_prepares: bool,
    /// An error was reported: the server passes over the rest up to the Sync.
    pub failed: bool,
}

/// Serves a client to its end.
pub async fn serve(service: Arc<Service>, id: u64, stream: TcpStream) {
    let mut client = Client::new(stream);
    let login = match start::begin(&mut client, &service.shared.router.config).await {
        Ok(Wish::Session(login)) => login,
        Ok(Wish::Cancel(key)) => return service.keys.cancel(&key).await,
        Err(why) => return client.farewell(&why).await,
    };
    let key = service.keys.issue();
    let mut session = Session {
        service: &service,
        id,
        seq: 0,
        client,
        login,
        key,
        servers: (0..service.shared.router.nodes.count()).map(|_| None).collect(),
        ledger: Ledger::new(State::default()),
        collector: Collector::default(),
        group: None,
    };
    let why = match session.live().await {
        Err(why) => why,
        Ok(never) => match never {},
    };
    service.keys.forget(session.key.process_id);
    session.client.farewell(&why).await;
    // A connection in the middle of something is of no use to others.
    if matches!(why, Ended::Gone) && session.group.is_none() {
        for (node, server) in session.servers.into_iter().enumerate() {
            if let Some(server) = server {
                service.pool.give(node, &session.login, server).await;
            }
        }
    }
}

impl Session<'_> {
    async fn live(&mut self) -> Result<std::convert::Infallible, Ended> {
        self.welcome().await?;
        loop {
            let unit = self.next_unit().await?;
            self.run(unit).await?;
            self.service.keys.at_work(self.key.process_id, None);
            self.client.flush().await?;
        }
    }

    /// Says what a server says when it is ready.
    async fn welcome(&mut self) -> Result<(), Ended> {
        self.open(PRIMARY).await?;
        let parameters =
            self.servers.first().and_then(|server| server.as_ref()).map(|server| server.parameters.clone());
        for (name, value) in parameters.unwrap_or_default() {
            self.client.say(|out| Backend::ParameterStatus { name: &name, value: &value }.encode(out))?;
        }
        let (process_id, secret) = (self.key.process_id, &self.key.secret);
        self.client.say(|out| Backend::BackendKeyData { process_id, secret }.encode(out))?;
        self.client.say(|out| Backend::ReadyForQuery(TransactionStatus::Idle).encode(out))?;
        self.client.flush().await
    }

    /// Waits for the client's next unit, and passes on what servers say meanwhile.
    async fn next_unit(&mut self) -> Result<Unit, Ended> {
        loop {
            let texts = &self.service.shared.router.texts;
            let (next, used) = self.collector.take(&self.client.input, &mut self.ledger.state, texts)?;
            self.client.input.advance(used);
            match next {
                Next::Unit(unit) => return Ok(unit),
                Next::Terminate => return Err(Ended::Gone),
                Next::Incomplete => {}
            }
            let speaks = tokio::select! {
                filled = self.client.fill() => {
                    filled?;
                    None
                }
                node = any_readable(&self.servers) => Some(node),
            };
            if let Some(node) = speaks {
                self.listen(node).await?;
            }
        }
    }

    /// A server says something that nobody asked for: a notification, a setting, or goodbye.
    async fn listen(&mut self, node: NodeId) -> Result<(), Ended> {
        let Some(server) = self.servers.get_mut(node).and_then(Option::as_mut) else { return Ok(()) };
        let read = server.stream.try_read_buf(&mut server.input);
        let mut goodbye = None;
        while let Ok(Some(frame)) = frame::next_from(Direction::Server, &server.input) {
            let length = frame.len;
            match Backend::decode(frame) {
                Ok(Backend::NotificationResponse(_) | Backend::NoticeResponse(_) | Backend::ParameterStatus { .. }) => {
                    self.client.output.extend_from_slice(&server.input.split_to(length));
                    continue;
                }
                Ok(Backend::ErrorResponse(fields)) => {
                    let text = |field: Option<&[u8]>| String::from_utf8_lossy(field.unwrap_or_default()).into_owned();
                    goodbye = Some((text(fields.sqlstate()), text(fields.message())));
                }
                _ => {}
            }
            server.input.advance(length);
        }
        self.client.flush().await?;
        match read {
            Ok(0) => {}
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {}
            _ => return Ok(()),
        }
        if let Some(server) = self.servers.get_mut(node) {
            *server = None;
        }
        if node != PRIMARY && !self.ledger.state.holds_on(node) {
            self.service.shared.router.nodes.failed(node);
            return Ok(());
        }
        let (code, problem) =
            goodbye.unwrap_or_else(|| ("57P01".to_owned(), "the server closed the connection".to_owned()));
        Err(self.lost(node, code, problem))
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
                let password = shared.router.config.password(&self.login.user);
                let password = password.map(|password| Secret::new(password.as_bytes()));
                let address = shared.router.nodes.get(node).map_or("", |node| &node.address);
                let connected = Server::connect(address, &self.login, password.as_ref()).await;
                connected.map_err(|no| {
                    if !no.refused {
                        shared.router.nodes.failed(node);
                    }
                    self.lost(node, no.code, no.problem)
                })?
            }
        };
        for repeat in self.ledger.history.settled() {
            repeat.run(&mut server).await.map_err(|problem| self.lost(node, "08006".to_owned(), problem))?;
        }
        if let Some(slot) = self.servers.get_mut(node) {
            *slot = Some(server);
        }
        Ok(())
    }

    pub fn lost(&self, node: NodeId, code: String, problem: String) -> Ended {
        Ended::Server { node: self.service.shared.router.nodes.name(node).to_owned(), code, problem }
    }
}
