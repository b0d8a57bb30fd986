//! What production's servers and routers counted: a census of statement shapes.
//!
//! - [`Census`], [`Source`], [`Entry`]: exports of `pg_stat_statements`, `events_statements_summary_by_digest` and ProxySQL's
//!   `stats_mysql_query_digest`, read from CSV, TSV or JSON
//! - [`Kind`]: which of them a file is, told by its columns
//! - [`key`]: the text by which a census' statement and a shape are recognised as the same
//! - [`Grouped`]: the entries of a census by statement
//! - [`Known`], [`KnownShape`]: the shapes of a window or a fixture, to hold a census against
//! - [`judged`]: which of a run's shapes were judged
//! - [`coverage`], [`CensusCoverage`]: what of production a window and a fixture cover
//! - [`audit`], [`Audit`]: which reads that a replica may serve the primary served
//!
//! A census knows statements, calls and time, and no sessions: whether a statement ran in a transaction is not in it.

mod audit;
mod coverage;
mod entry;
mod error;
mod group;
mod judged;
mod kind;
mod known;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use audit::{Audit, AuditError, Audited, audit};
pub use coverage::{CensusCoverage, Covered, Missing, Share, coverage};
pub use entry::{Census, Entry, Source};
pub use error::Error;
pub use group::{Group, Grouped};
pub use judged::judged;
pub use kind::Kind;
pub use known::{Known, KnownShape};
pub use text::key;
