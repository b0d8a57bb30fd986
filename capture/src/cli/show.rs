//! What a trace holds.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use serde::Serialize;
use splitproof_capture::trace::{self, Columns, Kind, Manifest, Outcome, Reader, Shape, Window};

use super::Done;
use super::plan::Show;
use super::summary::{LossLine, loss_lines, write_counts, write_losses, write_problems};

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
    window: Option<Window>,
    sessions: u64,
    requests: u64,
    kinds: BTreeMap<Kind, u64>,
    outcomes: BTreeMap<Outcome, u64>,
    shape_count: u64,
    shapes: Vec<ShapeLine>,
    losses: Vec<LossLine>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    nodes: BTreeMap<&'a str, Node>,
    problems: Vec<String>,
}

/// One shape and what its requests cost.
#[derive(Serialize)]
struct ShapeLine {
    /// As text: JSON numbers lose the last digits in many readers.
    shape_id: String,
    requests: u64,
    errors: u64,
    total_ns: u64,
    text: String,
}

/// What a run's trace of a node holds.
#[derive(Serialize)]
struct Node {
    window: Option<Window>,
    sessions: u64,
    requests: u64,
    losses: Vec<LossLine>,
}

/// What is counted in one pass over the requests.
#[derive(Default)]
struct Counts {
    kinds: BTreeMap<Kind, u64>,
    outcomes: BTreeMap<Outcome, u64>,
    shapes: HashMap<u64, ShapeCounts>,
}

#[derive(Clone, Copy, Default)]
struct ShapeCounts {
    requests: u64,
    errors: u64,
    total_ns: u64,
}

/// Prints what the trace holds. It is read as a whole, so damage anywhere shows.
pub fn run(plan: &Show) -> anyhow::Result<Done> {
    if plan.rebuild {
        trace::rebuild(&plan.trace)?;
    }
    let reader = Reader::open(&plan.trace)?;
    let manifest = reader.manifest();
    let counts = count(&reader)?;
    for name in manifest.nodes.keys() {
        reader.node(name)?.try_for_each(|request| request.map(drop))?;
    }
    let contents = Contents {
        trace: reader.dir(),
        format: manifest.format,
        tool: &manifest.tool,
        engine: manifest.engine,
        source: &manifest.source,
        inputs: &manifest.inputs,
        complete: manifest.complete,
        window: manifest.table.window,
        sessions: manifest.table.sessions,
        requests: manifest.table.requests,
        shape_count: counts.shapes.len() as u64,
        shapes: shapes(&counts.shapes, reader.shapes()?, plan.shapes),
        kinds: counts.kinds,
        outcomes: counts.outcomes,
        losses: loss_lines(&manifest.table.losses),
        nodes: manifest.nodes.iter().map(|(name, table)| (name.as_str(), table.into())).collect(),
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

fn count(reader: &Reader) -> Result<Counts, trace::Error> {
    let mut counts = Counts::default();
    for request in reader.requests_with(Columns::Only(vec!["shape_id", "duration_ns"])) {
        let request = request?;
        *counts.kinds.entry(request.kind).or_default() += 1;
        *counts.outcomes.entry(request.outcome).or_default() += 1;
        if let Some(id) = request.shape_id {
            let shape = counts.shapes.entry(id).or_default();
            shape.requests += 1;
            shape.errors += u64::from(request.outcome == Outcome::Error);
            shape.total_ns = shape.total_ns.saturating_add(request.duration_ns.unwrap_or(0));
        }
    }
    Ok(counts)
}

/// The shapes with the most requests.
fn shapes(counts: &HashMap<u64, ShapeCounts>, known: Vec<Shape>, limit: usize) -> Vec<ShapeLine> {
    let texts: HashMap<u64, Shape> = known.into_iter().map(|shape| (shape.shape_id, shape)).collect();
    let mut ranked: Vec<(u64, ShapeCounts)> = counts.iter().map(|(&id, &counts)| (id, counts)).collect();
    ranked.sort_unstable_by_key(|&(id, counts)| (std::cmp::Reverse(counts.requests), id));
    ranked.truncate(limit);
    let lines = ranked.into_iter().map(|(id, counts)| ShapeLine {
        shape_id: id.to_string(),
        requests: counts.requests,
        errors: counts.errors,
        total_ns: counts.total_ns,
        text: texts.get(&id).map_or_else(|| "(not in shapes.parquet)".to_string(), |shape| shape.text.to_string()),
    });
    lines.collect()
}

fn problems(manifest: &Manifest, reader: &Reader) -> Vec<String> {
    let mut problems: Vec<String> = reader.leftovers().iter().map(ToString::to_string).collect();
    if manifest.rebuilt {
        problems.push("trace.json was made again from the files: what was lost while recording is not known".into());
    } else if !manifest.complete {
        problems.push(
            "the recording is still running, or was killed: what came after its last flush is missing, and the losses \
             may be more than listed"
                .into(),
        );
    }
    problems
}

impl Contents<'_> {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "trace     {}", self.trace.display())?;
        writeln!(out, "format    {}, written by {}", self.format, self.tool)?;
        write!(out, "source    {} ({})", self.source, self.engine)?;
        writeln!(out, "{}{}", if self.inputs.is_empty() { "" } else { ": " }, self.inputs.join(", "))?;
        write_counts(out, self.window, self.sessions, self.requests)?;
        for (kind, count) in &self.kinds {
            writeln!(out, "  {kind:<11} {count:>12}")?;
        }
        let outcomes = self.outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}"));
        writeln!(out, "outcomes  {}", outcomes.collect::<Vec<_>>().join(", "))?;
        for (name, node) in &self.nodes {
            writeln!(out, "node      {name}: {} sessions, {} requests", node.sessions, node.requests)?;
            if !node.losses.is_empty() {
                write_losses(out, &node.losses)?;
            }
        }
        writeln!(out, "shapes    {}", self.shape_count)?;
        if !self.shapes.is_empty() {
            writeln!(out, "  {:>10} {:>8} {:>12}  shape", "requests", "errors", "total ms")?;
        }
        for shape in &self.shapes {
            let ms = shape.total_ns as f64 / 1e6;
            writeln!(out, "  {:>10} {:>8} {ms:>12.1}  {}", shape.requests, shape.errors, one_line(&shape.text))?;
        }
        write_losses(out, &self.losses)?;
        write_problems(out, &self.problems)
    }
}

/// A statement as one line that fits a wide terminal.
fn one_line(text: &str) -> String {
    const WIDTH: usize = 100;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
