//! What was found in one run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use splitproof_capture::trace::Role;

use super::{Error, routes};
use crate::comparison::{
    AccidentalPrimaryRead, Cell, Grid, Judged, MissedState, Node, RunSummary, Shape, ShapeCells, ShapeId, StaleRead,
    UnknownShape, Unknowns, WriteLeakage, Writer,
};
use crate::engine::{Cells, Durations, Leaked, RunQueries, Totals, Undecided};
use crate::findings::{READ_ONLY, timestamp};
use crate::run::{Judgement, Run, Statements};
use crate::simulate::Simulation;

/// One run with what later steps need of it.
pub(super) struct Assembled {
    pub judged: Judged,
    pub totals: Totals,
    pub durations: Vec<Durations>,
    /// Requests of each shape.
    pub window: HashMap<u64, u64>,
    pub made_writes: u64,
    pub duplicates: u64,
    pub splits: u64,
    pub states: u64,
    /// How often each sequence of shapes was split.
    by_shapes: HashMap<u64, u64>,
    /// The digests of the sequences in `judged.split_transactions`.
    sequences: Vec<u64>,
    texts: HashMap<u64, Arc<str>>,
}

/// Texts of shapes.
pub(super) struct Shapes {
    texts: HashMap<u64, Arc<str>>,
}

impl Shapes {
    pub(super) fn new(texts: HashMap<u64, Arc<str>>) -> Self {
        Shapes { texts }
    }

    /// The shapes of both runs, which give theirs up.
    pub(super) fn of(runs: [&mut Assembled; 2]) -> Self {
        let mut texts = HashMap::new();
        for run in runs {
            texts.extend(std::mem::take(&mut run.texts));
        }
        Shapes { texts }
    }

    pub(super) fn shape(&self, id: u64) -> Shape {
        shape(&self.texts, id)
    }
}

pub(super) fn shape(texts: &HashMap<u64, Arc<str>>, id: u64) -> Shape {
    Shape { id: ShapeId(id), text: texts.get(&id).map_or_else(String::new, |text| text.to_string()) }
}

/// Puts a run's findings together.
pub(super) fn assemble(
    run: &Run,
    statements: &Statements,
    judgement: Judgement,
    queries: &RunQueries<'_>,
) -> Result<Assembled, Error> {
    let totals = queries.totals()?;
    let texts = statements.texts();
    let cells = queries.grid()?;
    let undecided = queries.undecided()?;
    let has_evidence = !run.nodes().is_empty();
    let summary = summary(run, &judgement, &totals, has_evidence);
    let durations = queries.latency()?;
    let window = durations
        .iter()
        .filter(|row| row.part == "shape")
        .filter_map(|row| row.shape.filter(|&id| id != 0).map(|id| (id, row.requests)))
        .collect();
    let (list, sequences) = judgement.transactions.list.into_iter().unzip();
    let judged = Judged {
        run: summary,
        grid: if has_evidence { grid(&cells, &texts) } else { Grid::default() },
        write_leakage: leakage(queries.leakage()?, &texts),
        accidental_primary_reads: primary_reads(queries, &cells, judgement.primary_ns, &texts)?,
        split_transactions: list,
        session_state_missed: judgement.states.list,
        duplicated_writes: judgement.extras.duplicated,
        router_made: judgement.extras.router_made,
        stale_reads: stale_reads(queries, &texts)?,
        causal_reads: judgement.causal_reads,
        routes: routes::assemble(queries, &texts, has_evidence)?,
        unknowns: unknowns(run, statements, &undecided, judgement.without_text, &texts, has_evidence),
    };
    Ok(Assembled {
        judged,
        totals,
        durations,
        window,
        made_writes: judgement.extras.made_writes,
        duplicates: judgement.extras.duplicates,
        splits: judgement.transactions.split,
        states: judgement.states.total,
        by_shapes: judgement.transactions.by_shapes,
        sequences,
        texts,
    })
}

fn summary(run: &Run, judgement: &Judgement, totals: &Totals, has_evidence: bool) -> RunSummary {
    let nodes = run.nodes().iter().enumerate().map(|(at, node)| Node {
        name: node.name.to_string(),
        role: if node.role == Role::Primary { "primary" } else { "replica" }.to_string(),
        executions: judgement.executions.get(at).copied().unwrap_or(0),
    });
    let nanoseconds = totals.end_ns.zip(totals.begin_ns).map_or(0, |(end, begin)| end.saturating_sub(begin));
    RunSummary {
        path: run.dir().display().to_string(),
        has_evidence,
        whole: run.cut_short().is_none(),
        replayed: run.replayed(),
        simulation: run.simulation().cloned(),
        unsound: run.unsound().map(String::from),
        gone: run.gone().to_vec(),
        has_positions: run.reader().manifest().positions.unwrap_or(0) > 0,
        nodes: nodes.collect(),
        begin: totals.begin_ns.map(timestamp),
        seconds: nanoseconds as f64 / 1e9,
        sessions: totals.sessions,
        requests: totals.requests,
        shapes: totals.shapes,
        transactions: judgement.transactions.total,
        errors: totals.errors,
        incomplete: totals.incomplete,
        replayer_late: totals.late,
        attributed: judgement.attributed,
    }
}

