//! The same request answered by both runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Example, Shape};

/// How two answers to the same recorded request compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerClass {
    /// The same rows, or the same number of affected rows, or the same error.
    Equal,
    /// Contents differ though both nodes were current, the same writes came before, and the shape is deterministic.
    Mismatch,
    /// Contents differ, and a node had not applied a commit that came before the read and touched its tables.
    Stale,
    /// As stale, and rows are missing.
    Missing,
    /// Contents differ, and the baseline, not the candidate, ran it where state that its session relies on is not: a setting, a
    /// user variable, a temporary table, the statement before. The candidate's own loss of state is a mismatch.
    LostState,
    /// One run answered with an error, or with another error, where the other did not.
    Error,
    /// Contents differ, and other writes came before or at the same time in the two runs: the workload races with itself.
    Reordered,
    /// Contents differ, and the statement may answer differently each time.
    Nondeterministic,
    /// There is nothing to compare, or the evidence does not decide why contents differ.
    Unverified,
}

impl AnswerClass {
    /// Every value, worst first, `equal` last but for what is not decided.
    pub const ALL: &[AnswerClass] = &[
        AnswerClass::Mismatch,
        AnswerClass::Stale,
        AnswerClass::Missing,
        AnswerClass::Error,
        AnswerClass::Unverified,
        AnswerClass::Reordered,
        AnswerClass::LostState,
        AnswerClass::Nondeterministic,
        AnswerClass::Equal,
    ];

    /// The word used in columns and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerClass::Equal => "equal",
            AnswerClass::Mismatch => "mismatch",
            AnswerClass::Stale => "stale",
            AnswerClass::Missing => "missing",
            AnswerClass::LostState => "lost_state",
            AnswerClass::Error => "error",
            AnswerClass::Reordered => "reordered",
            AnswerClass::Nondeterministic => "nondeterministic",
            AnswerClass::Unverified => "unverified",
        }
    }

    /// The value of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == word)
    }
}

impl fmt::Display for AnswerClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Requests by how their two answers compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerCounts {
    /// See [`AnswerClass::Equal`].
    pub equal: u64,
    /// See [`AnswerClass::Mismatch`].
    pub mismatch: u64,
    /// See [`AnswerClass::Stale`].
    pub stale: u64,
    /// See [`AnswerClass::Missing`].
    pub missing: u64,
    /// See [`AnswerClass::LostState`].
    #[serde(default)]
    pub lost_state: u64,
    /// See [`AnswerClass::Error`].
    pub error: u64,
    /// See [`AnswerClass::Reordered`].
    pub reordered: u64,
    /// See [`AnswerClass::Nondeterministic`].
    pub nondeterministic: u64,
    /// See [`AnswerClass::Unverified`].
    pub unverified: u64,
}

impl AnswerCounts {
    /// The count of one class.
    pub fn get(&self, class: AnswerClass) -> u64 {
        let mut copy = *self;
        *copy.slot(class)
    }

    /// Counts `requests` more of one class.
    pub fn add(&mut self, class: AnswerClass, requests: u64) {
        *self.slot(class) += requests;
    }

    /// All requests that were compared.
    pub fn total(&self) -> u64 {
        AnswerClass::ALL.iter().map(|&class| self.get(class)).sum()
    }

    fn slot(&mut self, class: AnswerClass) -> &mut u64 {
        match class {
            AnswerClass::Equal => &mut self.equal,
            AnswerClass::Mismatch => &mut self.mismatch,
            AnswerClass::Stale => &mut self.stale,
            AnswerClass::Missing => &mut self.missing,
            AnswerClass::LostState => &mut self.lost_state,
            AnswerClass::Error => &mut self.error,
            AnswerClass::Reordered => &mut self.reordered,
            AnswerClass::Nondeterministic => &mut self.nondeterministic,
            AnswerClass::Unverified => &mut self.unverified,
        }
    }
}

/// The same requests answered by both runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Requests by class.
    pub counts: AnswerCounts,
    /// Requests that only the baseline has.
    pub only_baseline: u64,
    /// Requests that only the candidate has.
    pub only_candidate: u64,
    /// Shapes with at least one answer that is not equal; the worst first.
    pub shapes: Vec<ShapeAnswers>,
    /// Shapes that may answer differently each time, and why.
    pub nondeterministic: Vec<Nondeterministic>,
}

/// The answers of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeAnswers {
    /// The shape.
    pub shape: Shape,
    /// Requests by class.
    pub counts: AnswerCounts,
    /// One of each class that is not equal, the worst first.
    pub examples: Vec<AnswerExample>,
}

/// One request with its two answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerExample {
    /// How the answers compare.
    pub class: AnswerClass,
    /// Why, in one sentence.
    pub reason: String,
    /// How many requests of the shape are like this one.
    pub requests: u64,
    /// True where only the baseline's side explains it, so that the candidate is not to blame.
    pub baseline_only: bool,
    /// The request in the baseline.
    pub baseline: Example,
    /// Rows of the baseline's answer.
    pub baseline_rows: Option<u64>,
    /// The request in the candidate.
    pub candidate: Example,
    /// Rows of the candidate's answer.
    pub candidate_rows: Option<u64>,
}

/// A shape that may answer differently each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nondeterministic {
    /// The shape.
    pub shape: Shape,
    /// What makes it so: `now()`, a sequence, LIMIT without ORDER BY, ...
    pub why: String,
    /// Requests of the candidate.
    pub requests: u64,
    /// Requests whose answers do differ.
    pub differ: u64,
}
