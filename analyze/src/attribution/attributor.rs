//! The sweep: requests and executions come in start order, placements go out in start order.

use std::collections::{BTreeMap, HashMap, VecDeque};

use splitproof_capture::sql::mysql::Mode;
use splitproof_capture::trace::{Kind, Request, TransactionStatus};

use super::key::{Key, key, needs_execution};
use super::links::{Contradiction, Links, Pinning, Unit};
use super::solve::{Asked, Graph, Ran, Step, node_bit};
use super::{Execution, Extra, NodeIndex, Placed, Placement, Receive, Site};

/// How far the clocks of the client side and the node side may disagree. The replayer and its taps share a host; the tolerance
/// covers that each reads the clock a moment after the bytes.
const TOLERANCE_NS: i64 = 2_000_000;
/// How long a finished request may wait for a link that decides it.
const PATIENCE_NS: i64 = 10_000_000_000;
/// How many requests may wait; beyond that the oldest are decided with what is known.
const MAX_WAITING: usize = 200_000;

/// A request that waits for its placement.
struct Waiting {
    request: Request,
    unit: Unit,
    end_ns: Option<i64>,
    sites: Vec<Site>,
    placement: Option<Placement>,
}

impl Waiting {
    fn decide(&mut self) {
        if self.placement.is_some() {
            return;
        }
        let mut sites = std::mem::take(&mut self.sites);
        sites.sort_by_key(|site| site.node);
        self.placement = Some(if sites.is_empty() { Placement::Unseen } else { Placement::Decided(sites) });
    }
}

/// An execution that waits for its request.
struct Seen {
    node: NodeIndex,
    key: Key,
    execution: Request,
    /// It was asked whose it can be.
    narrowed: bool,
}

#[derive(Default)]
struct Group {
    requests: Vec<u64>,
    executions: Vec<u64>,
}

/// Where a client session stands.
#[derive(Default)]
struct Client {
    part: u32,
    status: Option<TransactionStatus>,
    /// The last request when it has no end of its own: it is over when the next one starts.
    open: Option<u64>,
}

/// Matches requests with executions. See the module's documentation for the rules.
pub struct Attributor {
    links: Links,
    /// Parameters count as if they stood in the text, which a server of this mode reads.
    by_values: Option<Mode>,
    /// In start order; the first has number `base`.
    waiting: VecDeque<Waiting>,
    base: u64,
    executions: BTreeMap<u64, Seen>,
    next_execution: u64,
    groups: HashMap<Key, Group>,
    clients: HashMap<u64, Client>,
    executed: Executed,
}

/// Requests that were executed lately, by text and parameters.
#[derive(Default)]
struct Executed {
    by_key: HashMap<(NodeIndex, Key), (u64, u32)>,
    oldest: VecDeque<(NodeIndex, Key)>,
}

impl Executed {
    /// How many are remembered.
    const MOST: usize = 100_000;

    fn remember(&mut self, node: NodeIndex, key: Key, request: (u64, u32)) {
        if self.by_key.insert((node, key), request).is_some() {
            return;
        }
        self.oldest.push_back((node, key));
        if self.oldest.len() > Self::MOST
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.by_key.remove(&oldest);
        }
    }
}

impl Attributor {
    /// An attributor that assumes this pinning.
    pub fn new(pinning: Pinning) -> Self {
        Attributor {
            links: Links::new(pinning),
            by_values: None,
            waiting: VecDeque::new(),
            base: 0,
            executions: BTreeMap::new(),
            next_execution: 0,
            groups: HashMap::new(),
            clients: HashMap::new(),
            executed: Executed::default(),
        }
    }

    /// Matches texts of MySQL by their values, whether these stand in the text or are parameters: a node whose evidence is its log
    /// shows them in the text.
    pub fn by_values(self, mode: Mode) -> Self {
        Attributor { by_values: Some(mode), ..self }
    }

