//! What differs without a cause: shapes whose answers differed between two runs of the same router.
//!
//! Two replays of today's configuration (an A/A control) are compared like any others, and the report that this writes as JSON is what
//! is remembered. A shape whose answers differ there for no reason that the statements show is noisy. In a later comparison its
//! mismatches are noise too, as long as they are not much more frequent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::comparison::{Answers, ShapeId};

/// How often a shape's answers differed in the control runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Pairs that differ without a cause.
    pub differ: u64,
    /// All pairs.
    pub pairs: u64,
}

/// The noise of every shape that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    shapes: HashMap<u64, Rate>,
}

/// A control report that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoiseError {
    /// It cannot be read.
    #[error("{}: cannot read the control report: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a report.
    #[error(
        "{}: not a report of compare: {problem}; write one with `splitproof-analyze compare TODAY TODAY_AGAIN --json FILE`", path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It compares a run with itself, in which nothing can differ.
    #[error("{}: compares {run} with itself: a control is two runs of the same router", path.display())]
    Same {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
    },
}

#[derive(Deserialize)]
struct Document {
    comparison: Control,
}

#[derive(Deserialize)]
struct Control {
    baseline: Side,
    candidate: Side,
    answers: Answers,
}

#[derive(Deserialize)]
struct Side {
    run: Run,
}

#[derive(Deserialize)]
struct Run {
    path: String,
}

/// More than so many mismatches are not explained by a rate that would give half as many.
const FEW: u64 = 5;

impl Noise {
    /// Reads the JSON reports of control runs.
    pub fn read(paths: &[PathBuf]) -> Result<Self, NoiseError> {
        let mut noise = Noise::default();
        for path in paths {
            let text =
                std::fs::read_to_string(path).map_err(|source| NoiseError::Read { path: path.clone(), source })?;
            noise.add(path, &text)?;
        }
        Ok(noise)
    }

    fn add(&mut self, path: &Path, text: &str) -> Result<(), NoiseError> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| NoiseError::Form { path: path.to_owned(), problem: error.to_string() })?;
        let Control { baseline, candidate, answers } = document.comparison;
        if baseline.run.path == candidate.run.path {
            return Err(NoiseError::Same { path: path.to_owned(), run: baseline.run.path });
        }
        for shape in answers.shapes {
            let rate = self.shapes.entry(shape.shape.id.0).or_default();
            rate.differ += shape.counts.mismatch;
            rate.pairs += shape.counts.total();
        }
        self.shapes.retain(|_, rate| rate.differ > 0);
        Ok(())
    }

    /// What explains that so many of a shape's pairs are mismatches; `None` where that is much more than the control runs had.
    pub fn explains(&self, shape: ShapeId, mismatches: u64, pairs: u64) -> Option<Rate> {
        let rate = self.shapes.get(&shape.0)?;
        let expected = rate.differ as f64 / rate.pairs.max(1) as f64 * pairs as f64;
        let much_more = mismatches as f64 > expected * 2.0 && mismatches as f64 - expected > FEW as f64;
        (!much_more).then_some(*rate)
    }
}
