//! What a trace holds.
//!
//! - `count`: one pass over the requests; `fitness`: whether they can be replayed; `text`: for people, in 100 columns

mod count;
mod fitness;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use serde::Serialize;
use splitproof_capture::trace::{self, Encrypted, Kind, Manifest, Outcome, Reader, Shape, Window};

use super::Done;
use super::plan::Show;
use super::summary::{LossLine, loss_lines};
use count::{Cost, Counts};
use fitness::Fitness;

/// Everything that is printed.
#[derive(Serialize)]
struct Contents<'a> {
    trace: &'a std::path::Path,
    format: u32,
    tool: &'a str,
    engine: trace::Engine,
    source: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    inputs: &'a [String],
    complete: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
    redacted: bool,
    window: Option<Window>,
    sessions: u64,
    sessions_joined_midway: u64,
    requests: u64,
    kinds: BTreeMap<Kind, u64>,
    outcomes: BTreeMap<Outcome, u64>,
    shape_count: u64,
    shapes: Vec<ShapeLine>,
    shapes_by_time: Vec<ShapeLine>,
    users: Vec<NameLine>,
    databases: Vec<NameLine>,
    applications: Vec<NameLine>,
    /// What sqlcommenter's tags say, by key.
    tags: BTreeMap<String, Vec<NameLine>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    destinations: Vec<NameLine>,
    losses: Vec<LossLine>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    encrypted: &'a [Encrypted],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    nodes: BTreeMap<&'a str, Node>,
    replay: Fitness,
    problems: Vec<String>,
}

/// One shape and what its requests cost.
#[derive(Serialize)]
struct ShapeLine {
    /// As text: JSON numbers lose the last digits in many readers.
    shape_id: String,
    #[serde(flatten)]
    cost: Cost,
    text: String,
}

/// One user, database, application or tag, and what its requests cost.
#[derive(Serialize)]
struct NameLine {
    /// `None` where it is not known.
    name: Option<String>,
    #[serde(flatten)]
    cost: Cost,
}

/// What a run's trace of a node holds.
#[derive(Serialize)]
struct Node {
    window: Option<Window>,
    sessions: u64,
    requests: u64,
    losses: Vec<LossLine>,
}

/// Prints what the trace holds. It is read as a whole, so damage anywhere shows.
pub fn run(plan: &Show) -> anyhow::Result<Done> {
    if plan.rebuild {
        trace::rebuild(&plan.trace)?;
    }
    let reader = Reader::open(&plan.trace)?;
    let manifest = reader.manifest();
    let counts = Counts::of(&reader)?;
    for name in manifest.nodes.keys() {
        reader.node(name)?.try_for_each(|request| request.map(drop))?;
    }
    let texts = reader.shapes()?.into_iter().map(|shape| (shape.shape_id, shape)).collect();
    let contents = Contents {
        trace: reader.dir(),
        format: manifest.format,
        tool: &manifest.tool,
        engine: manifest.engine,
        source: &manifest.source,
        inputs: &manifest.inputs,
        complete: manifest.complete,
        stopped: manifest.stopped,
        redacted: counts.redacted > 0,
        window: manifest.table.window,
        sessions: manifest.table.sessions,
        sessions_joined_midway: counts.midway.len() as u64,
        requests: manifest.table.requests,
        shape_count: counts.shapes.len() as u64,
        shapes: shapes(&counts.shapes, &texts, plan.shapes, |cost| cost.requests),
        shapes_by_time: shapes(&counts.shapes, &texts, plan.shapes, |cost| cost.total_ns),
        users: counts.users.top(plan.shapes),
        databases: counts.databases.top(plan.shapes),
        applications: counts.applications.top(plan.shapes),
        tags: counts.tags.iter().map(|(key, names)| (key.clone(), names.top(plan.shapes))).collect(),
        destinations: counts.destinations.known(plan.shapes),
        losses: loss_lines(&manifest.table.losses),
        encrypted: &manifest.encrypted,
        nodes: manifest.nodes.iter().map(|(name, table)| (name.as_str(), table.into())).collect(),
        replay: Fitness::of(manifest, &counts),
        kinds: counts.kinds,
        outcomes: counts.outcomes,
        problems: problems(manifest, &reader),
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if plan.json {
        serde_json::to_writer_pretty(&mut out, &contents)?;
        writeln!(out)?;
    } else {
        contents.write(&mut out)?;
    }
    out.flush()?;
    Ok(Done::from_problems(&contents.problems))
}

impl From<&trace::Table> for Node {
    fn from(table: &trace::Table) -> Self {
        Node {
            window: table.window,
            sessions: table.sessions,
            requests: table.requests,
            losses: loss_lines(&table.losses),
        }
    }
}

/// The shapes with the most of something.
fn shapes(
    counts: &HashMap<u64, Cost>,
    known: &HashMap<u64, Shape>,
    limit: usize,
    most: impl Fn(&Cost) -> u64,
) -> Vec<ShapeLine> {
    let mut ranked: Vec<(u64, Cost)> = counts.iter().map(|(&id, &cost)| (id, cost)).collect();
    ranked.sort_unstable_by_key(|(id, cost)| (std::cmp::Reverse(most(cost)), *id));
    ranked.truncate(limit);
    let lines = ranked.into_iter().map(|(id, cost)| ShapeLine {
        shape_id: id.to_string(),
        cost,
        text: known.get(&id).map_or_else(|| "(not in shapes.parquet)".to_string(), |shape| shape.text.to_string()),
    });
    lines.collect()
}

/// What it is to have been stopped.
fn stopped(manifest: &Manifest) -> &'static str {
    match manifest.run {
        Some(_) => "the replay was stopped, or given up, before its end: what was not sent is missing",
        None => "the recording was stopped before the end of its files: what follows is missing",
    }
}

fn problems(manifest: &Manifest, reader: &Reader) -> Vec<String> {
    let mut problems: Vec<String> = reader.leftovers().iter().map(ToString::to_string).collect();
    if manifest.rebuilt {
        problems.push("trace.json was made again from the files: what was lost while recording is not known".into());
    } else if manifest.stopped {
        problems.push(stopped(manifest).into());
    } else if !manifest.complete {
        problems.push(
            "the recording is still running, or was killed: what came after its last flush is missing, and the losses \
             may be more than listed"
                .into(),
        );
    }
    problems
}
