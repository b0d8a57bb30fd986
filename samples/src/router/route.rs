//! The decision: where a unit of a client's requests goes.

use std::borrow::Cow;
use std::sync::Arc;

use splitproof_capture::sql::{Isolation, Statement, StatementKind};

use super::config::{Config, Mode, Place};
use super::fault::{self, Fault, Faults};
use super::need::{self, Need, Wanted};
use super::node::{Engine, NodeId, Nodes, PRIMARY};
use super::rules;
use super::state::State;
use super::text::{Text, Texts};

/// What all sessions share.
#[derive(Debug)]
pub struct Router {
    /// What the servers are.
    pub engine: Engine,
    /// The configuration.
    pub config: Config,
    /// The servers.
    pub nodes: Nodes,
    /// The faults to commit.
    pub faults: Faults,
    /// The texts seen lately.
    pub texts: Texts,
}

/// A unit of requests that must go to one place: a text, or a pipeline group.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The texts that it runs, in order.
    pub texts: Vec<Arc<Text>>,
    /// True for prepared statements of the protocol.
    pub prepared: bool,
    /// What it needs beside its texts, such as a call of a function outside SQL.
    pub also: Option<Need>,
    /// The servers that hold what it throws away, such as a prepared statement.
    pub holders: Vec<NodeId>,
}

impl Ask {
    /// Its statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &Arc<Statement>> {
        self.texts.iter().flat_map(|text| &text.statements)
    }

    /// Whether it holds a statement of which this is true.
    pub fn any(&self, is: impl Fn(&Statement) -> bool) -> bool {
        self.statements().any(|statement| is(statement))
    }
}

/// Where a unit goes.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Whose answer the client gets.
    pub node: NodeId,
    /// Whether every other server of the session must run it as well.
    pub everywhere: bool,
    /// Other servers that must run it as well.
    pub others: Vec<NodeId>,
    /// Whether it first waits until the server has what was committed before.
    pub waits: bool,
    /// Whether the open transaction, in which nothing has happened yet, moves there first.
    pub moves: bool,
    /// What its statements need, the transaction aside.
    pub need: Need,
    /// Why.
    pub reason: Cow<'static, str>,
    /// The fault that changed the decision.
    pub fault: Option<Fault>,
}

impl Router {
    /// Where a unit goes.
    pub fn route(&self, state: &State, ask: &Ask) -> Decision {
        let honest = self.decide(state, ask);
        let mut decision = fault::misroute(self, state, ask, honest);
        if fault::executes_everywhere(&self.faults, state, &decision) {
            decision.others = (0..self.nodes.count()).filter(|node| *node != decision.node).collect();
            decision.fault = Some(Fault::WriteOnEveryNode);
        }
        decision.waits = decision.node != PRIMARY
            && self.config.causal_reads
            && !snapshot_is_taken(state, decision.node)
            && ask.any(takes_snapshot)
            && fault::waits(&self.faults, &decision);
        decision
    }

    /// Where a read goes, and why.
    pub fn reader(&self, why: Cow<'static, str>) -> (NodeId, Cow<'static, str>) {
        match self.nodes.reader() {
            (node, None) => (node, why),
            (node, Some(instead)) => (node, Cow::Borrowed(instead)),
        }
    }

