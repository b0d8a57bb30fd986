//! Predictions against what a router did.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use splitproof_capture::trace::{Request, Role};

use super::{Decision, Error, Node, Nodes, Sent};
use crate::attribution::{Extra, Placed, Receive, needs_execution};
use crate::comparison::ShapeId;
use crate::findings::shorten;
use crate::run::{Run, places};

/// How far a model agrees with the router that a run went through. Two replicas count as one place, since lots are drawn between them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Agreement {
    /// Requests whose nodes are predicted, and known from the run's nodes.
    pub compared: u64,
    /// Those of them that go where they went.
    pub agreed: u64,
    /// Requests of which one of the two is not known.
    pub not_compared: u64,
    /// The others, the most requests first.
    pub differing: Vec<Differing>,
}

impl Agreement {
    /// The share that agrees.
    pub fn percent(&self) -> f64 {
        if self.compared == 0 { 100.0 } else { self.agreed as f64 * 100.0 / self.compared as f64 }
    }
}

/// Requests that a model sends elsewhere than the router did.
#[derive(Clone, Debug, Serialize)]
pub struct Differing {
    /// Their shape, where they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeId>,
    /// The first one's text.
    pub sql: String,
    /// Where the model sends them.
    pub predicted: &'static str,
    /// Why.
    pub reason: Arc<str>,
    /// Where they ran.
    pub ran: &'static str,
    /// How many.
    pub requests: u64,
    /// The first one's session.
    pub session: u64,
    /// Its number there.
    pub seq: u32,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Place {
    primary: bool,
    replica: bool,
}

impl Place {
    fn of(roles: impl Iterator<Item = Role>) -> Self {
        let mut place = Place::default();
        for role in roles {
            match role {
                Role::Primary => place.primary = true,
                Role::Replica => place.replica = true,
            }
        }
        place
    }

    fn word(self) -> &'static str {
        match (self.primary, self.replica) {
            (true, true) => "both",
            (true, false) => "the primary",
            (false, true) => "a replica",
            (false, false) => "no node",
        }
    }
}

/// What a model predicts, until the run is attributed.
pub struct Predictions {
    roles: Vec<Role>,
    /// Session and number.
    places: HashMap<(u64, u32), (Place, Arc<str>)>,
}

impl Predictions {
    /// For these nodes.
    pub fn new(nodes: &[Node]) -> Self {
        Predictions { roles: nodes.iter().map(|node| node.role).collect(), places: HashMap::new() }
    }

    fn place(&self, nodes: Nodes) -> Place {
        Place::of(nodes.iter().filter_map(|node| self.roles.get(node).copied()))
    }

    /// Keeps a decision.
    pub fn keep(&mut self, request: &Request, decision: &Decision) {
        if let Sent::To(nodes) = decision.sent
            && needs_execution(request)
        {
            let place = self.place(nodes);
            self.places.insert((request.session, request.seq), (place, decision.reason.clone()));
        }
    }

    /// Holds the predictions against the run that they were made from.
    pub fn against(self, run: &Run) -> Result<Agreement, Error> {
        let roles: Vec<Role> = run.nodes().iter().map(|node| node.role).collect();
        let comparing = places(run, || Comparing {
            predictions: &self,
            roles: &roles,
            agreement: Agreement::default(),
            differing: HashMap::new(),
        })?;
        let mut agreement = comparing.agreement;
        agreement.differing = comparing.differing.into_values().collect();
        agreement
            .differing
            .sort_by(|a, b| b.requests.cmp(&a.requests).then((a.session, a.seq).cmp(&(b.session, b.seq))));
        Ok(agreement)
    }
}

struct Comparing<'a> {
    predictions: &'a Predictions,
    roles: &'a [Role],
    agreement: Agreement,
    differing: HashMap<(Option<u64>, Place, Place, Arc<str>), Differing>,
}

impl Receive for Comparing<'_> {
    fn placed(&mut self, placed: Placed) {
        let request = placed.request;
        if !needs_execution(&request) {
            return;
        }
        let predicted = self.predictions.places.get(&(request.session, request.seq));
        let ran =
            placed.placement.nodes().map(|nodes| Place::of(nodes.filter_map(|node| self.roles.get(node).copied())));
        let (Some((predicted, reason)), Some(ran)) = (predicted, ran) else {
            self.agreement.not_compared += 1;
            return;
        };
        self.agreement.compared += 1;
        if *predicted == ran {
            self.agreement.agreed += 1;
            return;
        }
        let key = (request.shape_id, *predicted, ran, reason.clone());
        let entry = self.differing.entry(key).or_insert_with(|| Differing {
            shape: request.shape_id.map(ShapeId),
            sql: shorten(request.sql.as_deref().unwrap_or_default()),
            predicted: predicted.word(),
            reason: reason.clone(),
            ran: ran.word(),
            requests: 0,
            session: request.session,
            seq: request.seq,
        });
        entry.requests += 1;
    }

    fn extra(&mut self, _: Extra) {}
}
