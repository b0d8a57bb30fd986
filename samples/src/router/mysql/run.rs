//! A command, from the decision to the last byte of its answer.

use std::sync::Arc;

use splitproof_capture::mysql::{Code, Command, Status};
use splitproof_capture::sql::StatementKind;

use super::Ended;
use super::exchange::{Broken, exchange};
use super::outgoing::Outgoing;
use super::prepared::{self, Prepared};
use super::progress::{Answer, Disguise};
use super::server::{Known, Server};
use super::session::Session;
use super::settle::Repeat;
use crate::router::fault;
use crate::router::log::{Entry, now_ns};
use crate::router::need::Need;
use crate::router::node::{NodeId, PRIMARY};
use crate::router::route::{Ask, Decision};

/// A command that is routed.
#[derive(Debug)]
pub(super) struct Unit {
    pub what: What,
    pub payload: Vec<u8>,
    pub ask: Ask,
    /// Every server of the session runs it.
    pub everywhere: bool,
}

/// What a command is, as far as a router must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Text,
    Prepare,
    Execute(u32),
    Bulk(u32),
    /// COM_STMT_FETCH and COM_STMT_RESET, which go where the statement ran.
    Cursor(u32),
    Database,
    Option,
    Reset,
    Other,
}

impl Unit {
    /// Whether its status says nothing of a transaction: the statement behind it ran earlier.
    pub fn is_aside(&self) -> bool {
        matches!(self.what, What::Prepare | What::Cursor(_))
    }

    /// Whether it is a statement for the decision log.
    fn runs(&self) -> bool {
        matches!(self.what, What::Text | What::Execute(_) | What::Bulk(_))
    }
}

