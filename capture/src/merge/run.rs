//! Reading the traces and writing the one.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::clock::{Clock, Samples};
use super::rows::Rows;
use super::sessions::{self, Numbers, Session};
use crate::trace::{self, Encrypted, Engine, Existing, Loss, Losses, Manifest, Options, Reader, Shape, Sink, Writer};

/// What to merge into what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The traces; the times of the others are put on the clock of the first.
    pub traces: Vec<PathBuf>,
    /// Nanoseconds to add to the times of some of them, by their number, instead of an estimate.
    pub offsets: BTreeMap<usize, i64>,
    /// The directory of the merged trace.
    pub output: PathBuf,
    /// What to do with a trace that is there.
    pub existing: Existing,
}

/// What was done.
#[derive(Debug)]
pub struct Merged {
    /// The merged trace's manifest.
    pub manifest: Manifest,
    /// The clock of each trace.
    pub clocks: Vec<Clock>,
    /// Requests of all traces together.
    pub read: u64,
    /// Requests that two traces saw, written once.
    pub duplicates: u64,
    /// Sessions that several traces saw.
    pub joint_sessions: u64,
}

/// Why traces were not merged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One cannot be read, or the merged one cannot be written.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// They are of different servers.
    #[error("{} is of {first}, and {} is of {other}: merge traces of one engine", first_dir.display(), other_dir.display())]
    Engines {
        /// The first trace.
        first_dir: PathBuf,
        /// Its engine.
        first: Engine,
        /// One of another engine.
        other_dir: PathBuf,
        /// That engine.
        other: Engine,
    },
    /// One is a run.
    #[error("{}: this is a run, of one replay; merge the recordings, and replay the merged trace", dir.display())]
    Run {
        /// The directory.
        dir: PathBuf,
    },
    /// One is given twice, or is the output.
    #[error("{}: give each trace once, and another directory for the merged one", dir.display())]
    Twice {
        /// The directory.
        dir: PathBuf,
    },
}

/// Differences between the clocks of two hosts that are not known are taken to be smaller than this.
const UNKNOWN_NS: i64 = 5_000_000;
/// No request is looked for longer than this after its time.
const LONGEST_NS: i64 = 5_000_000_000;

/// Merges traces. Memory grows with the number of sessions and shapes, not with that of the requests.
///
/// # Errors
/// A trace that cannot be read or is a run, traces of different engines, or a directory that cannot be written.
pub fn merge(plan: &Plan) -> Result<Merged, Error> {
    let readers = open(plan)?;
    let mut sessions = Vec::new();
    for (trace, reader) in readers.iter().enumerate() {
        sessions.extend(sessions::survey(trace, reader)?);
    }
    let shared = sessions::shared(&sessions);
    let clocks = clocks(&readers, &shared, plan)?;
    let offsets: Vec<i64> = clocks.iter().map(|clock| clock.offset_ns()).collect();
    let tolerance_ns = tolerance(&clocks);
    let windows: Vec<_> = readers.iter().map(|reader| reader.manifest().table.window).collect();
    let numbers = Numbers::new(sessions, &offsets, &windows, tolerance_ns);

    let inputs = readers.iter().zip(&clocks).map(|(reader, clock)| describe(reader, *clock)).collect();
    let engine = readers.first().map_or(Engine::Postgresql, |reader| reader.manifest().engine);
    let options = Options { inputs, existing: plan.existing, ..Options::new(engine, "merge") };
    let mut writer = Writer::create(&plan.output, options)?;
    let sources = readers.iter().zip(&offsets).map(|(reader, &offset)| (reader.requests(), offset)).collect();
    let mut rows = Rows::new(sources, &numbers, tolerance_ns)?;
    let mut shapes: HashMap<u64, u64> = HashMap::new();
    while let Some(request) = rows.next()? {
        if let Some(id) = request.shape_id {
            *shapes.entry(id).or_default() += 1;
        }
        writer.request(request);
        if writer.failed() {
            break;
        }
    }
    writer.shapes(merged(&readers, &shapes)?)?;
    let mut losses = Losses::default();
    readers.iter().for_each(|reader| losses.merge(&reader.manifest().table.losses));
    losses.add(Loss::Duplicate, rows.duplicates);
    let complete = readers.iter().all(|reader| reader.manifest().complete);
    writer.encrypted(Encrypted::sum(readers.iter().flat_map(|reader| &reader.manifest().encrypted)));
    if readers.iter().any(|reader| reader.manifest().stopped) {
        writer.stopped();
    }
    let rebuilt = readers.iter().any(|reader| reader.manifest().rebuilt);
    let manifest = writer.finish_like(&losses, complete, rebuilt)?;
    Ok(Merged { manifest, clocks, read: rows.read, duplicates: rows.duplicates, joint_sessions: numbers.joint() })
}

