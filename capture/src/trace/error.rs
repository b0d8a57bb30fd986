//! What can go wrong with a trace: each error says what is wrong, where, and what to do.

use std::path::PathBuf;

use parquet::errors::ParquetError;

/// An error of the trace writer or reader.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is not there.
    #[error("{}: no such directory; name the directory that `-o` gave to the recording", .dir.display())]
    NoDirectory {
        /// The path that was asked for.
        dir: PathBuf,
    },
    /// A file stands where the directory should be.
    #[error("{}: a trace is a directory, and this is a file{}", .dir.display(), capture_hint(.dir))]
    NotADirectory {
        /// The path that was asked for.
        dir: PathBuf,
    },
    /// The directory holds parts of a trace, but not its manifest.
    #[error(
        "{}: there is no trace.json, though {parts} Parquet file(s) of a trace are here; {}", .dir.display(),
        if *.run { RUN_LOST.to_string() } else {
            format!("run `splitproof-capture show --rebuild {}` to write it again from them", .dir.display())
        }
    )]
    NoManifest {
        /// The directory.
        dir: PathBuf,
        /// Parquet files of a trace found in it.
        parts: usize,
        /// True when they are a run's.
        run: bool,
    },
    /// The directory holds nothing of a trace.
    #[error("{}: this directory is not a trace: it holds neither trace.json nor requests-*.parquet", .dir.display())]
    NotATrace {
        /// The directory.
        dir: PathBuf,
    },
    /// The manifest is not what this program writes.
    #[error(
        "{}: not a valid manifest: {source}; {}", .path.display(),
        if *.run { RUN_LOST } else { "restore it, or delete it and run `splitproof-capture show --rebuild`" }
    )]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Where its JSON goes wrong.
        source: serde_json::Error,
        /// True when it is a run's.
        run: bool,
    },
    /// The manifest, or a section of it, has no form in JSON.
    #[error("{}: cannot be written: {source}", .path.display())]
    Encode {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A run whose manifest is lost cannot be put together again.
    #[error("{}: this is a run, and what only its trace.json knew is lost; {RUN_LOST}", .dir.display())]
    RunLost {
        /// The directory.
        dir: PathBuf,
    },
    /// The trace was written by a later program.
    #[error(
        "{}: the trace has format {found}, and this program ({}) reads up to {known}; use a newer splitproof",
        .path.display(), super::TOOL
    )]
    NewerFormat {
        /// The manifest or file that says so.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// A file that the manifest lists is gone.
    #[error(
        "{}: trace.json lists this file with {rows} rows, and it is not there; restore it, or give it up with \
         `splitproof-capture show --rebuild`, which keeps the others; replay a run again instead", .path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// Rows that it should hold.
        rows: u64,
    },
    /// A Parquet file cannot be read.
    #[error(
        "{}: damaged or cut short ({source}): up to {rows} rows are lost; restore the file, or move it away and run \
         `splitproof-capture show --rebuild`, which keeps the others; replay a run again instead", .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Rows that it should hold.
        rows: u64,
        /// What the Parquet reader met.
        source: ParquetError,
    },
    /// A Parquet file does not hold what the manifest says of it, or its rows are not in order.
    #[error(
        "{}: {what}; the file was changed or belongs to another trace: restore it, or run \
         `splitproof-capture show --rebuild`; replay a run again instead", .path.display()
    )]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What does not agree.
        what: String,
    },
    /// A file beside the requests is gone or is not what was written.
    #[error(
        "{}: {what}; restore it, or run `splitproof-capture show --rebuild` to take the trace as it is now; \
         replay a run again instead", .path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A column is missing, has another type, or holds a value that the format does not know.
    #[error("{}: column {column}: {what}; see docs/trace.md for the columns of a trace", .path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What is wrong with it.
        what: String,
    },
    /// The trace would overwrite something.
    #[error("{}: exists; choose another directory, or use --force to replace the trace in it", .dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
    /// A directory that is not a trace would be overwritten.
    #[error(
        "{}: this directory is not a trace (it holds {example} and no trace.json), so it is not overwritten even \
         with --force; choose another directory", .dir.display()
    )]
    NotOurs {
        /// The directory.
        dir: PathBuf,
        /// A file in it.
        example: String,
    },
    /// A name that cannot be part of a file name.
    #[error("node name {name:?}: use letters, digits, `_` and `.`, at most 64 of them")]
    NodeName {
        /// The name.
        name: String,
    },
    /// The trace has no trace of that node.
    #[error("{}: there is no trace of node {name:?} here; it has: {known}", .dir.display())]
    NoNode {
        /// The directory.
        dir: PathBuf,
        /// The node that was asked for.
        name: String,
        /// The nodes that it has.
        known: String,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file could not be encoded or written.
    #[error("{}: cannot write: {source}; what was flushed before is kept", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the Parquet writer met.
        source: ParquetError,
    },
    /// The thread that writes the files ended by a panic.
    #[error("{}: the writer thread died; what was flushed before is kept", .dir.display())]
    WriterDied {
        /// The directory.
        dir: PathBuf,
    },
}

/// What to do about a run without its manifest: roles, times and outcomes stand nowhere else.
const RUN_LOST: &str = "restore it from a copy, or replay again";

/// People point the readers of traces at a packet file; say what to do with one.
fn capture_hint(path: &std::path::Path) -> String {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("pcap" | "pcapng" | "cap") => {
            format!("; record it first: splitproof-capture packets -o TRACE {}", path.display())
        }
        _ => String::new(),
    }
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, action, source }
    }
}
