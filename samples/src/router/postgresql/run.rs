//! A unit, from the decision to the last byte of its answer.

use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::trace::TransactionStatus;

use super::Ended;
use super::answer::{Answer, Expect, Progress, What};
use super::exchange::{Broken, exchange};
use super::outgoing::Outgoing;
use super::server::Server;
use super::session::{Group, Session};
use super::settle::{Repeat, repeats};
use super::unit::{End, PartKind, Unit};
use crate::router::fault;
use crate::router::log::{Entry, now_ns};
use crate::router::need::Need;
use crate::router::node::{NodeId, PRIMARY};
use crate::router::route::{Ask, Decision};

impl Session<'_> {
    /// Runs a unit to its end.
    pub(super) async fn run(&mut self, unit: Unit) -> Result<(), Ended> {
        let service = self.service;
        let shared = &service.shared;
        let mut ask = unit.ask(&shared.router.texts);
        ask.holders = self.holders(&ask);
        // Each attempt but the last finds one more replica that is down.
        for last in (0..=shared.router.nodes.count()).map(|attempt| attempt == shared.router.nodes.count()) {
            let decision = self.place(&unit, &ask).await?;
            let may_retry =
                !last && decision.node != PRIMARY && self.ledger.state.transaction.is_none() && self.group.is_none();
            match self.open(decision.node).await {
                Ok(()) => {}
                Err(_) if may_retry => continue,
                Err(ended) => return Err(ended),
            }
            let others = self.others(&decision);
            self.write_log(&unit, &decision, &others);
            if decision.moves {
                self.move_transaction(decision.node).await?;
            }
            let writes = decision.need == Need::Primary || self.ledger.state.transaction.is_some();
            let counts = writes && decision.node == PRIMARY && fault::remembers(&shared.router.faults, &ask);
            let write = counts.then(|| shared.positions.write());
            self.prepare_in_sql(&unit, &ask, decision.node).await?;
            match self.exchange(&unit, &ask, decision.node).await {
                Ok(answer) => {
                    self.finish(&unit, &ask, &decision, &others, &answer).await?;
                    drop(write);
                    return self.ready(decision.node, &answer);
                }
                Err(Broken::Server { relayed: false, .. }) if may_retry && decision.need == Need::Read => {
                    shared.router.nodes.failed(decision.node);
                    self.drop_server(decision.node);
                }
                Err(Broken::Server { problem, .. }) => {
                    return Err(self.lost(decision.node, "57P01".to_owned(), problem));
                }
                Err(Broken::Client(ended)) => {
                    // The answer under way belongs to nobody.
                    self.drop_server(decision.node);
                    return Err(ended);
                }
            }
        }
        Err(self.lost(PRIMARY, "08006".to_owned(), "no server answers".to_owned()))
    }

    /// Where the unit goes, once its server is as far as it must be.
    async fn place(&mut self, unit: &Unit, ask: &Ask) -> Result<Decision, Ended> {
        let shared = &self.service.shared;
        let mut decision = shared.router.route(&self.ledger.state, ask);
        if let Some(group) = self.group {
            let leaves = group.only_prepares && !group.failed && decision.node == PRIMARY && group.node != PRIMARY;
            if leaves {
                self.group = None;
                if let Some(server) = self.server(group.node) {
                    let mut sync = Vec::new();
                    Frontend::Sync.encode(&mut sync)?;
                    let answered = server.ask(&sync, [Expect { what: What::Sync, ours: true }].into()).await;
                    answered.map_err(|problem| self.lost(group.node, "57P01".to_owned(), problem))?;
                }
            } else {
                return Ok(Decision { node: group.node, waits: false, moves: false, ..decision });
            }
        }
        if decision.waits && unit.runs() {
            let patience = fault::patience(&shared.router.faults, shared.router.config.causal_timeout());
            let arrived = shared.positions.wait(&shared.router.nodes, decision.node, patience).await;
            let stuck = self.ledger.state.transaction.as_ref().is_some_and(|transaction| !transaction.fresh);
            if !arrived && !stuck && !fault::goes_stale(&shared.router.faults) {
                decision.moves =
                    self.ledger.state.transaction.as_ref().is_some_and(|transaction| transaction.node != PRIMARY);
                decision.node = PRIMARY;
                decision.reason = "the replica did not catch up in time".into();
            }
        }
        Ok(decision)
    }

    async fn exchange(&mut self, unit: &Unit, ask: &Ask, node: NodeId) -> Result<Answer, Broken> {
        let service = self.service;
        let gone = || Broken::Server { problem: "the connection is gone".to_owned(), relayed: false };
        let Some(server) = self.servers.get_mut(node).and_then(Option::as_mut) else { return Err(gone()) };
        let mut out = Outgoing::of(unit, server).map_err(|error| Broken::Client(error.into()))?;
        if self.group.is_some_and(|group| group.failed) {
            out.expect.retain(|expect| expect.what == What::Sync);
        }
        let at_work = server.key.clone().map(|key| (server.address.clone(), key));
        service.keys.at_work(self.key.process_id, at_work);
        let drop_rows = fault::drops_rows(&service.shared.router.faults, ask);
        let progress = Progress::new(out.expect, drop_rows);
        let answer = exchange(&mut self.client, server, out.bytes, progress, unit.end != End::Whole).await?;
        server.note(&answer);
        Ok(answer)
    }

    /// What follows from the answer before the client learns that it is complete.
    async fn finish(
        &mut self,
        unit: &Unit,
        ask: &Ask,
        decision: &Decision,
        others: &[NodeId],
        answer: &Answer,
    ) -> Result<(), Ended> {
        let elsewhere = self.settle(unit, ask, decision.node, answer);
        self.note_prepared(ask, decision.node, answer);
        self.group = (unit.end == End::Flush).then(|| Group {
            node: decision.node,
            only_prepares: self.group.is_none_or(|group| group.only_prepares)
                && !unit.parts.iter().any(|part| matches!(part.kind, PartKind::Bind { .. } | PartKind::Execute(_))),
            failed: answer.error.is_some() || self.group.is_some_and(|group| group.failed),
        });
        let all = 0..self.servers.len();
        for node in all.filter(|node| *node != decision.node && !elsewhere.is_empty()) {
            self.repeat(node, &elsewhere, others.contains(&node)).await;
        }
        if !decision.others.is_empty() && answer.error.is_none() {
            let same: Vec<Repeat> = repeats(unit).into_iter().filter_map(|(repeat, _)| repeat).collect();
            for node in &decision.others {
                let _ = self.open(*node).await;
                self.repeat(*node, &same, false).await;
                self.note_prepared(ask, *node, answer);
            }
        }
        if let Some(done) = self.ledger.duplicate.take() {
            self.run_again(&done).await;
        }
        Ok(())
    }

    /// Says that the unit is complete.
    fn ready(&mut self, node: NodeId, answer: &Answer) -> Result<(), Ended> {
        let Some(status) = answer.status else { return Ok(()) };
        // A client in a transaction elsewhere is still in it.
        let elsewhere = self.ledger.state.transaction.as_ref().is_some_and(|transaction| transaction.node != node);
        let status = if elsewhere { TransactionStatus::Open } else { status };
        self.client.say(|out| Backend::ReadyForQuery(status).encode(out))
    }

    /// The other servers that will run the unit as well.
    fn others(&self, decision: &Decision) -> Vec<NodeId> {
        let nodes = &self.service.shared.router.nodes;
        if !decision.everywhere || self.ledger.state.transaction.is_some() {
            return decision.others.clone();
        }
        (0..nodes.count()).filter(|node| *node != decision.node && nodes.is_up(*node)).collect()
    }

    fn write_log(&mut self, unit: &Unit, decision: &Decision, others: &[NodeId]) {
        let (shared, session) = (&self.service.shared, self.id);
        let name = |node: &NodeId| shared.router.nodes.name(*node).to_owned();
        let destinations: Vec<String> = [decision.node].iter().chain(others).map(name).collect();
        for part in &unit.parts {
            let sql = match &part.kind {
                PartKind::Text(text) => text.sql.to_string(),
                PartKind::Call => String::new(),
                PartKind::Execute(portal) => {
                    let prepared = portal.as_ref().and_then(|portal| portal.prepared.as_ref());
                    prepared.map_or_else(String::new, |prepared| prepared.sql.to_string())
                }
                _ => continue,
            };
            let seq = self.seq;
            self.seq += 1;
            shared.log.write(|| Entry {
                time_ns: now_ns(),
                session,
                seq,
                sql,
                destinations: destinations.clone(),
                reason: decision.reason.to_string(),
                fault: decision.fault.map(|fault| fault.name().to_owned()),
            });
        }
    }

    pub(super) fn server(&mut self, node: NodeId) -> Option<&mut Server> {
        self.servers.get_mut(node).and_then(Option::as_mut)
    }

    pub(super) fn drop_server(&mut self, node: NodeId) {
        if let Some(server) = self.servers.get_mut(node) {
            *server = None;
        }
    }
}
