//! What can be wrong with an export.

use std::path::PathBuf;

/// An export that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read at all.
    #[error("{}: cannot read the export: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not of a form that is read.
    #[error("{}: {what}; {remedy}", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        what: String,
        /// How to export it so that it can be read.
        remedy: &'static str,
    },
    /// Its columns are not those of any known view.
    #[error(
        "{}: these are not the columns of a known view: {found}; {missing}; export the whole view: SELECT * FROM \
         pg_stat_statements, SELECT * FROM performance_schema.events_statements_summary_by_digest, or SELECT * FROM \
         stats_mysql_query_digest", .path.display()
    )]
    Columns {
        /// The file.
        path: PathBuf,
        /// The columns that it has.
        found: String,
        /// Those that it would need.
        missing: String,
    },
    /// One value is wrong.
    #[error("{}: line {line}, column {column}: {what}; {remedy}", .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line on which its row begins, from 1; of JSON, the number of the object.
        line: u64,
        /// The column's name.
        column: String,
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A row is wrong as a whole.
    #[error("{}: line {line}: {what}; {remedy}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line on which it begins, from 1; of JSON, the number of the object.
        line: u64,
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Two files hold the same.
    #[error("{} and {} are the same export; give it once", .first.display(), .second.display())]
    Twice {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// It is of another engine than what it is compared with.
    #[error("{}: is an export of {kind}, and {other} holds {engine} traffic; name an export of its own servers", .path.display())]
    Engine {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// What it was to be compared with.
        other: String,
        /// The engine of that.
        engine: &'static str,
    },
}