    fn decide(&self, state: &State, ask: &Ask) -> Decision {
        let wanted = self.wanted(state, ask);
        let go = |node, reason: Cow<'static, str>| Decision {
            node,
            everywhere: wanted.need == Need::Everywhere,
            others: Vec::new(),
            waits: false,
            moves: false,
            need: wanted.need,
            reason,
            fault: None,
        };
        if let Some(first) = ask.holders.first() {
            let here = state.transaction.as_ref().map(|transaction| transaction.node);
            let node = here.filter(|node| ask.holders.contains(node)).unwrap_or(*first);
            let others = ask.holders.iter().copied().filter(|other| *other != node).collect();
            return Decision { others, ..go(node, "where it was prepared".into()) };
        }
        if let Some(transaction) = state.transaction.as_ref().filter(|_| self.config.transaction_persistent) {
            // Its settings are repeated elsewhere when it commits.
            let stay = go(transaction.node, "in a transaction".into());
            let stay = Decision { everywhere: stay.everywhere && !state.reverts_settings(), ..stay };
            return match transaction.fresh && self.config.mode == Mode::Parsed {
                true => self.place_fresh_transaction(state, ask, stay),
                false => stay,
            };
        }
        if let Some((node, why)) = state.pin() {
            return go(node, why.into());
        }
        match wanted.need {
            Need::Read => {
                let (node, why) = self.reader(wanted.why.clone());
                go(node, why)
            }
            Need::Node(node) => go(node, wanted.why.clone()),
            Need::Nothing | Need::Everywhere | Need::Primary => go(PRIMARY, wanted.why.clone()),
        }
    }

    /// What the statements need, the transaction aside.
    pub fn wanted(&self, state: &State, ask: &Ask) -> Wanted {
        let also = ask.also.map(|need| Wanted { need, why: "outside SQL".into() });
        let unparsable = |text: &Text| Wanted {
            need: Need::Primary,
            why: if text.unparsable { "cannot be parsed" } else { "nothing to run" }.into(),
        };
        let texts = ask.texts.iter().map(|text| {
            if text.statements.is_empty() && self.config.mode == Mode::Parsed {
                return unparsable(text);
            }
            let parsed = need::all(&text.statements, state, &self.config);
            if self.config.mode == Mode::Parsed || parsed.need == Need::Everywhere {
                return parsed;
            }
            match rules::decide(&self.config.rules, self.config.default, text) {
                (Place::Primary, why) => Wanted { need: Need::Primary, why: why.into() },
                (Place::Replica, why) => Wanted { need: Need::Read, why: why.into() },
            }
        });
        let nothing = Wanted { need: Need::Nothing, why: "nothing to run".into() };
        also.into_iter().chain(texts).fold(nothing, need::most)
    }

    /// A transaction in which nothing has happened yet follows what the client turns out to want.
    fn place_fresh_transaction(&self, state: &State, ask: &Ask, stay: Decision) -> Decision {
        let Some(transaction) = &state.transaction else { return stay };
        let becomes_read_only = ask.any(|statement| {
            matches!(&statement.kind, StatementKind::SetTransaction(mode)
                if mode.read_only == Some(true)
                    && mode.isolation.unwrap_or(transaction.modes.isolation) != Isolation::Serializable)
        });
        if transaction.node == PRIMARY && becomes_read_only && stay.need == Need::Nothing && state.pin().is_none() {
            let (node, reason) = self.reader("the transaction becomes read only".into());
            return Decision { node, moves: node != PRIMARY, reason, ..stay };
        }
        let demands = match stay.need {
            Need::Primary => Some(PRIMARY),
            Need::Node(node) => Some(node),
            _ => None,
        };
        match demands {
            Some(node) if node != transaction.node => {
                Decision { node, moves: true, reason: "the transaction needs it".into(), ..stay }
            }
            _ => stay,
        }
    }
}

/// A transaction that sees one snapshot for its whole life has taken it with its first statement.
fn snapshot_is_taken(state: &State, node: NodeId) -> bool {
    state.transaction.as_ref().is_some_and(|transaction| {
        transaction.node == node && !transaction.fresh && transaction.modes.isolation >= Isolation::RepeatableRead
    })
}

/// Whether a statement sees what was committed before it. One that only ends something, or reads on from a cursor, does not: it must
/// not wait for a replica that may itself wait for this transaction to let go of what it sees.
fn takes_snapshot(statement: &Statement) -> bool {
    !matches!(
        statement.kind,
        StatementKind::Fetch { .. }
            | StatementKind::CloseCursor { .. }
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. }
            | StatementKind::Savepoint { .. }
            | StatementKind::Release { .. }
            | StatementKind::RollbackTo { .. }
            | StatementKind::Deallocate { .. }
    )
}
