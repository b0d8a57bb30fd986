//! Session state that missed a node which later served the session.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Step, names};
use crate::attribution::{NodeIndex, is_mysql};
use crate::comparison::{Example, MissedState, Shape};

/// State statements remembered for one session; the oldest are forgotten.
const REMEMBERED: usize = 256;

/// One state statement that a session relies on.
#[derive(Debug)]
struct Setting {
    shape_id: u64,
    shape: Shape,
    nodes: Vec<NodeIndex>,
    /// Nodes that were found to have missed it.
    missed: BTreeSet<NodeIndex>,
    /// Set inside the open transaction, so that a rollback takes it back.
    in_transaction: bool,
    /// The user variable that it sets: only what reads it relies on it.
    variable: Option<Arc<str>>,
    /// Holds only until the transaction ends.
    local: bool,
    example: Example,
}

/// Finds missed session state; takes every session's requests in order.
#[derive(Debug)]
pub struct States {
    nodes: Vec<Arc<str>>,
    sessions: HashMap<u64, Vec<Setting>>,
    found: HashMap<u64, MissedState>,
    total: u64,
}

/// What was found about session state.
#[derive(Debug)]
pub struct Found {
    /// One entry per shape, most frequent first.
    pub list: Vec<MissedState>,
    /// State statements that missed a node.
    pub total: u64,
}

impl States {
    /// Nothing found yet, on these nodes.
    pub fn new(nodes: Vec<Arc<str>>) -> Self {
        States { nodes, sessions: HashMap::new(), found: HashMap::new(), total: 0 }
    }

    /// A request that executed without an error; `in_transaction` inside an explicit transaction. True when a node served it that
    /// has missed state on which it relies.
    pub fn step(&mut self, step: &Step<'_>, in_transaction: bool) -> bool {
        let Some(nodes) = step.nodes.filter(|nodes| !nodes.is_empty()) else { return false };
        let settings = self.sessions.entry(step.request.session).or_default();
        if step.intent == "all" {
            let sql = step.request.sql.as_deref().unwrap_or("");
            if resets_everything(sql) {
                settings.clear();
            }
            let shape_id = step.request.shape_id.unwrap_or(0);
            settings.retain(|setting| setting.shape_id != shape_id);
            if settings.len() >= REMEMBERED {
                settings.remove(0);
            }
            // MySQL: a rollback takes nothing back, and LOCAL is another word for SESSION.
            let reverts = in_transaction && !is_mysql(&step.request.messages);
            settings.push(Setting {
                variable: step.verdict.variable_set(),
                shape_id,
                shape: step.shape(),
                nodes: nodes.to_vec(),
                missed: BTreeSet::new(),
                in_transaction: reverts,
                local: reverts && is_local(sql),
                example: step.example(&self.nodes),
            });
            return false;
        }
        let mut lacks = false;
        for setting in settings {
            if setting.variable.as_deref().is_some_and(|name| !step.verdict.reads_variable(name)) {
                continue;
            }
            for &node in nodes {
                if setting.nodes.contains(&node) {
                    continue;
                }
                lacks = true;
                if !setting.missed.insert(node) {
                    continue;
                }
                let first = setting.missed.len() == 1;
                self.total += u64::from(first);
                let name = names(&[node], &self.nodes);
                let found = self.found.entry(setting.shape_id).or_insert_with(|| MissedState {
                    shape: setting.shape.clone(),
                    requests: 0,
                    missed: Vec::new(),
                    baseline: None,
                    example: setting.example.clone(),
                    served: step.example(&self.nodes),
                });
                found.requests += u64::from(first);
                if name.first().is_some_and(|name| !found.missed.contains(name)) {
                    found.missed.extend(name);
                }
            }
        }
        lacks
    }

    /// A statement that depends on what the session made on the primary, such as a temporary table or a prepared statement, ran on
    /// a replica.
    pub fn pinned(&mut self, step: &Step<'_>) {
        let example = step.example(&self.nodes);
        self.total += 1;
        let found = self.found.entry(step.request.shape_id.unwrap_or(0)).or_insert_with(|| MissedState {
            shape: step.shape(),
            requests: 0,
            missed: Vec::new(),
            baseline: None,
            example: example.clone(),
            served: example.clone(),
        });
        found.requests += 1;
        for name in example.nodes {
            if !found.missed.contains(&name) {
                found.missed.push(name);
            }
        }
    }

    /// The session's transaction is over.
    pub fn end_transaction(&mut self, session: u64, committed: bool) {
        if let Some(settings) = self.sessions.get_mut(&session) {
            settings.retain(|setting| !setting.in_transaction || (committed && !setting.local));
            for setting in settings {
                setting.in_transaction = false;
            }
        }
    }

    /// The session is over.
    pub fn end(&mut self, session: u64) {
        self.sessions.remove(&session);
    }

    /// Lists what was found, most frequent first.
    pub fn finish(self) -> Found {
        let mut list: Vec<MissedState> = self.found.into_values().collect();
        list.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.shape.id.cmp(&b.shape.id)));
        Found { list, total: self.total }
    }
}

/// `DISCARD ALL` and `RESET ALL` take every earlier setting back.
fn resets_everything(sql: &str) -> bool {
    let mut words = sql.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or("");
    (first.eq_ignore_ascii_case("discard") || first.eq_ignore_ascii_case("reset"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("all"))
}

/// `SET LOCAL`, `SET TRANSACTION` and `SET CONSTRAINTS` hold until the transaction ends.
fn is_local(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("set"))
        && words.next().is_some_and(|word| {
            ["local", "transaction", "constraints"].iter().any(|local| word.eq_ignore_ascii_case(local))
        })
}
