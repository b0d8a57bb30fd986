//! Answers from an earlier state of the data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Example, Shape};

/// Whose commit a stale read missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// A commit of the same session: the client did not read its own write.
    Own,
    /// A commit of the same user in another session, as a tag of the application tells: a page after a form that was sent.
    SameClient,
    /// A commit of another session.
    Other,
}

impl Writer {
    /// The word used in columns and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Writer::Own => "own",
            Writer::SameClient => "same_client",
            Writer::Other => "other",
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads of one shape that a replica answered without a commit that had ended before they began and touched their tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaleRead {
    /// The shape.
    pub shape: Shape,
    /// Whose commit was missed; of several kinds the one that is named first here: `own`, `same_client`, `other`.
    pub writer: Writer,
    /// How many reads.
    pub requests: u64,
    /// Replica reads of this shape.
    pub replica_reads: u64,
    /// Age of the oldest missed commit when the read began, milliseconds: smallest, median, largest.
    pub lag_ms: [f64; 3],
    /// Half-width of that, from the interval between position samples: the largest among the reads, milliseconds.
    pub uncertainty_ms: f64,
    /// True when a missed write's tables are not known, so that it was taken to touch any table.
    pub any_table: bool,
    /// How often the baseline shows the same.
    pub baseline: Option<u64>,
    /// One of them.
    pub example: Example,
    /// A commit that it missed: the statement that wrote, shortened.
    pub missed: String,
}
