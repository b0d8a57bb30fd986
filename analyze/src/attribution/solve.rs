//! One group of requests and executions with equal text and parameters: which belongs to which.

use std::collections::{BTreeMap, BTreeSet};

use super::NodeIndex;
use super::links::{Links, Unit};

/// A request as the solver sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub id: u64,
    pub unit: Unit,
    pub start_ns: i64,
    pub end_ns: Option<i64>,
    /// Nodes where its execution is known already, one bit each.
    pub placed: u64,
    /// Everything that could have been executed for it has been read.
    pub ready: bool,
    /// It waited long enough for links.
    pub overdue: bool,
}

/// An execution as the solver sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    pub id: u64,
    pub node: NodeIndex,
    pub backend: u64,
    pub start_ns: i64,
    pub end_ns: Option<i64>,
    /// Every request that it could belong to has been read.
    pub ready: bool,
}

/// What the solver found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The execution belongs to the request; `certain` when there was no other possibility, so that a link follows.
    Match { request: u64, execution: u64, certain: bool },
    /// The execution is a further one of a request that is matched on the same node.
    Repeat { request: u64, execution: u64 },
    /// The requests ran on these nodes; which execution is whose is open.
    Nodes { requests: Vec<u64>, executions: Vec<u64>, nodes: Vec<NodeIndex> },
    /// Nothing more will be known of these.
    GiveUp { requests: Vec<u64>, executions: Vec<u64>, nodes: Vec<NodeIndex> },
    /// No client asked for the execution.
    Extra { execution: u64 },
    /// No possibility is left for the request beyond what is known.
    Done { request: u64 },
}

/// The bipartite graph of what may belong together.
pub(super) struct Graph {
    asked: Vec<Asked>,
    ran: Vec<Ran>,
    /// Per request the executions that may be its own.
    of_request: Vec<BTreeSet<usize>>,
    /// Per execution the requests that it may belong to.
    of_execution: Vec<BTreeSet<usize>>,
    /// Pairs that fit in time and that the links rule out, per request.
    ruled_out: Vec<BTreeSet<usize>>,
    /// Per execution a request that fits it and has another execution on the same node.
    second_of: Vec<Option<usize>>,
    /// Executions that are used up.
    used: Vec<bool>,
    steps: Vec<Step>,
}

impl Graph {
    /// Builds the graph; both lists are in start order. `tolerance_ns` is how far clocks may disagree.
    pub(super) fn new(asked: Vec<Asked>, ran: Vec<Ran>, links: &Links, tolerance_ns: i64) -> Self {
        let mut graph = Graph {
            of_request: vec![BTreeSet::new(); asked.len()],
            of_execution: vec![BTreeSet::new(); ran.len()],
            ruled_out: vec![BTreeSet::new(); asked.len()],
            second_of: vec![None; ran.len()],
            used: vec![false; ran.len()],
            steps: Vec::new(),
            asked,
            ran,
        };
        for e in 0..graph.ran.len() {
            let execution = graph.ran[e];
            // Requests that contain the execution exactly come before those that do so only by the tolerance.
            for slack in [0, tolerance_ns] {
                let mut any = false;
                for r in 0..graph.asked.len() {
                    let request = graph.asked[r];
                    if request.start_ns > execution.start_ns.saturating_add(slack) {
                        break;
                    }
                    if !contains(&request, &execution, slack) {
                        continue;
                    }
                    if request.placed & node_bit(execution.node) != 0 {
                        graph.second_of[e].get_or_insert(r);
                    } else if links.allows(request.unit, (execution.node, execution.backend), execution.start_ns) {
                        graph.of_request[r].insert(e);
                        graph.of_execution[e].insert(r);
                        any = true;
                    } else {
                        graph.ruled_out[r].insert(e);
                    }
                }
                if any {
                    break;
                }
            }
        }
        graph
    }