fn grid(cells: &[Cells], texts: &HashMap<u64, Arc<str>>) -> Grid {
    let mut whole = BTreeMap::new();
    let mut shapes: BTreeMap<u64, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        *whole.entry((cell.intent.clone(), cell.destination)).or_default() += cell.requests;
        shapes.entry(cell.shape).or_default().push(Cell {
            intent: cell.intent.clone(),
            destination: cell.destination,
            requests: cell.requests,
        });
    }
    let total = |cells: &[Cell]| cells.iter().map(|cell| cell.requests).sum::<u64>();
    let mut shapes: Vec<ShapeCells> =
        shapes.into_iter().map(|(id, cells)| ShapeCells { shape: shape(texts, id), cells }).collect();
    shapes.sort_by_key(|row| (std::cmp::Reverse(total(&row.cells)), row.shape.id));
    Grid {
        cells: whole
            .into_iter()
            .map(|((intent, destination), requests)| Cell { intent, destination, requests })
            .collect(),
        shapes,
    }
}

fn leakage(leaked: Vec<Leaked>, texts: &HashMap<u64, Arc<str>>) -> Vec<WriteLeakage> {
    let mut found: BTreeMap<u64, WriteLeakage> = BTreeMap::new();
    for part in leaked {
        let entry = found.entry(part.shape).or_insert_with(|| WriteLeakage {
            shape: shape(texts, part.shape),
            reason: part.reason.clone(),
            requests: 0,
            refused: 0,
            errors: Vec::new(),
            nodes: Vec::new(),
            baseline: None,
            example: part.example.clone(),
        });
        entry.requests += part.requests;
        for name in &part.example.nodes {
            if !entry.nodes.contains(name) {
                entry.nodes.push(name.clone());
            }
        }
        if let Some(code) = part.example.error {
            if READ_ONLY.contains(&code.as_str()) {
                entry.refused += part.requests;
            }
            match entry.errors.iter_mut().find(|(known, _)| *known == code) {
                Some((_, count)) => *count += part.requests,
                None => entry.errors.push((code, part.requests)),
            }
        }
    }
    let mut list: Vec<WriteLeakage> = found.into_values().collect();
    for entry in &mut list {
        entry.errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        entry.nodes.sort();
    }
    list.sort_by_key(|entry| (std::cmp::Reverse(entry.requests), entry.shape.id));
    list
}

fn primary_reads(
    queries: &RunQueries<'_>,
    cells: &[Cells],
    primary_ns: Option<u64>,
    texts: &HashMap<u64, Arc<str>>,
) -> Result<Vec<AccidentalPrimaryRead>, Error> {
    let mut eligible: HashMap<u64, u64> = HashMap::new();
    for cell in cells.iter().filter(|cell| cell.intent == "replica" && cell.destination.is_known()) {
        *eligible.entry(cell.shape).or_default() += cell.requests;
    }
    let share = |ns: f64| primary_ns.map(|all| if all == 0 { 0.0 } else { ns / all as f64 });
    let reads = queries.primary_reads()?.into_iter().map(|read| AccidentalPrimaryRead {
        shape: shape(texts, read.shape),
        requests: read.requests,
        eligible: eligible.get(&read.shape).copied().unwrap_or(read.requests),
        primary_ms: primary_ns.map(|_| read.primary_ns / 1e6),
        share: share(read.primary_ns),
        baseline: None,
        example: read.example,
    });
    Ok(reads.collect())
}

fn stale_reads(queries: &RunQueries<'_>, texts: &HashMap<u64, Arc<str>>) -> Result<Vec<StaleRead>, Error> {
    let judged: HashMap<u64, u64> = queries.replica_reads()?.into_iter().collect();
    let reads = queries.stale()?.into_iter().map(|stale| StaleRead {
        shape: shape(texts, stale.shape),
        writer: match (stale.own, stale.same_client) {
            (true, _) => Writer::Own,
            (false, true) => Writer::SameClient,
            (false, false) => Writer::Other,
        },
        requests: stale.requests,
        replica_reads: judged.get(&stale.shape).copied().unwrap_or(stale.requests),
        lag_ms: stale.lag_ns.map(|ns| ns / 1e6),
        uncertainty_ms: stale.uncertainty_ns / 1e6,
        any_table: stale.any_table,
        baseline: None,
        example: stale.example,
        missed: stale.missed,
    });
    Ok(reads.collect())
}

