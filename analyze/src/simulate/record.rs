//! What a simulated run says about itself, in the `run` section of `trace.json`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::RuleUse;
use crate::comparison::ShapeId;

/// What a simulated run says about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// The router, by the model's name: `proxysql`.
    pub router: String,
    /// The router and the versions that the model follows.
    pub model: String,
    /// The rule files.
    pub rules: Vec<PathBuf>,
    /// How many requests went where.
    pub counts: Counts,
    /// Options and columns in the rule files that the model does not know.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// What the rules use and the model leaves out.
    #[serde(default)]
    pub unmodelled: Vec<String>,
    /// What is remarkable about the rules, and what the model found out while it ran.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How often each rule took part.
    #[serde(default)]
    pub rule_uses: Vec<RuleUse>,
    /// Why statements went where they did, by shape; the most requests first.
    #[serde(default)]
    pub decisions: Vec<ShapeDecision>,
    /// Requests whose decisions are not listed, because there were too many combinations of shape and reason; `decisions.parquet` has all.
    #[serde(default)]
    pub unlisted: u64,
}

/// How many requests went where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests of the trace.
    pub requests: u64,
    /// Those that execute a statement, so that they are routed.
    pub routed: u64,
    /// Of the routed: sent to nodes that the model names.
    pub decided: u64,
    /// Of the routed: answered by the router itself.
    pub by_router: u64,
    /// Of the routed: refused by the router with an error.
    pub refused: u64,
    /// Of the routed: sent to a node that the model cannot name.
    pub undecided: u64,
}

/// Requests of one shape that were decided in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeDecision {
    /// The shape.
    pub shape: ShapeId,
    /// A statement of it, shortened.
    pub sql: String,
    /// The nodes joined with `+` where each of them got it, with `|` where one of them did; `router` or `refused CODE` in brackets where
    /// none did.
    pub sent: String,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How many requests.
    pub requests: u64,
}
