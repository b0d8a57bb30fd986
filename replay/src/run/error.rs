//! Why a replay could not begin, or not be written.

use std::path::PathBuf;

use splitproof_capture::trace::{self, Engine};

use crate::catalog::CatalogError;
use crate::control::ControlError;
use crate::evidence::EvidenceError;

/// Why a replay could not begin, or not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read, or the run cannot be written.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The trace holds nothing to replay.
    #[error("{}: the trace holds no requests", .0.display())]
    Empty(PathBuf),
    /// The trace is of another engine than the pair.
    #[error("the trace was recorded from {recorded}, and pair.toml says engine = \"{pair}\": they have to be the same")]
    Engine {
        /// The trace's engine.
        recorded: Engine,
        /// The pair's.
        pair: Engine,
    },
    /// The run would be written over the trace.
    #[error("{}: the run would replace the trace that is replayed; give -o another directory", .0.display())]
    SameDirectory(PathBuf),
    /// The run would be written between the files of the trace.
    #[error("{}: the run would lie inside the trace that is replayed; give -o a directory outside it", .0.display())]
    InsideTrace(PathBuf),
    /// The run's directory cannot be written to.
    #[error("{}: cannot be written to: {source}; give -o another directory", .directory.display())]
    Output {
        /// The directory, or the one that it would be made in.
        directory: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The pair is not as it should be.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The router is not there.
    #[error(
        "the router at {url}: cannot connect: {source}; see that it runs and listens there, and that router.url in pair.toml \
         names it"
    )]
    Router {
        /// Where, without a password.
        url: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A node cannot be watched.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The catalogue's snapshot cannot be written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The system refuses something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A thread of the replay ended by a fault of ours.
    #[error("the thread that {0} ended unexpectedly: this is a bug; what was written until then is kept")]
    Thread(&'static str),
}
