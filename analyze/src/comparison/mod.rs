//! What comparing two runs found, as plain data for the reports and the gate.
//!
//! - [`Comparison`]: everything; [`Judged`]: what was found in one run
//! - [`RunSummary`], [`Node`], [`Attributed`]: what was read, and how far the evidence reached
//! - [`Grid`], [`Destination`]: where requests belong against where they ran
//! - [`WriteLeakage`], [`AccidentalPrimaryRead`], [`SplitTransaction`], [`MissedState`], [`DuplicatedWrite`],
//!   [`RouterMade`]: wrong destinations
//! - [`StaleRead`]: answers from an earlier state of the data; [`CausalMode`]: what would have prevented it, and at what cost
//! - [`RouteSummary`]: the same by the application's routes
//! - [`Answers`], [`AnswerClass`], [`Nondeterministic`]: the same request answered by both runs
//! - [`Latency`]: per node and shape
//! - [`Unknowns`]: what could not be judged, which counts against a pass
//! - [`ShapeCoverage`]: the fixture's shapes against the window's
//! - [`Metrics`], [`metrics`]: the numbers that gate conditions name
//!
//! Lists are sorted with the entry that matters most first. Times are in milliseconds and nothing here needs the
//! traces any more.

mod answer;
mod causal;
mod coverage;
mod destination;
mod example;
mod finding;
mod grid;
mod latency;
mod metric;
mod route;
mod run;
mod stale;
mod unknown;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use answer::{AnswerClass, AnswerCounts, AnswerExample, Answers, Nondeterministic, ShapeAnswers};
pub use causal::CausalMode;
pub use coverage::ShapeCoverage;
pub use destination::Destination;
pub use example::{Example, Shape, ShapeId};
pub use finding::{
    AccidentalPrimaryRead, DuplicatedWrite, MissedState, RouterMade, SplitTransaction, Statement, WriteLeakage,
};
pub use grid::{Cell, Grid, ShapeCells};
pub use latency::{Latency, NodeLatency, Quantiles};
pub use metric::{Metric, Metrics, all as metrics};
pub use route::{OlderAt, RouteSummary, Routes, Served, ShapeOfRoute};
pub use run::{Attributed, Node, RunSummary};
pub use stale::{StaleRead, Writer};
pub use unknown::{UnknownShape, Unknowns};

/// Two runs of the same recording, compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of this structure as JSON.
    pub version: u32,
    /// Today's router, or the recording itself.
    pub baseline: Judged,
    /// The router whose rules are about to ship.
    pub candidate: Judged,
    /// The same requests answered by both.
    pub answers: Answers,
    /// Latency of each shape on each node, both runs side by side; the shape that got most slower in total is first.
    pub latency: Vec<Latency>,
    /// The fixture's shapes against the window's, when a fixture was given.
    pub coverage: Option<ShapeCoverage>,
    /// The numbers that gate conditions name.
    pub metrics: Metrics,
    /// Why a number is not among them, where there is more to say than that it was not measured.
    #[serde(default)]
    pub unmeasured: BTreeMap<String, String>,
}

impl Comparison {
    /// The version that [`Comparison::version`] holds.
    pub const VERSION: u32 = 1;
}

/// What was found in one run.
///
/// A plain recording has no node traces, so that its grid and the lists of wrong destinations are empty;
/// [`RunSummary::has_evidence`] tells the difference from a run without findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What was read.
    pub run: RunSummary,
    /// Where requests belong against where they ran.
    pub grid: Grid,
    /// Requests that belong to the primary and ran on a replica; most frequent first.
    pub write_leakage: Vec<WriteLeakage>,
    /// Requests that any node may serve and the primary served; the longest total time first.
    pub accidental_primary_reads: Vec<AccidentalPrimaryRead>,
    /// Transactions whose statements ran on different nodes; most frequent first.
    pub split_transactions: Vec<SplitTransaction>,
    /// Session state that did not reach a node which later served the session.
    pub session_state_missed: Vec<MissedState>,
    /// Writes that ran more than once for one request.
    pub duplicated_writes: Vec<DuplicatedWrite>,
    /// Statements that no client asked for.
    pub router_made: Vec<RouterMade>,
    /// Replica reads that missed a commit; most frequent first.
    pub stale_reads: Vec<StaleRead>,
    /// What each of MaxScale's causal_reads modes would have cost and prevented; empty without evidence and positions.
    #[serde(default)]
    pub causal_reads: Vec<CausalMode>,
    /// The application's routes.
    #[serde(default)]
    pub routes: Routes,
    /// What could not be judged.
    pub unknowns: Unknowns,
}
