//! What could not be judged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Example, Shape};

/// What could not be judged in a run. People read this list first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unknowns {
    /// Functions that neither the catalog nor the built-in table knows, with the requests that call them. Their statements are
    /// taken to belong to the primary.
    pub functions: BTreeMap<String, u64>,
    /// Shapes that the parser does not understand.
    pub parse_errors: Vec<UnknownShape>,
    /// Shapes whose execution was seen on no node.
    pub unseen: Vec<UnknownShape>,
    /// Shapes whose execution could be any of several.
    pub ambiguous: Vec<UnknownShape>,
    /// Replica reads whose staleness the position samples do not decide.
    pub staleness: Vec<UnknownShape>,
    /// Requests without their text.
    pub without_text: u64,
    /// What the recording, the run and its node traces lost, by where and reason: `requests.gap`, `node-standby.gap`.
    pub losses: BTreeMap<String, u64>,
    /// Anything else that limits what this run proves, as sentences.
    pub notes: Vec<String>,
}

impl Unknowns {
    /// True when nothing is unknown.
    pub fn is_empty(&self) -> bool {
        *self == Unknowns::default()
    }
}

/// Requests of one shape that could not be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnknownShape {
    /// The shape.
    pub shape: Shape,
    /// How many requests.
    pub requests: u64,
    /// Why.
    pub reason: String,
    /// One of them.
    pub example: Example,
}