impl Session<'_> {
    /// Runs a command to its end.
    pub(super) async fn run(&mut self, payload: Vec<u8>) -> Result<(), Ended> {
        let Some(unit) = self.unit(payload).await? else { return Ok(()) };
        let service = self.service;
        let shared = &service.shared;
        // Each attempt but the last finds one more replica that is down.
        for last in (0..=shared.router.nodes.count()).map(|attempt| attempt == shared.router.nodes.count()) {
            let decision = self.place(&unit).await;
            let may_retry = !last && decision.node != PRIMARY && self.ledger.state.transaction.is_none();
            match self.open(decision.node).await {
                Ok(()) => {}
                Err(_) if may_retry => continue,
                Err(ended) => return Err(ended),
            }
            let unit = Unit { everywhere: decision.everywhere, ..unit };
            let others = self.others(&decision);
            self.write_log(&unit, &decision, &others);
            if decision.moves {
                self.move_transaction(decision.node).await?;
            }
            let writes = decision.need == Need::Primary || self.ledger.state.transaction.is_some();
            let counts = writes && decision.node == PRIMARY && fault::remembers(&shared.router.faults, &unit.ask);
            let write = counts.then(|| shared.positions.write());
            self.prepare_in_sql(&unit, decision.node).await?;
            return match self.exchange(&unit, decision.node).await {
                Ok(answer) => {
                    self.finish(&unit, &decision, &others, &answer).await;
                    drop(write);
                    self.client.send(&answer.last);
                    Ok(())
                }
                Err(Broken::Server { problem, relayed }) => {
                    if !relayed && may_retry && decision.need == Need::Read {
                        shared.router.nodes.failed(decision.node);
                        self.drop_server(decision.node);
                        return Box::pin(self.run(unit.payload)).await;
                    }
                    self.drop_server(decision.node);
                    Err(self.lost(decision.node, 2013, &problem))
                }
                Err(Broken::Client(ended)) => {
                    // The answer under way belongs to nobody.
                    self.drop_server(decision.node);
                    Err(ended)
                }
            };
        }
        Err(self.lost(PRIMARY, 2003, "no server answers"))
    }

    /// What a command asks of the router; `None` when the router has done with it already.
    async fn unit(&mut self, payload: Vec<u8>) -> Result<Option<Unit>, Ended> {
        let texts = &self.service.shared.router.texts;
        let mut ask = Ask::default();
        let what = match Command::decode(&payload, self.client.capabilities)? {
            Command::Quit => return Err(Ended::Gone),
            Command::Query(query) => {
                ask.texts.push(texts.get(&String::from_utf8_lossy(query.sql)));
                if let Some(query_only) = kills(&ask) {
                    let sql = ask.texts.first().map_or("", |text| &*text.sql);
                    let target = sql.rsplit(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok());
                    self.kill(target, query_only).await?;
                    return Ok(None);
                }
                What::Text
            }
            Command::Prepare { sql } => {
                ask.texts.push(texts.get(&String::from_utf8_lossy(sql)));
                What::Prepare
            }
            Command::Execute(_) | Command::BulkExecute(_) | Command::Fetch { .. } | Command::Reset { .. } => {
                let number = self.statements.resolve(prepared::number(&payload).unwrap_or_default());
                let Some(known) = self.statements.get_mut(number) else {
                    self.client.say_error(1243, "Unknown prepared statement handler");
                    return Ok(None);
                };
                match payload.first().map(|code| Code(*code)) {
                    Some(Code::STMT_EXECUTE) => {
                        ask.texts.push(Arc::clone(&known.text));
                        ask.prepared = true;
                        What::Execute(number)
                    }
                    Some(Code::STMT_BULK_EXECUTE) => {
                        ask.texts.push(Arc::clone(&known.text));
                        ask.prepared = true;
                        What::Bulk(number)
                    }
                    code => {
                        if code == Some(Code::STMT_RESET) {
                            known.long.clear();
                        }
                        ask.also = Some(Need::Node(known.node));
                        What::Cursor(number)
                    }
                }
            }
            Command::LongData(data) => {
                let number = self.statements.resolve(data.statement);
                if let Some(known) = self.statements.get_mut(number) {
                    known.long.push(payload.as_slice().into());
                }
                return Ok(None);
            }
            Command::Close { statement } => {
                self.close(statement).await;
                return Ok(None);
            }
            Command::InitDb { .. } => What::Database,
            Command::SetOption { .. } => What::Option,
            Command::ResetConnection => What::Reset,
            Command::ChangeUser(_) => {
                self.change_user(&payload).await?;
                return Ok(None);
            }
            Command::ProcessKill { connection } => {
                self.kill(Some(connection), false).await?;
                return Ok(None);
            }
            Command::Ping | Command::Statistics | Command::FieldList { .. } => What::Other,
            Command::Other { code, .. } => {
                let name = code.name().unwrap_or("an unknown command");
                self.client.say_error(1235, &format!("{name} does not go through this router"));
                return Ok(None);
            }
        };
        if matches!(what, What::Database | What::Option | What::Reset) {
            ask.also = Some(Need::Everywhere);
        }
        ask.holders = self.holders(&ask);
        Ok(Some(Unit { what, payload, ask, everywhere: false }))
    }

    /// Where the unit goes, once its server is as far as it must be.
    async fn place(&mut self, unit: &Unit) -> Decision {
        let shared = &self.service.shared;
        let mut decision = shared.router.route(&self.ledger.state, &unit.ask);
        if let What::Cursor(number) = unit.what {
            // Its cursor is nowhere else, whatever has become of the transaction.
            let node = self.statements.get(number).map_or(PRIMARY, |known| known.node);
            return Decision { node, waits: false, moves: false, everywhere: false, ..decision };
        }
        if decision.waits && unit.runs() {
            let patience = fault::patience(&shared.router.faults, shared.router.config.causal_timeout());
            let arrived = shared.positions.wait(&shared.router.nodes, decision.node, patience).await;
            let transaction = self.ledger.state.transaction.as_ref();
            let stuck = transaction.is_some_and(|transaction| !transaction.fresh);
            if !arrived && !stuck && !fault::goes_stale(&shared.router.faults) {
                decision.moves = transaction.is_some_and(|transaction| transaction.node != PRIMARY);
                decision.node = PRIMARY;
                decision.reason = "the replica did not catch up in time".into();
            }
        }
        decision
    }

    async fn exchange(&mut self, unit: &Unit, node: NodeId) -> Result<Answer, Broken> {
        let number = self.statements.next();
        let (bytes, progress) = match self.outgoing(unit, node).await.map_err(Broken::Client)? {
            Outgoing::Packets(bytes, progress) => (bytes, *progress),
            Outgoing::Refused(answer) => return Ok(answer),
        };
        let gone = || Broken::Server { problem: "the connection is gone".to_owned(), relayed: false };
        let Some(server) = self.servers.get_mut(node).and_then(Option::as_mut) else { return Err(gone()) };
        self.service.connections.at_work(self.connection, (node, server.connection));
        let answer = exchange(&mut self.client, server, bytes, progress).await?;
        server.status = answer.status.unwrap_or(server.status);
        match unit.what {
            What::Prepare => {
                if let (Some(prepared), Some(text)) = (&answer.prepared, unit.ask.texts.first()) {
                    server.statements.insert(number, Known { statement: prepared.statement, types: None });
                    let (parameters, text) = (prepared.parameters, Arc::clone(text));
                    self.statements.insert(number, Prepared { text, parameters, types: None, long: Vec::new(), node });
                }
            }
            What::Reset if answer.error.is_none() => server.forget_all(),
            What::Database => server.database_changed = true,
            _ => {
                server.database_changed |= unit.ask.any(|statement| matches!(statement.kind, StatementKind::Use { .. }))
            }
        }
        Ok(answer)
    }

    /// How the client's session differs from what the server sees of it.
    pub(super) fn disguise(&self, unit: &Unit, node: NodeId) -> Disguise {
        let statement = (unit.what == What::Prepare).then(|| self.statements.next());
        let state = &self.ledger.state;
        let open = state.transaction.as_ref().filter(|transaction| transaction.node != node);
        let set = if open.is_some() { Status::IN_TRANS } else { Status::default() };
        let off = !state.autocommit && node != PRIMARY;
        let unset = if off { Status::AUTOCOMMIT } else { Status::default() };
        Disguise { set, unset, statement }
    }

    /// What follows from the answer before the client learns that it is complete.
    async fn finish(&mut self, unit: &Unit, decision: &Decision, others: &[NodeId], answer: &Answer) {
        let again = self.repeat(unit);
        let elsewhere = self.settle(unit, decision.node, answer);
        if let What::Execute(number) = unit.what
            && let Some(known) = self.statements.get_mut(number)
        {
            known.long.clear();
        }
        self.note_names(unit, decision.node, answer);
        for node in 0..self.servers.len() {
            if node != decision.node && !elsewhere.is_empty() {
                let open = others.contains(&node) && unit.what != What::Reset;
                self.repeat_on(node, &elsewhere, open, unit.what == What::Reset).await;
            }
        }
        if answer.error.is_none() && unit.runs() {
            for node in &decision.others {
                let _ = self.open(*node).await;
                self.repeat_on(*node, std::slice::from_ref(&again), false, false).await;
                self.note_names(unit, *node, answer);
            }
        }
        if let Some(done) = self.ledger.duplicate.take() {
            self.run_again(&done).await;
        }
    }

    /// Repeats something on another server of the session. One that cannot follow is dropped; should the session need
    /// it again, it is told everything anew.
    async fn repeat_on(&mut self, node: NodeId, what: &[Repeat], open: bool, resets: bool) {
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
    async fn run_again(&mut self, done: &[Repeat]) {
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
    async fn move_transaction(&mut self, to: NodeId) -> Result<(), Ended> {
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

    /// COM_STMT_CLOSE, which nobody answers.
    async fn close(&mut self, number: u32) {
        let number = self.statements.resolve(number);
        self.statements.remove(number);
        for server in self.servers.iter_mut().flatten() {
            if let Some(known) = server.statements.remove(&number) {
                let close = [&[Code::STMT_CLOSE.0][..], &known.statement.to_le_bytes()].concat();
                // A connection that is gone shows itself at the next statement.
                let _ = server.ask(&close).await;
            }
        }
    }

    /// COM_CHANGE_USER, on every server of the session.
    async fn change_user(&mut self, payload: &[u8]) -> Result<(), Ended> {
        let Command::ChangeUser(change) = Command::decode(payload, self.client.capabilities)? else { return Ok(()) };
        let user = String::from_utf8_lossy(change.user).into_owned();
        let config = &self.service.shared.router.config;
        super::start::authenticate(&mut self.client, &user, None, &[], config).await?;
        let attributes =
            change.attributes.map(|attributes| splitproof_capture::mysql::Attributes::bytes(attributes.iter()));
        let password = config.password(&user);
        self.login = super::login::Login {
            user,
            database: Some(change.database.to_vec()).filter(|name| !name.is_empty()),
            collation: change.collation.unwrap_or(self.login.collation),
            attributes: attributes.unwrap_or_default(),
            ..self.login.clone()
        };
        self.ledger.reset();
        self.statements.clear();
        for node in 0..self.servers.len() {
            let login = self.login.clone();
            let Some(server) = self.server(node) else { continue };
            server.database_changed = false;
            match server.change_user(&login, password).await {
                Ok(()) => {}
                Err(no) if node == PRIMARY => return Err(self.lost(node, no.code, &no.problem)),
                Err(_) => self.drop_server(node),
            }
        }
        self.client.say_ok(Status::AUTOCOMMIT)
    }

    /// Ends another connection, or its statement, on the server that works for it.
    async fn kill(&mut self, target: Option<u32>, query_only: bool) -> Result<(), Ended> {
        let found = target.and_then(|target| self.service.connections.find(target));
        let Some((node, connection)) = found else {
            let message = format!("Unknown thread id: {}", target.unwrap_or_default());
            self.client.say_error(1094, &message);
            return Ok(());
        };
        self.open(node).await?;
        let sql = format!("KILL {}{connection}", if query_only { "QUERY " } else { "" });
        let Some(server) = self.server(node) else { return Ok(()) };
        let answer = server.query(&sql).await.map_err(|problem| self.lost(node, 2013, &problem))?;
        self.client.send(&answer.last);
        Ok(())
    }

    /// What SQL did to a server's prepared statements.
    fn note_names(&mut self, unit: &Unit, node: NodeId, answer: &Answer) {
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

    /// The servers on which a prepared statement is to be forgotten.
    fn holders(&self, ask: &Ask) -> Vec<NodeId> {
        let mut statements = ask.statements();
        let (Some(statement), None) = (statements.next(), statements.next()) else { return Vec::new() };
        let StatementKind::Deallocate { name: Some(name) } = &statement.kind else { return Vec::new() };
        let servers = self.servers.iter().enumerate();
        let holders =
            servers.filter(|(_, server)| server.as_ref().is_some_and(|server| server.names.contains_key(name)));
        holders.map(|(node, _)| node).collect()
    }

    /// The other servers that will run the unit as well.
    fn others(&self, decision: &Decision) -> Vec<NodeId> {
        let nodes = &self.service.shared.router.nodes;
        if !decision.everywhere {
            return decision.others.clone();
        }
        (0..nodes.count()).filter(|node| *node != decision.node && nodes.is_up(*node)).collect()
    }

    fn write_log(&mut self, unit: &Unit, decision: &Decision, others: &[NodeId]) {
        if !unit.runs() {
            return;
        }
        let (shared, session, seq) = (&self.service.shared, self.id, self.seq);
        self.seq += 1;
        shared.log.write(|| Entry {
            time_ns: now_ns(),
            session,
            seq,
            sql: unit.ask.texts.first().map_or_else(String::new, |text| text.sql.to_string()),
            destinations: [decision.node]
                .iter()
                .chain(others)
                .map(|node| shared.router.nodes.name(*node).to_owned())
                .collect(),
            reason: decision.reason.to_string(),
            fault: decision.fault.map(|fault| fault.name().to_owned()),
        });
    }
}

/// Whether a text is a KILL, and only of a statement.
fn kills(ask: &Ask) -> Option<bool> {
    let mut statements = ask.statements();
    let (Some(statement), None) = (statements.next(), statements.next()) else { return None };
    match statement.kind {
        StatementKind::Kill { query } => Some(query),
        _ => None,
    }
}
