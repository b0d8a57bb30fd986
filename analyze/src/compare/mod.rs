//! Comparing two runs: both passes, put together into a [`Comparison`].
//!
//! - `judged`: what was found in one run
//! - `answers`: the pairs of answers
//! - `latency`: durations side by side
//! - [`Noise`]: what differs between two runs of the same router
//! - `routes`: the application's routes
//! - `coverage`: the fixture's shapes against the window's
//! - `metrics`: the numbers for the gate

mod answers;
mod coverage;
mod judged;
mod latency;
mod metrics;
mod noise;
mod routes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use splitproof_replay::catalog::{Catalog, CatalogError};

use crate::comparison::Comparison;
use crate::engine::{self, Engine, PairQueries, RunQueries, Side};
use crate::run::{self, Run, Statements, pass};

use coverage::coverage;

pub use coverage::coverage_of_trace;
pub use noise::{Noise, NoiseError, Rate};
pub use routes::routes_of;

/// Two runs to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the baseline: a run, or the recording itself.
    pub baseline: PathBuf,
    /// Directory of the candidate.
    pub candidate: PathBuf,
    /// Memory for the second pass, bytes.
    pub memory: usize,
    /// Shapes of the fixture (id and text), to measure its coverage.
    pub fixture: Option<Vec<(u64, String)>>,
    /// The tag by which requests of one user are known in whatever session they come.
    pub client_tag: Option<String>,
    /// What differs between two runs of the same router, as control runs showed.
    pub noise: Noise,
    /// Directory in which the judged requests of both runs are kept; it is made when it is not there.
    pub requests: Option<PathBuf>,
}

/// An error of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run cannot be read or judged.
    #[error(transparent)]
    Run(#[from] run::Error),
    /// A query failed.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The catalog of a run cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// There is no directory for intermediate files.
    #[error("cannot make a temporary directory: {source}; set TMPDIR to a directory with free space")]
    Temporary {
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The judged requests cannot be kept.
    #[error("{}: cannot keep the judged requests here: {source}", .dir.display())]
    Keep {
        /// The directory.
        dir: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Nothing to judge.
    #[error("{} holds no requests: there is nothing to compare", .path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// The two runs repeat different recordings.
    #[error(
        "these do not belong to one recording: {baseline}; {candidate}; compare two replays of one recording, or a replay \
         with its recording"
    )]
    OtherRecording {
        /// The baseline, and the recording that it repeats.
        baseline: String,
        /// The candidate, and the recording that it repeats.
        candidate: String,
    },
    /// The two runs do not repeat the same recording, although they do not say which they repeat.
    #[error(
        "{} and {} have no request in common: compare two replays of one recording, or a replay with its recording",
        .baseline.display(), .candidate.display()
    )]
    Unrelated {
        /// The baseline.
        baseline: PathBuf,
        /// The candidate.
        candidate: PathBuf,
    },
}

/// The catalog of the pair: that of the candidate, or of the baseline where only that has one.
fn catalog(baseline: &Run, candidate: &Run) -> Result<Option<Arc<Catalog>>, Error> {
    for run in [candidate, baseline] {
        if let Some(catalog) = Catalog::read(run.reader())? {
            return Ok(Some(Arc::new(catalog)));
        }
    }
    Ok(None)
}

/// Opens both, and finds out before the work whether they can be compared.
fn open(options: &Options) -> Result<(Run, Run), Error> {
    let (baseline, candidate) = (Run::open(&options.baseline)?, Run::open(&options.candidate)?);
    for run in [&baseline, &candidate] {
        if run.reader().manifest().table.requests == 0 {
            return Err(Error::Empty { path: run.dir().into() });
        }
    }
    match (baseline.recording(), candidate.recording()) {
        (Some(one), Some(other)) if one.id != other.id => {
            Err(Error::OtherRecording { baseline: one.to_string(), candidate: other.to_string() })
        }
        _ => Ok((baseline, candidate)),
    }
}

/// Copies a file of judged requests to where the user wants it.
fn keep(rows: &Path, dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let Some(name) = rows.file_name() else { return Ok(()) };
    std::fs::copy(rows, dir.join(name)).map(drop)
}

/// Whether two paths lead to one directory.
fn same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// Compares two runs.
pub fn compare(options: &Options) -> Result<Comparison, Error> {
    let temporary =
        tempfile::Builder::new().prefix("splitproof-").tempdir().map_err(|source| Error::Temporary { source })?;
    let (baseline, candidate) = open(options)?;
    let catalog = catalog(&baseline, &candidate)?;
    let engine = Engine::new(options.memory, temporary.path())?;
    let mut judged = Vec::new();
    for (side, mut run) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        run.set_client_tag(options.client_tag.clone());
        let mut statements = Statements::new(run.dialect(), catalog.clone());
        let rows = temporary.path().join(format!("{}.parquet", side.table()));
        let judgement = pass(&run, &mut statements, &rows)?;
        if let Some(dir) = &options.requests {
            keep(&rows, dir).map_err(|source| Error::Keep { dir: dir.clone(), source })?;
        }
        engine.register(side, &rows)?;
        let queries = RunQueries { engine: &engine, side };
        judged.push(judged::assemble(&run, &statements, judgement, &queries)?);
    }
    let (Some(mut candidate), Some(mut baseline)) = (judged.pop(), judged.pop()) else {
        return Err(Error::Empty { path: options.candidate.clone() });
    };
    if catalog.is_none() && candidate.judged.run.has_evidence {
        let note = "catalog.json is missing: only the engine's own functions are known, and no default that varies";
        candidate.judged.unknowns.notes.push(note.to_string());
    }
    if same(&options.baseline, &options.candidate) {
        let note = "baseline and candidate are the same run: nothing can differ";
        candidate.judged.unknowns.notes.push(note.to_string());
    }
    judged::set_baseline(&mut candidate, &baseline);
    let pair = PairQueries { engine: &engine };
    let shapes = judged::Shapes::of([&mut baseline, &mut candidate]);
    let mut answers = answers::assemble(&pair, &shapes, &baseline.totals, &candidate.totals, &options.noise)?;
    if answers.answers.counts.total() == 0 && baseline.totals.needed > 0 && candidate.totals.needed > 0 {
        return Err(Error::Unrelated { baseline: options.baseline.clone(), candidate: options.candidate.clone() });
    }
    let predicted = [&baseline, &candidate].iter().any(|run| run.judged.run.simulation.is_some());
    let latency = match predicted {
        true => Vec::new(),
        false => latency::assemble(&shapes, &baseline.durations, &candidate.durations),
    };
    let coverage = options.fixture.as_deref().map(|fixture| coverage(&candidate.window, fixture, &shapes));
    let (metrics, unmeasured) = metrics::metrics(&baseline, &candidate, &answers, coverage.as_ref());
    if predicted {
        answers.forget();
    }
    Ok(Comparison {
        version: Comparison::VERSION,
        baseline: baseline.judged,
        candidate: candidate.judged,
        answers: answers.answers,
        latency,
        coverage,
        metrics,
        unmeasured,
    })
}
