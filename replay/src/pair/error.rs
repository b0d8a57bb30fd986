//! What can be wrong with a `pair.toml`.

use std::path::PathBuf;

use super::{PassfileError, UrlError};

/// What is wrong with a `pair.toml`, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is not TOML, or holds a key that is not known, or lacks one that is needed.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong; never quotes the file, which may hold a password.
        message: String,
    },
    /// A field's value cannot be used.
    #[error("{}: {field}: {problem}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, such as `node[1].url`.
        field: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// A URL cannot be used.
    #[error("{}: {field}: {source}", path.display())]
    Url {
        /// The file.
        path: PathBuf,
        /// The field, such as `router.url`.
        field: String,
        /// What is wrong with it.
        source: UrlError,
    },
    /// The password file cannot be used.
    #[error(transparent)]
    Passfile(#[from] PassfileError),
}
