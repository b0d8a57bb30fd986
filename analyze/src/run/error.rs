//! What can go wrong with a run.

use std::path::PathBuf;

use splitproof_capture::trace;

/// An error while a run is read and judged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace itself cannot be read.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The `run` section of the manifest is not what the replayer writes.
    #[error("{}: the `run` section does not name the nodes: {what}; replay again, or restore trace.json", .path.display())]
    RunSection {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// There are node traces and no single primary among them.
    #[error(
        "{}: {found} of the nodes {names} are primaries, and exactly one is needed; check the roles in pair.toml", .path.display()
    )]
    Primaries {
        /// The manifest.
        path: PathBuf,
        /// How many primaries.
        found: usize,
        /// All nodes.
        names: String,
    },
    /// The intermediate rows cannot be written.
    #[error("{}: cannot write judged rows: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the Parquet writer met.
        source: parquet::errors::ParquetError,
    },
}
