//! Wrong destinations.
//!
//! In the candidate's lists `baseline` says how often the same was found in the baseline: `None` when the baseline has
//! no evidence. In the baseline's own lists it is always `None`.

use serde::{Deserialize, Serialize};

use super::{Example, Shape};

/// Requests of one shape that belong to the primary and ran on a replica (alone or beside the primary).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteLeakage {
    /// The shape.
    pub shape: Shape,
    /// Why it belongs to the primary.
    pub reason: String,
    /// How many requests.
    pub requests: u64,
    /// Those that the replica refused as read-only (SQLSTATE 25006; errno 1290, 1792 or 1836); the others were silent.
    pub refused: u64,
    /// Error codes of their answers, each with its count, most frequent first.
    pub errors: Vec<(String, u64)>,
    /// The nodes where they ran.
    pub nodes: Vec<String>,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// One of them.
    pub example: Example,
}

/// Reads of one shape that a replica may serve and the primary served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccidentalPrimaryRead {
    /// The shape.
    pub shape: Shape,
    /// Reads that the primary served.
    pub requests: u64,
    /// All reads of this shape that a replica may serve.
    pub eligible: u64,
    /// Total time that the primary spent on them, as its own trace shows, milliseconds; `None` where that trace is its log, which
    /// tells no durations.
    pub primary_ms: Option<f64>,
    /// `primary_ms` over the time that the primary spent on all statements, from 0 to 1.
    pub share: Option<f64>,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// One of them.
    pub example: Example,
}

/// Transactions with the same sequence of shapes and nodes whose statements did not all run on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitTransaction {
    /// How many transactions.
    pub transactions: u64,
    /// How often the baseline shows a split of the same sequence of shapes.
    pub baseline: Option<u64>,
    /// True when a statement ran on a node that did not get the transaction's BEGIN.
    pub without_begin: bool,
    /// The statements of one of them, in order, control statements included.
    pub statements: Vec<Statement>,
    /// The first statement that ran on another node than those before it.
    pub example: Example,
}

/// One statement of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Its shape.
    pub shape: Shape,
    /// Where it belongs.
    pub intent: String,
    /// Where it ran.
    pub nodes: Vec<String>,
}

/// Session state (`SET`, `DISCARD`, ...) of one shape that did not reach a node which later served the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissedState {
    /// The shape of the statement that sets the state.
    pub shape: Shape,
    /// How many requests of it were missed by at least one node.
    pub requests: u64,
    /// The nodes that missed it.
    pub missed: Vec<String>,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// One of them.
    pub example: Example,
    /// The first later statement of that session that ran without the state.
    pub served: Example,
}

/// Writes of one shape that ran more often than they were asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicatedWrite {
    /// The shape.
    pub shape: Shape,
    /// Extra executions.
    pub executions: u64,
    /// The nodes where they ran.
    pub nodes: Vec<String>,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// A request that ran more than once.
    pub example: Example,
}

/// Executions of one shape that no client asked for: the router's own look-ups and clean-ups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouterMade {
    /// The shape.
    pub shape: Shape,
    /// Executions per node name.
    pub executions: Vec<(String, u64)>,
    /// True when the statement may write.
    pub writes: bool,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// The statement with its literals, shortened.
    pub sql: String,
}
