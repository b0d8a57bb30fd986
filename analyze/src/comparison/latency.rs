//! Latency per shape and node.

use serde::{Deserialize, Serialize};

use super::Shape;

/// Latency of one shape as clients saw it, both runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The shape.
    pub shape: Shape,
    /// True when all its requests are reads that a replica may serve.
    pub read: bool,
    /// The baseline's, over all nodes.
    pub baseline: Option<Quantiles>,
    /// The candidate's, over all nodes.
    pub candidate: Option<Quantiles>,
    /// Change of the median, percent of the baseline's.
    pub p50_delta_pct: Option<f64>,
    /// Change of the 99th percentile, percent of the baseline's.
    pub p99_delta_pct: Option<f64>,
    /// The same by the nodes where the requests ran.
    pub nodes: Vec<NodeLatency>,
}

/// Latency of one shape on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLatency {
    /// The node's name; several joined with `+` where requests ran on more than one.
    pub node: String,
    /// The baseline's.
    pub baseline: Option<Quantiles>,
    /// The candidate's.
    pub candidate: Option<Quantiles>,
}

/// The distribution of some durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Requests.
    pub requests: u64,
    /// Median, milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, milliseconds.
    pub p99_ms: f64,
    /// Largest, milliseconds.
    pub max_ms: f64,
    /// Sum, milliseconds.
    pub total_ms: f64,
}
