//! Which backend connection works for which client, and when.

use std::collections::{BTreeSet, HashMap, VecDeque};

use splitproof_capture::trace::TransactionStatus;

use super::NodeIndex;

/// How long a router keeps a backend connection for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// One backend connection per node from connect to disconnect (pgpool-II). This is tried first; the run itself shows a
    /// [`Contradiction`] when it is wrong.
    Session,
    /// One backend connection per node for the length of a transaction (PgCat, PgDog, PgBouncer).
    Transaction,
    /// Nothing is known: only unique matches count.
    None,
}

impl Pinning {
    /// What to try after the run contradicted this one.
    pub fn weaker(self) -> Self {
        match self {
            Pinning::Session => Pinning::Transaction,
            Pinning::Transaction | Pinning::None => Pinning::None,
        }
    }
}

/// The run shows that its router does not keep backend connections as assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "backend connection {backend} of node {node} served client session {client} against the assumed {pinning:?} pinning"
)]
pub struct Contradiction {
    /// What was assumed.
    pub pinning: Pinning,
    /// The node.
    pub node: NodeIndex,
    /// Session of the node's trace.
    pub backend: u64,
    /// The client session.
    pub client: u64,
}

/// A backend connection: node, and session in the node's trace.
pub(super) type Backend = (NodeIndex, u64);

/// What a backend connection is kept for: a client session, or one transaction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Unit {
    pub session: u64,
    /// 0 under [`Pinning::Session`], else one number for each transaction.
    pub part: u32,
}

/// A unit's claim on a backend, known from unique matches.
#[derive(Clone, Copy, Debug)]
struct Claim {
    unit: Unit,
    first_ns: i64,
    last_ns: i64,
}

/// A span of time; the end is open until it is known.
#[derive(Clone, Copy, Debug)]
struct Life {
    from_ns: i64,
    to_ns: Option<i64>,
}

impl Life {
    fn covers(&self, at_ns: i64) -> bool {
        self.from_ns <= at_ns && self.to_ns.is_none_or(|end| at_ns <= end)
    }
}

/// Transactions of one backend connection, oldest first, as its own trace shows them.
#[derive(Debug, Default)]
struct Transactions(VecDeque<Life>);

impl Transactions {
    /// A row that began at this time left the connection inside a transaction, or outside.
    fn saw(&mut self, at_ns: i64, inside: bool) {
        match self.0.back_mut().filter(|last| last.to_ns.is_none()) {
            Some(open) if !inside => open.to_ns = Some(at_ns),
            None if inside => self.0.push_back(Life { from_ns: at_ns, to_ns: None }),
            _ => {}
        }
    }

    /// From the begin of the transaction around the one time to the end of that around the other; an open one has no end.
    fn around(&self, first_ns: i64, last_ns: i64) -> Life {
        let at = |time_ns| self.0.iter().find(|life| life.covers(time_ns));
        Life {
            from_ns: at(first_ns).map_or(first_ns, |life| life.from_ns),
            to_ns: at(last_ns).map_or(Some(last_ns), |life| life.to_ns),
        }
    }
}

/// All links that are known so far.
#[derive(Debug)]
pub(super) struct Links {
    pinning: Pinning,
    clients: HashMap<u64, Life>,
    backends: HashMap<Backend, Life>,
    transactions: HashMap<Backend, Transactions>,
    /// Per backend the units that claim it.
    claims: HashMap<Backend, Vec<Claim>>,
    /// Per unit the backends that it claims.
    claimed: HashMap<Unit, Vec<Backend>>,
    /// Per backend that nobody claims yet: whose it can be.
    suspects: HashMap<Backend, Suspects>,
}

/// Sessions one of which a backend connection works for, with the times of the executions that show it.
#[derive(Debug)]
struct Suspects {
    sessions: BTreeSet<u64>,
    last_ns: i64,
}

impl Links {
    pub(super) fn new(pinning: Pinning) -> Self {
        Links {
            pinning,
            clients: HashMap::new(),
            backends: HashMap::new(),
            transactions: HashMap::new(),
            claims: HashMap::new(),
            claimed: HashMap::new(),
            suspects: HashMap::new(),
        }
    }

    pub(super) fn pinning(&self) -> Pinning {
        self.pinning
    }

    /// A client session is served from here on (its connect is complete).
    pub(super) fn client_seen(&mut self, session: u64, at_ns: i64) {
        self.clients.entry(session).or_insert(Life { from_ns: at_ns, to_ns: None });
    }

    /// A client session said goodbye.
    pub(super) fn client_gone(&mut self, session: u64, at_ns: i64) {
        self.clients.entry(session).or_insert(Life { from_ns: at_ns, to_ns: None }).to_ns = Some(at_ns);
    }

    pub(super) fn backend_seen(&mut self, backend: Backend, at_ns: i64) {
        self.backends.entry(backend).or_insert(Life { from_ns: at_ns, to_ns: None });
    }

    /// A row of the backend's trace tells whether it is inside a transaction now.
    pub(super) fn backend_is(&mut self, backend: Backend, at_ns: i64, status: TransactionStatus) {
        self.transactions.entry(backend).or_default().saw(at_ns, status != TransactionStatus::Idle);
    }

    pub(super) fn backend_gone(&mut self, backend: Backend, at_ns: i64) {
        self.backends.entry(backend).or_insert(Life { from_ns: at_ns, to_ns: None }).to_ns = Some(at_ns);
    }