fn open(plan: &Plan) -> Result<Vec<Reader>, Error> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut places = vec![real(&plan.output)];
    let mut readers: Vec<Reader> = Vec::new();
    for dir in &plan.traces {
        let reader = Reader::open(dir)?;
        let manifest = reader.manifest();
        if manifest.run.is_some() || !manifest.nodes.is_empty() {
            return Err(Error::Run { dir: dir.clone() });
        }
        if places.contains(&real(dir)) {
            return Err(Error::Twice { dir: dir.clone() });
        }
        places.push(real(dir));
        // A trace without requests may be of any engine.
        if let Some(first) = readers.first().filter(|first| first.manifest().engine != manifest.engine) {
            return Err(Error::Engines {
                first_dir: first.dir().into(),
                first: first.manifest().engine,
                other_dir: dir.clone(),
                other: manifest.engine,
            });
        }
        readers.push(reader);
    }
    Ok(readers)
}

fn clocks(readers: &[Reader], shared: &BTreeMap<u64, Vec<Session>>, plan: &Plan) -> Result<Vec<Clock>, Error> {
    let mut samples = Samples::default();
    let all_given = (1..readers.len()).all(|trace| plan.offsets.contains_key(&trace));
    if !all_given {
        for (trace, reader) in readers.iter().enumerate() {
            samples.read(trace, reader, shared)?;
        }
    }
    Ok(samples.clocks(readers.len(), shared, &plan.offsets))
}

/// How far apart two sights of one request may be.
fn tolerance(clocks: &[Clock]) -> i64 {
    let uncertain = clocks.iter().map(|clock| clock.uncertainty_ns()).max().unwrap_or(0);
    i64::try_from(uncertain).unwrap_or(i64::MAX).saturating_mul(4).saturating_add(UNKNOWN_NS).min(LONGEST_NS)
}

fn describe(reader: &Reader, clock: Clock) -> String {
    let ms = |ns: i64| format!("{:+.3} ms", ns as f64 / 1e6);
    let dir = reader.dir().display();
    match clock {
        Clock::Reference => dir.to_string(),
        Clock::Unknown => format!("{dir} (clock not compared)"),
        Clock::Given(offset) => format!("{dir} (clock {}, as given)", ms(offset)),
        Clock::Estimated { offset_ns, uncertainty_ns, .. } => {
            format!("{dir} (clock {} \u{b1} {:.3} ms)", ms(offset_ns), uncertainty_ns as f64 / 1e6)
        }
    }
}

/// The shapes of all, with the numbers of requests that were written.
fn merged(readers: &[Reader], counts: &HashMap<u64, u64>) -> Result<Vec<Shape>, Error> {
    let mut shapes: BTreeMap<u64, Shape> = BTreeMap::new();
    for reader in readers {
        for shape in reader.shapes()? {
            let count = counts.get(&shape.shape_id).copied().unwrap_or(0);
            let known = shapes.entry(shape.shape_id).or_insert_with(|| Shape { count, ..shape.clone() });
            if known.effects.is_none() && shape.effects.is_some() {
                *known = Shape { count, ..shape };
            }
        }
    }
    Ok(shapes.into_values().filter(|shape| shape.count > 0).collect())
}