    /// Per new execution the sessions that can have caused it, be it the first of a request on its node or a further one.
    pub(super) fn suspects(
        &self,
        links: &Links,
        tolerance_ns: i64,
        is_new: impl Fn(u64) -> bool,
    ) -> Vec<(u64, BTreeSet<u64>)> {
        let within = |ran: &Ran, slack: i64| {
            let before = self.asked.iter().take_while(|asked| asked.start_ns <= ran.start_ns.saturating_add(slack));
            let may = |request: &&Asked| {
                contains(request, ran, slack) && links.allows(request.unit, (ran.node, ran.backend), ran.start_ns)
            };
            before.filter(may).map(|asked| asked.unit.session).collect::<BTreeSet<_>>()
        };
        let suspects = |ran: &Ran| {
            let exact = within(ran, 0);
            (ran.id, if exact.is_empty() { within(ran, tolerance_ns) } else { exact })
        };
        self.ran.iter().filter(|ran| ran.ready && is_new(ran.id)).map(suspects).collect()
    }

    /// A request that links leave without any execution though one fits that no other request claims: the links are wrong.
    pub(super) fn contradiction(&self) -> Option<(Asked, Ran)> {
        (0..self.asked.len()).find_map(|r| {
            if !self.asked[r].ready || !self.of_request[r].is_empty() {
                return None;
            }
            let free = self.ruled_out[r].iter().find(|&&e| self.ran[e].ready && self.of_execution[e].is_empty())?;
            Some((self.asked[r], self.ran[*free]))
        })
    }

    /// Draws every conclusion, and says of overdue requests what is left to say.
    pub(super) fn solve(mut self) -> Vec<Step> {
        while self.match_exclusive() {}
        for (requests, executions) in self.components() {
            self.conclude(&requests, &executions);
        }
        for e in 0..self.ran.len() {
            if !self.used[e] && self.ran[e].ready && self.of_execution[e].is_empty() {
                self.leave_over(e);
            }
        }
        for r in 0..self.asked.len() {
            if self.asked[r].ready && self.of_request[r].is_empty() {
                self.steps.push(Step::Done { request: self.asked[r].id });
            }
        }
        self.steps
    }

    /// An execution that is no request's first one on its node.
    fn leave_over(&mut self, e: usize) {
        let execution = self.ran[e].id;
        if let Some(r) = self.second_of[e] {
            self.steps.push(Step::Repeat { request: self.asked[r].id, execution });
        } else if !(0..self.asked.len()).any(|r| !self.asked[r].ready && self.ruled_out[r].contains(&e)) {
            self.steps.push(Step::Extra { execution });
        }
    }

    /// Takes an execution out of the graph, and the request's other possibilities on that node with it.
    fn use_up(&mut self, r: usize, e: usize) {
        self.used[e] = true;
        for other in std::mem::take(&mut self.of_execution[e]) {
            self.of_request[other].remove(&e);
        }
        let node = self.ran[e].node;
        let others: Vec<usize> = self.of_request[r].iter().copied().filter(|&o| self.ran[o].node == node).collect();
        for other in others {
            self.of_request[r].remove(&other);
            self.of_execution[other].remove(&r);
            self.second_of[other].get_or_insert(r);
        }
    }

    /// Executions that can only be one request's.
    fn match_exclusive(&mut self) -> bool {
        let mut changed = false;
        for r in 0..self.asked.len() {
            if !self.asked[r].ready {
                continue;
            }
            for (_, edges) in self.by_node(r) {
                let exclusive = edges.iter().copied().find(|&e| self.ran[e].ready && self.of_execution[e].len() == 1);
                let Some(e) = exclusive else { continue };
                let (request, execution) = (self.asked[r].id, self.ran[e].id);
                self.steps.push(Step::Match { request, execution, certain: edges.len() == 1 });
                self.use_up(r, e);
                changed = true;
            }
        }
        changed
    }

    fn by_node(&self, r: usize) -> BTreeMap<NodeIndex, Vec<usize>> {
        let mut nodes: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
        for &e in &self.of_request[r] {
            nodes.entry(self.ran[e].node).or_default().push(e);
        }
        nodes
    }