fn unknowns(
    run: &Run,
    statements: &Statements,
    undecided: &[Undecided],
    without_text: u64,
    texts: &HashMap<u64, Arc<str>>,
    has_evidence: bool,
) -> Unknowns {
    let list = |why: &str, reason: &str| -> Vec<UnknownShape> {
        let shapes = undecided.iter().filter(|row| row.why == why).map(|row| UnknownShape {
            shape: shape(texts, row.shape),
            requests: row.requests,
            reason: reason.to_string(),
            example: row.example.clone(),
        });
        shapes.collect()
    };
    let manifest = run.reader().manifest();
    let mut losses = BTreeMap::new();
    for (loss, count) in manifest.table.losses.iter() {
        losses.insert(format!("requests.{}", loss.name()), count);
    }
    for (node, table) in &manifest.nodes {
        for (loss, count) in table.losses.iter() {
            losses.insert(format!("node-{node}.{}", loss.name()), count);
        }
    }
    let mut notes = Vec::new();
    notes.extend(run.gone().iter().cloned());
    notes.extend(run.cut_short().map(String::from));
    notes.extend(run.unsound().map(String::from));
    for leftover in run.reader().leftovers() {
        notes.push(leftover.to_string());
    }
    if let Some(simulation) = run.simulation() {
        notes.extend(predicted(simulation));
    } else if has_evidence && manifest.positions.unwrap_or(0) == 0 {
        notes.push("there are no position samples: staleness cannot be judged".to_string());
    }
    Unknowns {
        functions: statements.unknown_functions(),
        parse_errors: statements.parse_errors(),
        unseen: list("unseen", "no execution was seen at any node"),
        ambiguous: list(
            "ambiguous",
            "equal statements ran at the same time, and the evidence does not tell them apart",
        ),
        staleness: list("staleness", "a commit on its tables fell between two position samples"),
        without_text,
        losses,
        notes,
    }
}

/// What limits a prediction.
fn predicted(simulation: &Simulation) -> Vec<String> {
    let mut notes = vec![format!(
        "destinations are predicted by the model of {}: nothing was executed, so answers, staleness and latencies are not measured",
        simulation.model
    )];
    notes.extend(simulation.unknown.iter().map(|unknown| format!("the model does not know {unknown}")));
    notes.extend(simulation.unmodelled.iter().cloned());
    if simulation.counts.refused > 0 {
        notes.push(format!("{} requests would be refused by the router itself", simulation.counts.refused));
    }
    notes
}

/// Tells each of the candidate's findings how often the baseline shows the same.
pub(super) fn set_baseline(candidate: &mut Assembled, baseline: &Assembled) {
    if !baseline.judged.run.has_evidence {
        return;
    }
    let (new, old) = (&mut candidate.judged, &baseline.judged);
    for found in &mut new.write_leakage {
        let same = old.write_leakage.iter().filter(|other| other.shape.id == found.shape.id);
        found.baseline = Some(same.map(|other| other.requests).sum());
    }
    for found in &mut new.accidental_primary_reads {
        let same = old.accidental_primary_reads.iter().filter(|other| other.shape.id == found.shape.id);
        found.baseline = Some(same.map(|other| other.requests).sum());
    }
    for (found, sequence) in new.split_transactions.iter_mut().zip(&candidate.sequences) {
        found.baseline = Some(baseline.by_shapes.get(sequence).copied().unwrap_or(0));
    }
    for found in &mut new.session_state_missed {
        let same = old.session_state_missed.iter().filter(|other: &&MissedState| other.shape.id == found.shape.id);
        found.baseline = Some(same.map(|other| other.requests).sum());
    }
    for found in &mut new.duplicated_writes {
        let same = old.duplicated_writes.iter().filter(|other| other.shape.id == found.shape.id);
        found.baseline = Some(same.map(|other| other.executions).sum());
    }
    for found in &mut new.router_made {
        let same = old.router_made.iter().filter(|other| other.shape.id == found.shape.id);
        found.baseline = Some(same.flat_map(|other| &other.executions).map(|(_, count)| count).sum());
    }
    for found in &mut new.stale_reads {
        let same =
            old.stale_reads.iter().filter(|other| other.shape.id == found.shape.id && other.writer == found.writer);
        found.baseline = Some(same.map(|other| other.requests).sum());
    }
}
