//! A trace through a model, written as a run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use splitproof_capture::trace::{
    Existing, Kind, Options as WriterOptions, Outcome, Reader, Request, Sink, Writer, check_directory,
};

use super::agreement::{Agreement, Predictions};
use super::decisions::Decisions;
use super::record::{Counts, ShapeDecision, Simulation};
use super::{Decision, Error, Model, Node, Nodes, Router, Sent, Session};
use crate::attribution::needs_execution;
use crate::comparison::ShapeId;
use crate::findings::shorten;
use crate::run::Run;

/// A shape, where it goes, why, and the rule.
type Listed = (u64, Arc<str>, Arc<str>, Option<Arc<str>>);

/// Combinations of shape, place and reason that are listed in `trace.json`.
const LISTED: usize = 20_000;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The model.
    pub router: Router,
    /// The rule files.
    pub rules: Vec<PathBuf>,
    /// The trace: a recording, or a run that repeats one.
    pub trace: PathBuf,
    /// Where the run goes.
    pub out: PathBuf,
    /// What to do when something is there.
    pub existing: Existing,
    /// A run whose catalogue says what the pair's functions do; that of the trace, where it is a run, otherwise.
    pub catalog: Option<PathBuf>,
}

/// What came of a simulation.
#[derive(Clone, Debug)]
pub struct Summary {
    /// As it stands in the run.
    pub simulation: Simulation,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Time on one core in which the model alone decided all requests.
    pub deciding: Duration,
    /// Where the trace is a run through a router: how far the model agrees with it.
    pub agreement: Option<Agreement>,
}

/// The `run` section of a simulated run.
#[derive(serde::Serialize)]
struct Section<'a> {
    nodes: Vec<Entry<'a>>,
    trace: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<String>,
    simulation: &'a Simulation,
}

#[derive(serde::Serialize)]
struct Entry<'a> {
    name: &'a str,
    role: &'a str,
    evidence: &'static str,
}

/// How long this thread has had a core, where the kernel tells, and how long it is since `start` elsewhere.
fn busy(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Sends every request of a trace through a model and writes the run.
pub fn simulate(plan: &Plan, model: &dyn Model) -> Result<Summary, Error> {
    if lies_in(&plan.out, &plan.trace) {
        return Err(Error::Inside { path: plan.out.clone() });
    }
    let run = Run::open(&plan.trace)?;
    let manifest = run.reader().manifest();
    if manifest.engine != plan.router.engine() {
        return Err(Error::Engine {
            path: plan.trace.clone(),
            engine: manifest.engine.as_str(),
            router: plan.router.name(),
            speaks: plan.router.engine().as_str(),
        });
    }
    check_directory(&plan.out, plan.existing)?;
    let about = model.about();
    let inputs = vec![plan.trace.display().to_string()];
    let options =
        WriterOptions { inputs, existing: plan.existing, ..WriterOptions::new(manifest.engine, "simulation") };
    let mut writer = Writer::create(&plan.out, options)?;
    copy_catalog(plan, run.reader(), &writer)?;
    let mut decisions = Decisions::create(&plan.out)?;
    let mut tally = Tally::new(&about.nodes);
    let mut predictions = run.replayed().then(|| Predictions::new(&about.nodes));
    let mut sessions: HashMap<u64, Box<dyn Session + '_>> = HashMap::new();
    let (start, mut deciding) = (Instant::now(), Duration::ZERO);
    let mut batch: Vec<(Request, Option<Decision>)> = Vec::with_capacity(BATCH);
    let mut requests = run.reader().requests();
    loop {
        batch.clear();
        for request in requests.by_ref().take(BATCH) {
            batch.push((request?, None));
        }
        if batch.is_empty() {
            break;
        }
        let begun = busy(start);
        for (request, decision) in &mut batch {
            let session = sessions.entry(request.session).or_insert_with(|| model.connect(request));
            *decision = Some(session.route(request));
            session.ended(request);
            if request.kind == Kind::Disconnect {
                sessions.remove(&request.session);
            }
        }
        deciding += busy(start).saturating_sub(begun);
        for (request, decision) in batch.drain(..) {
            let Some(decision) = decision else { continue };
            let sent = tally.count(&request, &decision);
            if let Some(sent) = &sent {
                decisions.push(&request, sent, &decision)?;
            }
            if let Some(predictions) = &mut predictions {
                predictions.keep(&request, &decision);
            }
            writer.request(row(request, sent, &decision));
        }
    }
    decisions.finish()?;
    let simulation = tally.finish(plan, model);
    let entry = |node: &'_ Node| (node.name.clone(), node.role.as_str());
    let names: Vec<_> = about.nodes.iter().map(entry).collect();
    writer.run(&Section {
        nodes: names.iter().map(|(name, role)| Entry { name, role, evidence: "predicted" }).collect(),
        trace: run.recording().and_then(|recording| recording.trace.as_deref()).unwrap_or(&plan.trace),
        recording: run.recording().map(|recording| recording.id.clone()),
        simulation: &simulation,
    })?;
    let manifest = run.reader().manifest();
    writer.finish_like(&manifest.table.losses, manifest.complete, manifest.rebuilt)?;
    let agreement = predictions.map(|predictions| predictions.against(&run)).transpose()?;
    Ok(Summary { simulation, nodes: about.nodes, deciding, agreement })
}

/// Requests that are decided without a look at the clock.
const BATCH: usize = 4_096;

/// The catalogue travels along, so that the run is judged with what is known of the pair's functions.
fn copy_catalog(plan: &Plan, trace: &Reader, writer: &Writer) -> Result<(), Error> {
    let catalog = match &plan.catalog {
        Some(dir) => {
            let found = Reader::open(dir)?.catalog()?;
            Some(found.ok_or_else(|| Error::Option(format!("{}: has no catalog.json; name a run", dir.display())))?)
        }
        None => trace.catalog()?,
    };
    if let Some(catalog) = catalog {
        writer.catalog(&catalog)?;
    }
    Ok(())
}

/// Whether a directory would lie in another, however the two are written.
fn lies_in(dir: &Path, other: &Path) -> bool {
    let Ok(other) = other.canonicalize() else { return false };
    let mut dir = dir;
    loop {
        if let Ok(found) = dir.canonicalize() {
            return found.starts_with(&other);
        }
        match dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => dir = parent,
            _ => return Path::new(".").canonicalize().is_ok_and(|here| here.starts_with(&other)),
        }
    }
}