    /// Takes the next request of the run.
    pub fn request(&mut self, request: Request) {
        let id = self.base + self.waiting.len() as u64;
        let unit = self.unit(&request);
        let end_ns = request.end_ns();
        let client = self.clients.entry(request.session).or_default();
        if let Some(open) = client.open.take()
            && let Some(before) = open.checked_sub(self.base).and_then(|at| self.waiting.get_mut(at as usize))
        {
            before.end_ns = Some(request.start_ns);
        }
        client.open = end_ns.is_none().then_some(id);
        match request.kind {
            Kind::Connect => {
                if let Some(end) = end_ns {
                    self.links.client_seen(request.session, end);
                }
            }
            Kind::Disconnect => {
                self.links.client_gone(request.session, end_ns.unwrap_or(request.start_ns));
                self.clients.remove(&request.session);
            }
            _ => self.links.client_seen(request.session, request.start_ns),
        }
        let needed = needs_execution(&request);
        let key = if needed { key(&request, self.by_values.as_ref()) } else { None };
        let placement = match (needed, key) {
            (false, _) => Some(Placement::NotNeeded),
            (true, None) => Some(Placement::Unseen),
            (true, Some(key)) => {
                self.groups.entry(key).or_default().requests.push(id);
                None
            }
        };
        self.waiting.push_back(Waiting { request, unit, end_ns, sites: Vec::new(), placement });
    }

    /// Takes the next row of a node's trace.
    pub fn execution(&mut self, node: NodeIndex, row: Request) {
        let backend = (node, row.session);
        match row.kind {
            Kind::Disconnect => self.links.backend_gone(backend, row.end_ns().unwrap_or(row.start_ns)),
            _ => self.links.backend_seen(backend, row.start_ns),
        }
        // A reset ends what was open, and does not say so.
        let reset = matches!(row.kind, Kind::Reset | Kind::ChangeUser).then_some(TransactionStatus::Idle);
        if let Some(status) = reset.or(row.transaction) {
            self.links.backend_is(backend, row.start_ns, status);
        }
        if !needs_execution(&row) {
            return;
        }
        let Some(key) = key(&row, self.by_values.as_ref()) else { return };
        let id = self.next_execution;
        self.next_execution += 1;
        self.groups.entry(key).or_default().executions.push(id);
        self.executions.insert(id, Seen { node, key, execution: row, narrowed: false });
    }

    /// Decides what can be decided when everything that starts before `now_ns` has been given.
    pub fn advance(&mut self, now_ns: i64, out: &mut dyn Receive) -> Result<(), Contradiction> {
        self.step(now_ns, false, out)
    }

    /// Decides everything; nothing more will come.
    pub fn finish(&mut self, out: &mut dyn Receive) -> Result<(), Contradiction> {
        self.step(i64::MAX, true, out)
    }

    fn unit(&mut self, request: &Request) -> Unit {
        let client = self.clients.entry(request.session).or_default();
        let inside = matches!(client.status, Some(TransactionStatus::Open | TransactionStatus::Failed));
        if !inside {
            client.part = client.part.wrapping_add(1);
        }
        client.status = request.transaction.or(client.status);
        let part = if self.links.pinning() == Pinning::Session { 0 } else { client.part };
        Unit { session: request.session, part }
    }

    fn step(&mut self, now_ns: i64, last: bool, out: &mut dyn Receive) -> Result<(), Contradiction> {
        // A link found in one group can decide another, so go on while there is news.
        while self.solve_all(now_ns, None, out)? {}
        // Only then give up what has waited too long.
        let patience_ns = if last || self.waiting.len() > MAX_WAITING { 0 } else { PATIENCE_NS };
        if self.has_waited(now_ns, patience_ns) {
            self.solve_all(now_ns, Some(patience_ns), out)?;
        }
        self.drop_extras(now_ns, out);
        self.release(now_ns, out);
        Ok(())
    }

    fn has_waited(&self, now_ns: i64, patience_ns: i64) -> bool {
        let oldest = self.waiting.iter().find(|waiting| waiting.placement.is_none());
        oldest.is_some_and(|waiting| {
            now_ns == i64::MAX || waiting.end_ns.is_some_and(|end| end.saturating_add(patience_ns) < now_ns)
        })
    }