    /// A unique match: `unit` used `backend` at this time.
    pub(super) fn claim(&mut self, unit: Unit, backend: Backend, at_ns: i64) -> Result<(), Contradiction> {
        if self.pinning == Pinning::None {
            return Ok(());
        }
        if !self.allows(unit, backend, at_ns) {
            return Err(self.contradiction(unit, backend));
        }
        let claims = self.claims.entry(backend).or_default();
        match claims.iter_mut().find(|claim| claim.unit == unit) {
            Some(claim) => {
                claim.first_ns = claim.first_ns.min(at_ns);
                claim.last_ns = claim.last_ns.max(at_ns);
            }
            None => {
                claims.push(Claim { unit, first_ns: at_ns, last_ns: at_ns });
                self.claimed.entry(unit).or_default().push(backend);
            }
        }
        Ok(())
    }

    /// An execution on `backend` can only be one of these sessions'. Returns the session that the backend works for, once all but one
    /// have been unable to cause one of its executions.
    ///
    /// Under [`Pinning::Session`] one session has the connection until it ends, so that what two executions have in common holds as
    /// long as none of their sessions ended before the later one.
    pub(super) fn narrow(&mut self, backend: Backend, among: &BTreeSet<u64>, at_ns: i64) -> Option<u64> {
        let claimed = self.claims.get(&backend).is_some_and(|claims| !claims.is_empty());
        if self.pinning != Pinning::Session || claimed || among.is_empty() {
            return None;
        }
        let known =
            self.suspects.entry(backend).or_insert_with(|| Suspects { sessions: among.clone(), last_ns: at_ns });
        let later_ns = known.last_ns.max(at_ns);
        let clients = &self.clients;
        let ended =
            |session: &u64| clients.get(session).is_none_or(|life| life.to_ns.is_some_and(|end_ns| end_ns <= later_ns));
        if known.sessions.iter().chain(among).any(ended) {
            // The connection may have gone over to another session in between.
            if at_ns >= known.last_ns {
                *known = Suspects { sessions: among.clone(), last_ns: at_ns };
            }
            return None;
        }
        known.sessions.retain(|session| among.contains(session));
        known.last_ns = later_ns;
        match known.sessions.len() {
            // Some of it was no client's.
            0 => drop(self.suspects.remove(&backend)),
            1 => return known.sessions.first().copied(),
            _ => {}
        }
        None
    }

    pub(super) fn contradiction(&self, unit: Unit, backend: Backend) -> Contradiction {
        Contradiction { pinning: self.pinning, node: backend.0, backend: backend.1, client: unit.session }
    }

    /// False when the links rule out that `unit` ran something on `backend` at this time.
    pub(super) fn allows(&self, unit: Unit, backend: Backend, at_ns: i64) -> bool {
        let claimed = self.claimed.get(&unit).map_or(&[][..], Vec::as_slice);
        if claimed.contains(&backend) {
            return true;
        }
        let uses_another = claimed.iter().any(|other| {
            other.0 == backend.0
                && self.backends.get(other).is_none_or(|life| life.to_ns.is_none_or(|end| at_ns <= end))
        });
        let mut others =
            self.claims.get(&backend).into_iter().flatten().filter(|claim| claim.unit.session != unit.session);
        let belongs_to_another = others.any(|claim| match self.pinning {
            Pinning::Session => self.clients.get(&claim.unit.session).is_some_and(|life| life.covers(at_ns)),
            Pinning::Transaction => self.reach(backend, claim).covers(at_ns),
            Pinning::None => false,
        });
        !uses_another && !belongs_to_another
    }

    /// How long a claim holds: a transaction is one unit's from its begin to its end.
    fn reach(&self, backend: Backend, claim: &Claim) -> Life {
        let alone = Life { from_ns: claim.first_ns, to_ns: Some(claim.last_ns) };
        self.transactions.get(&backend).map_or(alone, |of| of.around(claim.first_ns, claim.last_ns))
    }

    /// Forgets clients that were gone, and backends that were closed, before this time: nothing pending can refer to them.
    pub(super) fn forget_before(&mut self, at_ns: i64) {
        let over = |life: &Life| life.to_ns.is_some_and(|end| end < at_ns);
        let gone: Vec<u64> = self.clients.iter().filter(|(_, life)| over(life)).map(|(&session, _)| session).collect();
        for session in &gone {
            self.clients.remove(session);
        }
        let closed: Vec<Backend> =
            self.backends.iter().filter(|(_, life)| over(life)).map(|(&backend, _)| backend).collect();
        for backend in &closed {
            self.backends.remove(backend);
            self.claims.remove(backend);
            self.suspects.remove(backend);
            self.transactions.remove(backend);
        }
        let pinning = self.pinning;
        let clients = &self.clients;
        let transactions = &self.transactions;
        let stale = |backend: &Backend, claim: &Claim| {
            let open = || {
                transactions
                    .get(backend)
                    .is_some_and(|of| of.around(claim.first_ns, claim.last_ns).to_ns.is_none_or(|end| at_ns <= end))
            };
            !clients.contains_key(&claim.unit.session)
                || (pinning == Pinning::Transaction && claim.last_ns < at_ns && !open())
        };
        for (backend, claims) in &mut self.claims {
            claims.retain(|claim| !stale(backend, claim));
        }
        for Transactions(list) in self.transactions.values_mut() {
            while list.pop_front_if(|life| over(life)).is_some() {}
        }
        let claims = &self.claims;
        self.claimed.retain(|unit, backends| {
            backends
                .retain(|backend| claims.get(backend).is_some_and(|list| list.iter().any(|claim| claim.unit == *unit)));
            !backends.is_empty()
        });
    }
}