/// The recorded request as a row of the run. What was measured at another place is left out; how the request ended stays, because the
/// session's state follows from it.
fn row(request: Request, sent: Option<Arc<str>>, decision: &Decision) -> Request {
    let placed = matches!(decision.sent, Sent::To(_) | Sent::OneOf(_));
    let mut row = Request {
        recorded_session: Some(request.recorded_session.unwrap_or(request.session)),
        recorded_seq: Some(request.recorded_seq.unwrap_or(request.seq)),
        due_ns: None,
        late_cause: None,
        first_row_ns: None,
        result_bytes: None,
        checksum_full: None,
        checksum_rows: None,
        checksum_rowset: None,
        position: None,
        node: sent.filter(|_| placed),
        ..request
    };
    if let (Sent::Refused(code), Outcome::Ok) = (&decision.sent, row.outcome) {
        row.outcome = Outcome::Error;
        row.error_code = Some(code.as_ref().into());
        (row.rows, row.affected, row.last_insert_id, row.warnings) = (None, None, None, None);
    }
    row
}

/// Counts decisions.
struct Tally<'a> {
    nodes: &'a [Node],
    counts: Counts,
    words: HashMap<Nodes, [Arc<str>; 2]>,
    listed: HashMap<Listed, ShapeDecision>,
    unlisted: u64,
}

impl<'a> Tally<'a> {
    fn new(nodes: &'a [Node]) -> Self {
        Tally { nodes, counts: Counts::default(), words: HashMap::new(), listed: HashMap::new(), unlisted: 0 }
    }

    /// Counts a decision, and says it in words where the request was routed at all.
    fn count(&mut self, request: &Request, decision: &Decision) -> Option<Arc<str>> {
        self.counts.requests += 1;
        if !needs_execution(request) {
            return None;
        }
        self.counts.routed += 1;
        let sent = match &decision.sent {
            Sent::To(nodes) => {
                self.counts.decided += 1;
                self.named(*nodes, 0)
            }
            Sent::OneOf(nodes) => {
                self.counts.undecided += 1;
                self.named(*nodes, 1)
            }
            Sent::Router => {
                self.counts.by_router += 1;
                "(router)".into()
            }
            Sent::Refused(code) => {
                self.counts.refused += 1;
                format!("(refused {code})").into()
            }
        };
        let shape = request.shape_id.unwrap_or(0);
        let key = (shape, sent.clone(), decision.reason.clone(), decision.rule.clone());
        let full = self.listed.len() >= LISTED;
        match self.listed.get_mut(&key) {
            Some(known) => known.requests += 1,
            None if full => self.unlisted += 1,
            None => {
                let listed = ShapeDecision {
                    shape: ShapeId(shape),
                    sql: shorten(request.sql.as_deref().unwrap_or("")),
                    sent: sent.to_string(),
                    reason: decision.reason.to_string(),
                    rule: decision.rule.as_deref().map(str::to_owned),
                    requests: 1,
                };
                self.listed.insert(key, listed);
            }
        }
        Some(sent)
    }

    fn named(&mut self, nodes: Nodes, one_of: usize) -> Arc<str> {
        let words = self.words.entry(nodes).or_insert_with(|| {
            let names: Vec<&str> =
                nodes.iter().filter_map(|node| self.nodes.get(node)).map(|node| node.name.as_str()).collect();
            [names.join("+").into(), names.join("|").into()]
        });
        words[one_of].clone()
    }

    fn finish(self, plan: &Plan, model: &dyn Model) -> Simulation {
        let about = model.about();
        let mut decisions: Vec<ShapeDecision> = self.listed.into_values().collect();
        decisions.sort_by(|a, b| {
            (b.requests.cmp(&a.requests))
                .then_with(|| (a.shape, &a.sent, &a.reason).cmp(&(b.shape, &b.sent, &b.reason)))
        });
        let mut notes = about.notes;
        notes.extend(model.notes());
        Simulation {
            router: plan.router.name().into(),
            model: about.model,
            rules: plan.rules.clone(),
            counts: self.counts,
            unknown: about.unknown,
            unmodelled: about.unmodelled,
            notes,
            rule_uses: model.rules(),
            decisions,
            unlisted: self.unlisted,
        }
    }
}
