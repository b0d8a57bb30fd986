//! A command, from the decision to the last byte of its answer.

use std::sync::Arc;

use splitproof_capture::mysql::Status;
use splitproof_capture::sql::StatementKind;

use super::Ended;
use super::exchange::{Broken, exchange};
use super::outgoing::Outgoing;
use super::prepared::Prepared;
use super::progress::{Answer, Disguise};
use super::server::Known;
use super::session::Session;
use super::unit::{Unit, What};
use crate::router::fault;
use crate::router::log::{Entry, now_ns};
use crate::router::need::Need;
use crate::router::node::{NodeId, PRIMARY};
use crate::router::route::Decision;

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
