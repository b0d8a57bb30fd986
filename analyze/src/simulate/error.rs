//! What can go wrong in a simulation.

use std::path::PathBuf;

use splitproof_capture::trace;

/// Why a simulation cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule file cannot be read.
    #[error("{}: cannot read the rules: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A rule file is wrong at some place.
    #[error("{}:{line}: {problem}", .path.display())]
    Rules {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the rule's name where there is one, and what to do.
        problem: String,
    },
    /// A rule file is wrong as a whole.
    #[error("{}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The router does not speak the trace's protocol.
    #[error("{}: a trace of {engine}, and the model of {router} is one of {speaks}", .path.display())]
    Engine {
        /// The trace.
        path: PathBuf,
        /// Its engine.
        engine: &'static str,
        /// The router.
        router: &'static str,
        /// The engine that the model knows.
        speaks: &'static str,
    },
    /// An option of the command line does not fit.
    #[error("{0}")]
    Option(String),
    /// The run would go where the trace is.
    #[error("{}: is the trace, or lies inside it; write the run elsewhere", .path.display())]
    Inside {
        /// The directory.
        path: PathBuf,
    },
    /// The trace cannot be read, or the run cannot be written.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The trace is a run that cannot be understood.
    #[error(transparent)]
    Run(#[from] crate::run::Error),
    /// The decisions cannot be written.
    #[error("{}: cannot write the decisions: {source}", .path.display())]
    Decisions {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
}

impl Error {
    /// A mistake at a line of a file.
    pub(crate) fn rules(path: &std::path::Path, line: usize, problem: impl Into<String>) -> Self {
        Error::Rules { path: path.to_owned(), line, problem: problem.into() }
    }

    /// A mistake of a file as a whole.
    pub(crate) fn file(path: &std::path::Path, problem: impl Into<String>) -> Self {
        Error::File { path: path.to_owned(), problem: problem.into() }
    }
}
