//! Which backend connection works for which client, and when.

use std::collections::HashMap;

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

/// All links that are known so far.
#[derive(Debug)]
pub(super) struct Links {
    pinning: Pinning,
    clients: HashMap<u64, Life>,
    backends: HashMap<Backend, Life>,
    /// Per backend the units that claim it.
    claims: HashMap<Backend, Vec<Claim>>,
    /// Per unit the backends that it claims.
    claimed: HashMap<Unit, Vec<Backend>>,
}

impl Links {
    pub(super) fn new(pinning: Pinning) -> Self {
        Links {
            pinning,
            clients: HashMap::new(),
            backends: HashMap::new(),
            claims: HashMap::new(),
            claimed: HashMap::new(),
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
        let belongs_to_another = self.claims.get(&backend).into_iter().flatten().any(|claim| match self.pinning {
            Pinning::Session => self.clients.get(&claim.unit.session).is_some_and(|life| life.covers(at_ns)),
            Pinning::Transaction => claim.first_ns <= at_ns && at_ns <= claim.last_ns,
            Pinning::None => false,
        });
        !uses_another && !belongs_to_another
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
        }
        let pinning = self.pinning;
        let clients = &self.clients;
        let stale = |claim: &Claim| {
            !clients.contains_key(&claim.unit.session) || (pinning == Pinning::Transaction && claim.last_ns < at_ns)
        };
        for claims in self.claims.values_mut() {
            claims.retain(|claim| !stale(claim));
        }
        let claims = &self.claims;
        self.claimed.retain(|unit, backends| {
            backends
                .retain(|backend| claims.get(backend).is_some_and(|list| list.iter().any(|claim| claim.unit == *unit)));
            !backends.is_empty()
        });
    }
}
