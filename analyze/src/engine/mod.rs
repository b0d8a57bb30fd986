//! The second pass: DataFusion over the judged rows of both runs.
//!
//! - [`Row`], [`RowWriter`]: the judged rows, as Parquet
//! - [`Engine`]: a DataFusion session with a memory limit that spills to disk
//! - [`RunQueries`], [`PairQueries`]: the queries on one run and on both, each a file in `sql/`
//!
//! The queries keep to what spills: sort-merge joins and grouped aggregates, no windows. Everything that they return is as small as
//! the number of shapes.

mod pair;
mod record;
mod route;
mod row;
mod run;
mod session;

pub use pair::{Answered, Compared, PairQueries, Varying};
pub use record::{Record, Records};
pub use route::{RouteKey, RoutePeak, RouteRow, RouteShape};
pub use row::{Row, RowWriter};
pub use run::{Cells, Durations, Leaked, PrimaryReads, RunQueries, Stale, Totals, Undecided};
pub use session::{Engine, Error};

/// The table of a run in the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The baseline's rows.
    Baseline,
    /// The candidate's rows.
    Candidate,
}

impl Side {
    /// Name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Side::Baseline => "baseline",
            Side::Candidate => "candidate",
        }
    }
}