    /// Parts of the graph that have nothing to do with each other, as (requests, executions).
    fn components(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut seen = vec![false; self.asked.len()];
        let mut parts = Vec::new();
        for start in 0..self.asked.len() {
            if seen[start] || self.of_request[start].is_empty() {
                continue;
            }
            let (mut requests, mut executions) = (BTreeSet::new(), BTreeSet::new());
            let mut todo = vec![start];
            while let Some(r) = todo.pop() {
                if std::mem::replace(&mut seen[r], true) {
                    continue;
                }
                requests.insert(r);
                for &e in &self.of_request[r] {
                    if executions.insert(e) {
                        todo.extend(self.of_execution[e].iter().copied());
                    }
                }
            }
            parts.push((requests.into_iter().collect(), executions.into_iter().collect()));
        }
        parts
    }

    /// Says what can be said of one part.
    fn conclude(&mut self, requests: &[usize], executions: &[usize]) {
        let ready = requests.iter().all(|&r| self.asked[r].ready) && executions.iter().all(|&e| self.ran[e].ready);
        if ready && self.match_in_order(requests, executions) {
            return;
        }
        if !requests.iter().any(|&r| self.asked[r].overdue) {
            return;
        }
        let mut nodes: BTreeMap<NodeIndex, usize> = BTreeMap::new();
        for &e in executions {
            *nodes.entry(self.ran[e].node).or_default() += 1;
        }
        let ids = |list: &[usize]| list.iter().map(|&r| self.asked[r].id).collect::<Vec<_>>();
        let executed: Vec<u64> = executions.iter().map(|&e| self.ran[e].id).collect();
        // As many executions on a node as requests: every request ran there.
        let everywhere = ready && nodes.values().all(|&count| count == requests.len());
        let (requests_left, nodes) = (ids(requests), nodes.into_keys().collect());
        self.steps.push(if everywhere {
            Step::Nodes { requests: requests_left, executions: executed, nodes }
        } else {
            Step::GiveUp { requests: requests_left, executions: executed, nodes }
        });
        for &e in executions {
            self.used[e] = true;
            self.of_execution[e].clear();
        }
        for &r in requests {
            self.of_request[r].clear();
        }
    }

    /// The same statement several times in one session, over one connection per node: the order is the same on both sides.
    fn match_in_order(&mut self, requests: &[usize], executions: &[usize]) -> bool {
        let Some(&first) = requests.first() else { return false };
        if requests.iter().any(|&r| self.asked[r].unit != self.asked[first].unit) {
            return false;
        }
        let mut nodes: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
        for &e in executions {
            nodes.entry(self.ran[e].node).or_default().push(e);
        }
        let fits = nodes.values().all(|list| {
            list.len() == requests.len()
                && list.iter().all(|&e| self.ran[e].backend == self.ran[list[0]].backend)
                && list.iter().zip(requests).all(|(&e, &r)| self.of_request[r].contains(&e))
        });
        if fits {
            for list in nodes.values() {
                for (&e, &r) in list.iter().zip(requests) {
                    let (request, execution) = (self.asked[r].id, self.ran[e].id);
                    self.steps.push(Step::Match { request, execution, certain: true });
                    self.use_up(r, e);
                }
            }
        }
        fits
    }
}

/// The bit of a node in [`Asked::placed`]; nodes beyond the 63rd share one.
pub(super) fn node_bit(node: NodeIndex) -> u64 {
    1 << node.min(63)
}

/// True when the execution lies within the request's time.
fn contains(request: &Asked, execution: &Ran, slack_ns: i64) -> bool {
    let begins = request.start_ns <= execution.start_ns.saturating_add(slack_ns);
    let end = execution.end_ns.unwrap_or(execution.start_ns);
    begins && request.end_ns.is_none_or(|limit| end <= limit.saturating_add(slack_ns))
}