    fn solve_all(&mut self, now_ns: i64, patience: Option<i64>, out: &mut dyn Receive) -> Result<bool, Contradiction> {
        let mut keys: Vec<Key> =
            self.groups.iter().filter(|(_, group)| !group.requests.is_empty()).map(|(&key, _)| key).collect();
        // The order decides which link is learnt first; make it the same in every run.
        keys.sort_unstable();
        let mut news = false;
        for key in keys {
            news |= self.solve(key, now_ns, patience, out)?;
        }
        Ok(news)
    }

    /// Solves one group; true when a new link came of it.
    fn solve(
        &mut self,
        key: Key,
        now_ns: i64,
        patience: Option<i64>,
        out: &mut dyn Receive,
    ) -> Result<bool, Contradiction> {
        let Some(group) = self.groups.get(&key) else { return Ok(false) };
        let asked: Vec<Asked> = group.requests.iter().filter_map(|&id| self.asked(id, now_ns, patience)).collect();
        if !asked.iter().any(|request| request.ready) {
            return Ok(false);
        }
        let ran: Vec<Ran> = group.executions.iter().filter_map(|&id| self.ran(id, now_ns)).collect();
        let graph = Graph::new(asked, ran, &self.links, TOLERANCE_NS);
        if let Some((request, execution)) = graph.contradiction() {
            return Err(self.links.contradiction(request.unit, (execution.node, execution.backend)));
        }
        let mut news = self.narrow(&graph)?;
        for step in graph.solve() {
            news |= self.apply(step, out)?;
        }
        let (waiting, base) = (&self.waiting, self.base);
        if let Some(group) = self.groups.get_mut(&key) {
            group.requests.retain(|&id| {
                let at = id.checked_sub(base).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| waiting.get(at)).is_some_and(|waiting| waiting.placement.is_none())
            });
        }
        Ok(news)
    }

    /// Learns from what can be whose which backend works for which session; true when a new link came of it.
    fn narrow(&mut self, graph: &Graph) -> Result<bool, Contradiction> {
        let mut news = false;
        if self.links.pinning() != Pinning::Session {
            return Ok(false);
        }
        let is_new = |id| self.executions.get(&id).is_some_and(|seen| !seen.narrowed);
        for (id, sessions) in graph.suspects(&self.links, TOLERANCE_NS, is_new) {
            let Some(seen) = self.executions.get_mut(&id) else { continue };
            seen.narrowed = true;
            let (backend, at_ns) = ((seen.node, seen.execution.session), seen.execution.start_ns);
            if let Some(session) = self.links.narrow(backend, &sessions, at_ns) {
                self.links.claim(Unit { session, part: 0 }, backend, at_ns)?;
                news = true;
            }
        }
        Ok(news)
    }

    fn asked(&self, id: u64, now_ns: i64, patience: Option<i64>) -> Option<Asked> {
        let waiting = self.waiting.get(usize::try_from(id.checked_sub(self.base)?).ok()?)?;
        let end = waiting.end_ns;
        let ready = now_ns == i64::MAX || end.is_some_and(|end| end.saturating_add(4 * TOLERANCE_NS) < now_ns);
        let overdue = patience
            .is_some_and(|patience| now_ns == i64::MAX || end.is_some_and(|end| end.saturating_add(patience) < now_ns));
        Some(Asked {
            id,
            unit: waiting.unit,
            start_ns: waiting.request.start_ns,
            end_ns: end,
            placed: waiting.sites.iter().fold(0, |bits, site| bits | node_bit(site.node)),
            ready,
            overdue: ready && overdue,
        })
    }

    fn ran(&self, id: u64, now_ns: i64) -> Option<Ran> {
        let seen = self.executions.get(&id)?;
        let start_ns = seen.execution.start_ns;
        Some(Ran {
            id,
            node: seen.node,
            backend: seen.execution.session,
            start_ns,
            end_ns: seen.execution.end_ns(),
            ready: start_ns.saturating_add(2 * TOLERANCE_NS) < now_ns,
        })
    }

    fn apply(&mut self, step: Step, out: &mut dyn Receive) -> Result<bool, Contradiction> {
        match step {
            Step::Match { request, execution, certain } => {
                let Some(seen) = self.take(execution) else { return Ok(false) };
                let Some(waiting) = self.waiting_mut(request) else { return Ok(false) };
                let unit = waiting.unit;
                let execution = Execution {
                    node: seen.node,
                    session: seen.execution.session,
                    seq: seen.execution.seq,
                    start_ns: seen.execution.start_ns,
                    end_ns: seen.execution.end_ns(),
                };
                let (backend, at_ns) = ((seen.node, execution.session), execution.start_ns);
                let asked = (waiting.request.session, waiting.request.seq);
                waiting.sites.push(Site { node: seen.node, execution: Some(execution) });
                self.executed.remember(seen.node, seen.key, asked);
                if certain {
                    self.links.claim(unit, backend, at_ns)?;
                }
                Ok(certain)
            }
            Step::Repeat { request, execution } => {
                let Some(seen) = self.take(execution) else { return Ok(false) };
                let repeats = self.waiting_mut(request).map(|waiting| (waiting.request.session, waiting.request.seq));
                out.extra(Extra { node: seen.node, execution: seen.execution, repeats, echoes: None });
                Ok(false)
            }
            Step::Nodes { requests, executions, nodes } => {
                for id in requests {
                    if let Some(waiting) = self.waiting_mut(id) {
                        waiting.sites.extend(nodes.iter().map(|&node| Site { node, execution: None }));
                        waiting.decide();
                    }
                }
                for id in executions {
                    self.take(id);
                }
                Ok(false)
            }
            Step::Extra { execution } => {
                self.leave_over(execution, out);
                Ok(false)
            }
            Step::Done { request } => {
                if let Some(waiting) = self.waiting_mut(request) {
                    waiting.decide();
                }
                Ok(false)
            }
            Step::GiveUp { requests, executions, nodes } => {
                for id in requests {
                    if let Some(waiting) = self.waiting_mut(id) {
                        waiting.placement = Some(Placement::Ambiguous(nodes.clone()));
                    }
                }
                for id in executions {
                    self.take(id);
                }
                Ok(false)
            }
        }
    }

    /// Executions that no request can have caused.
    fn drop_extras(&mut self, now_ns: i64, out: &mut dyn Receive) {
        let ready: Vec<u64> = self
            .executions
            .iter()
            .take_while(|(_, seen)| seen.execution.start_ns.saturating_add(2 * TOLERANCE_NS) < now_ns)
            .filter(|(_, seen)| self.groups.get(&seen.key).is_none_or(|group| group.requests.is_empty()))
            .map(|(&id, _)| id)
            .collect();
        for id in ready {
            self.leave_over(id, out);
        }
    }

    /// No client asked for this execution at its time.
    fn leave_over(&mut self, execution: u64, out: &mut dyn Receive) {
        let Some(seen) = self.take(execution) else { return };
        let echoes = self.executed.by_key.get(&(seen.node, seen.key)).copied();
        out.extra(Extra { node: seen.node, execution: seen.execution, repeats: None, echoes });
    }

    fn release(&mut self, now_ns: i64, out: &mut dyn Receive) {
        while let Some(mut front) = self.waiting.pop_front() {
            let Some(placement) = front.placement.take() else {
                self.waiting.push_front(front);
                break;
            };
            self.base += 1;
            out.placed(Placed { request: front.request, placement });
        }
        let oldest = self.waiting.front().map_or(now_ns, |front| front.request.start_ns);
        self.links.forget_before(oldest.saturating_sub(2 * TOLERANCE_NS));
        self.groups.retain(|_, group| !group.requests.is_empty() || !group.executions.is_empty());
    }

    fn waiting_mut(&mut self, id: u64) -> Option<&mut Waiting> {
        self.waiting.get_mut(usize::try_from(id.checked_sub(self.base)?).ok()?)
    }

    fn take(&mut self, execution: u64) -> Option<Seen> {
        let seen = self.executions.remove(&execution)?;
        if let Some(group) = self.groups.get_mut(&seen.key) {
            group.executions.retain(|&id| id != execution);
        }
        Some(seen)
    }
}
