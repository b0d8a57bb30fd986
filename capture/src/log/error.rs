//! What can go wrong with a source of logs, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a log cannot be read. What was read before is used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no log as it is.
    #[error("{}: this is {what}; {remedy}", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Two files are one log.
    #[error("{}: the same log as {}; its requests would count twice: give it once", second.display(), first.display())]
    Twice {
        /// The file that was given first.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// The file cannot be read, or decompressed, to its end.
    #[error(
        "{}: damaged after {bytes} bytes of text: {source}; what comes before was used; copy the file again from where it was \
         written", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Bytes that could be read before, decompressed.
        bytes: u64,
        /// What is wrong there.
        source: io::Error,
    },
    /// Something about the contents that the user must know.
    #[error("{}: {what}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What, and what to do.
        what: String,
    },
}
