//! What is counted in one pass over the requests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use splitproof_capture::sql::{self, Dialect};
use splitproof_capture::trace::{self, Columns, Kind, Outcome, Reader, Request};

use super::NameLine;

/// Requests, and what they cost.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Cost {
    pub requests: u64,
    pub errors: u64,
    pub total_ns: u64,
}

impl Cost {
    fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.errors += u64::from(request.outcome == Outcome::Error);
        self.total_ns = self.total_ns.saturating_add(request.duration_ns.unwrap_or(0));
    }
}

/// Costs by a name, of which there may be endlessly many.
#[derive(Default)]
pub struct Names {
    costs: HashMap<Option<Arc<str>>, Cost>,
    /// Those of names beyond the limit.
    others: Cost,
}

/// Names that are counted apart.
const NAMES: usize = 10_000;

impl Names {
    fn add(&mut self, name: Option<&Arc<str>>, request: &Request) {
        let full = self.costs.len() >= NAMES;
        match self.costs.get_mut(&name.cloned()) {
            Some(cost) => cost.add(request),
            None if full => self.others.add(request),
            None => self.costs.entry(name.cloned()).or_default().add(request),
        }
    }

    /// Those with the most requests; the rest together, if there is one.
    pub fn top(&self, limit: usize) -> Vec<NameLine> {
        let mut ranked: Vec<(&Option<Arc<str>>, &Cost)> = self.costs.iter().collect();
        ranked.sort_unstable_by_key(|(name, cost)| (std::cmp::Reverse(cost.requests), (*name).clone()));
        let mut rest = self.others;
        for (_, cost) in ranked.iter().skip(limit) {
            rest.requests += cost.requests;
            rest.errors += cost.errors;
            rest.total_ns = rest.total_ns.saturating_add(cost.total_ns);
        }
        let line = |(name, cost): (&Option<Arc<str>>, &Cost)| NameLine {
            name: name.as_deref().map(str::to_owned),
            cost: *cost,
        };
        let mut lines: Vec<NameLine> = ranked.into_iter().take(limit).map(line).collect();
        if rest.requests > 0 {
            lines.push(NameLine { name: Some("(others)".into()), cost: rest });
        }
        lines
    }

    /// The same, where any name is known.
    pub fn known(&self, limit: usize) -> Vec<NameLine> {
        if self.costs.keys().any(Option::is_some) { self.top(limit) } else { Vec::new() }
    }
}

/// Everything that is counted.
#[derive(Default)]
pub struct Counts {
    pub kinds: BTreeMap<Kind, u64>,
    pub outcomes: BTreeMap<Outcome, u64>,
    pub shapes: HashMap<u64, Cost>,
    pub users: Names,
    pub databases: Names,
    pub applications: Names,
    pub destinations: Names,
    pub tags: BTreeMap<String, Names>,
    /// Sessions that began before the recording, and those of them whose user is not known.
    pub midway: HashSet<u64>,
    pub unknown_user: HashSet<u64>,
    pub redacted: u64,
    pub truncated: u64,
    pub gap_before: u64,
    /// Requests that run a statement whose text is not known.
    pub without_text: u64,
    /// Requests whose text holds a password that was not recorded.
    pub passwords: u64,
}

impl Counts {
    pub fn of(reader: &Reader) -> Result<Self, trace::Error> {
        let mut counts = Counts::default();
        let dialect = Dialect::of(reader.manifest().engine);
        let columns = vec![
            "shape_id",
            "duration_ns",
            "sql",
            "user",
            "database",
            "application",
            "node",
            "truncated",
            "gap_before",
            "joined_midway",
            "redacted",
        ];
        for request in reader.requests_with(Columns::Only(columns)) {
            counts.add(&request?, dialect);
        }
        Ok(counts)
    }

    fn add(&mut self, request: &Request, dialect: Dialect) {
        *self.kinds.entry(request.kind).or_default() += 1;
        *self.outcomes.entry(request.outcome).or_default() += 1;
        if let Some(id) = request.shape_id {
            self.shapes.entry(id).or_default().add(request);
        }
        self.users.add(request.user.as_ref(), request);
        self.databases.add(request.database.as_ref(), request);
        self.applications.add(request.application.as_ref().filter(|name| !name.is_empty()), request);
        self.destinations.add(request.node.as_ref(), request);
        if request.joined_midway {
            self.midway.insert(request.session);
            if request.user.is_none() {
                self.unknown_user.insert(request.session);
            }
        }
        self.redacted += u64::from(request.redacted);
        self.truncated += u64::from(request.truncated);
        self.gap_before += u64::from(request.gap_before);
        let runs = matches!(request.kind, Kind::Query | Kind::Prepare | Kind::Execute | Kind::Copy);
        self.without_text += u64::from(runs && request.sql.is_none());
        let Some(sql) = request.sql.as_deref() else { return };
        self.passwords += u64::from(sql.contains("'***'"));
        for (key, value) in sql::tags(sql, dialect) {
            // Those name one request each.
            if !matches!(key.as_str(), "traceparent" | "tracestate")
                && (self.tags.len() < 32 || self.tags.contains_key(&key))
            {
                self.tags.entry(key).or_default().add(Some(&value.into()), request);
            }
        }
    }
}
