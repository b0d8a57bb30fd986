//! Transactions whose statements ran on different nodes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::{Step, names};
use crate::attribution::NodeIndex;
use crate::comparison::{Example, SplitTransaction, Statement};
use crate::intent::Control;

/// Statements of a transaction that are kept for the report.
const KEPT: usize = 50;
/// Different split transactions that are kept; the others are only counted.
const GROUPS: usize = 2_000;

/// An open transaction of one session.
#[derive(Debug, Default)]
struct Open {
    statements: Vec<(Statement, u64)>,
    begin: Option<Vec<NodeIndex>>,
    /// Nodes of the statements so far, control and session state left out.
    nodes: BTreeSet<NodeIndex>,
    first_elsewhere: Option<Example>,
    without_begin: bool,
    /// Where savepoints, modes and the end were executed, with one for each set of nodes.
    controls: Vec<(Vec<NodeIndex>, Example)>,
}

impl Open {
    /// The first statement that ran on another node than those before it; or else one that shapes or ends the transaction and
    /// reached none of its nodes. Such a statement may reach more nodes than the transaction uses.
    fn elsewhere(&mut self) -> Option<Example> {
        if self.first_elsewhere.is_some() || self.nodes.is_empty() {
            return self.first_elsewhere.take();
        }
        let missed = |nodes: &[NodeIndex]| nodes.iter().all(|node| !self.nodes.contains(node));
        let at = self.controls.iter().position(|(nodes, _)| missed(nodes))?;
        Some(self.controls.swap_remove(at).1)
    }
}

/// Finds split transactions; takes every session's requests in order.
#[derive(Debug)]
pub struct Transactions {
    nodes: Vec<Arc<str>>,
    open: HashMap<u64, Open>,
    /// By the digest of shapes and nodes; the second digest is of the shapes alone.
    groups: HashMap<u64, (SplitTransaction, u64)>,
    by_shapes: HashMap<u64, u64>,
    total: u64,
    split: u64,
}

impl Transactions {
    /// Nothing found yet, on these nodes.
    pub fn new(nodes: Vec<Arc<str>>) -> Self {
        Transactions {
            nodes,
            open: HashMap::new(),
            groups: HashMap::new(),
            by_shapes: HashMap::new(),
            total: 0,
            split: 0,
        }
    }

    /// A request inside an explicit transaction, its BEGIN and its end included.
    pub fn step(&mut self, step: &Step<'_>, control: Option<Control>) {
        let open = self.open.entry(step.request.session).or_default();
        let nodes = step.nodes.unwrap_or(&[]);
        if control == Some(Control::Begin) && open.begin.is_none() {
            open.begin = step.nodes.map(<[_]>::to_vec);
        }
        // Session state belongs on every node and splits nothing.
        if control.is_none() && step.intent != "all" && !nodes.is_empty() {
            let before = open.nodes.len();
            open.nodes.extend(nodes);
            if open.nodes.len() > 1 && before < open.nodes.len() && open.first_elsewhere.is_none() {
                open.first_elsewhere = Some(step.example(&self.nodes));
            }
            let begun = open.begin.as_deref();
            open.without_begin |= begun.is_some_and(|begun| nodes.iter().any(|node| !begun.contains(node)));
        }
        if !nodes.is_empty()
            && control.is_some_and(|control| control != Control::Begin)
            && open.controls.iter().all(|(seen, _)| seen != nodes)
        {
            open.controls.push((nodes.to_vec(), step.example(&self.nodes)));
        }
        if open.statements.len() < KEPT {
            let statement =
                Statement { shape: step.shape(), intent: step.intent.to_string(), nodes: names(nodes, &self.nodes) };
            open.statements.push((statement, step.request.shape_id.unwrap_or(0)));
        }
    }

    /// The session's transaction is over, or the session is.
    pub fn end(&mut self, session: u64) {
        let Some(mut open) = self.open.remove(&session) else { return };
        self.total += 1;
        let Some(example) = open.elsewhere() else { return };
        self.split += 1;
        let (mut shapes, mut places) = (Vec::new(), Vec::new());
        for (statement, shape) in &open.statements {
            shapes.extend(shape.to_le_bytes());
            places.extend(statement.nodes.join("+").bytes());
            places.push(0);
        }
        let shapes = xxh3_64(&shapes);
        let group = xxh3_64(&[&shapes.to_le_bytes()[..], &places].concat());
        *self.by_shapes.entry(shapes).or_default() += 1;
        let full = self.groups.len() >= GROUPS;
        match self.groups.entry(group) {
            std::collections::hash_map::Entry::Occupied(mut found) => found.get_mut().0.transactions += 1,
            std::collections::hash_map::Entry::Vacant(_) if full => {}
            std::collections::hash_map::Entry::Vacant(free) => {
                let statements = open.statements.into_iter().map(|(statement, _)| statement).collect();
                let split = SplitTransaction {
                    transactions: 1,
                    baseline: None,
                    without_begin: open.without_begin,
                    statements,
                    example,
                };
                free.insert((split, shapes));
            }
        }
    }

    /// Ends what is open and lists what was found, most frequent first.
    pub fn finish(mut self) -> Found {
        let mut open: Vec<u64> = self.open.keys().copied().collect();
        open.sort_unstable();
        for session in open {
            self.end(session);
        }
        let mut list: Vec<(SplitTransaction, u64)> = self.groups.into_values().collect();
        list.sort_by(|(a, _), (b, _)| {
            let key = |split: &SplitTransaction| (split.example.recorded_session, split.example.recorded_seq);
            b.transactions.cmp(&a.transactions).then_with(|| key(a).cmp(&key(b)))
        });
        Found { list, total: self.total, split: self.split, by_shapes: self.by_shapes }
    }
}

/// What was found about transactions.
#[derive(Debug)]
pub struct Found {
    /// The split transactions, each with the digest of its sequence of shapes, most frequent first.
    pub list: Vec<(SplitTransaction, u64)>,
    /// All explicit transactions.
    pub total: u64,
    /// The split ones.
    pub split: u64,
    /// How often each sequence of shapes was split.
    pub by_shapes: HashMap<u64, u64>,
}
