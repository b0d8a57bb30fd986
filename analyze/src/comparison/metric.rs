//! The numbers that gate conditions name.

use std::collections::BTreeMap;

/// Numbers by name. Each metric of [`METRICS`] that [`Metric::per_run`] marks is there three times: `write_leakage` is the
/// candidate's, `write_leakage_baseline` the baseline's, and `write_leakage_delta` the difference. What cannot be measured is not
/// there, so that a condition on it cannot be judged.
pub type Metrics = BTreeMap<String, f64>;

/// A number that a gate condition can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it counts or measures, and its unit.
    pub meaning: &'static str,
    /// True when the baseline has it too, with `_baseline` and `_delta`.
    pub per_run: bool,
}

const fn run(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, meaning, per_run: true }
}

const fn pair(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, meaning, per_run: false }
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    run("requests", "requests"),
    run("errors", "requests that ended with an error"),
    run("incomplete", "requests whose connection broke, or that never finished"),
    run("cut_short", "1 when the run was stopped, or sessions were refused or lost; else 0"),
    run(
        "read_only_txn_errors",
        "requests that belong to the primary and that a replica refused as read-only (SQLSTATE 25006; errno 1290, 1792 or 1836)",
    ),
    run("write_leakage", "requests that belong to the primary and ran on a replica"),
    run("accidental_primary_reads", "reads that a replica may serve and the primary served"),
    run("accidental_primary_read_ms", "time that the primary spent on them, milliseconds"),
    run("split_transactions", "transactions whose statements ran on different nodes"),
    run("session_state_missed", "session state statements that missed a node which later served the session"),
    run("duplicated_writes", "executions of writes beyond those that were asked for"),
    run("router_made_writes", "writing statements that no client asked for"),
    run("stale_reads", "replica reads that missed a commit on their tables, whatever they answered"),
    run("own_writes_missed", "those that missed a commit of their own session"),
    run("staleness_unknown", "replica reads whose staleness the position samples do not decide"),
    run("staleness_unknown_share", "the same as a share of the replica reads that were judged, from 0 to 1"),
    run("max_lag_ms", "age of the oldest commit that a stale read missed, milliseconds"),
    run("replica_read_share_pct", "reads that a replica may serve and a replica served, percent"),
    run("p50_read_latency_ms", "median latency of reads that a replica may serve, milliseconds"),
    run("p99_read_latency_ms", "99th percentile of the same, milliseconds"),
    run("router_refused", "requests that the router itself refuses, as a model predicts it; only of a simulated run"),
    run("unattributed", "requests whose nodes are not known"),
    run("unattributed_share", "the same as a share of the requests that execute a statement, from 0 to 1"),
    run("unknown_functions", "functions of unknown volatility"),
    run("without_text", "requests whose text is not known"),
    run("parse_errors", "shapes that the parser does not understand"),
    run("lost", "units of input that the recording, the run or its node traces lost"),
    run("replayer_late", "requests that the replayer sent late through its own fault"),
    run("unsound", "1 when these are more than 1 % of the requests, so that latencies are not the router's; else 0"),
    run("nodes_gone", "nodes that stopped answering during the run, so that it is no test of the router"),
    pair("compared", "requests that both runs have"),
    pair("mismatches", "answers whose contents differ though both nodes were current and the shape is deterministic"),
    pair("stale_answers", "answers that differ because a node of the candidate was behind (stale or missing)"),
    pair("missing_answers", "those among them that lack rows"),
    pair("answer_errors", "requests that the candidate answered with an error that the baseline did not give"),
    pair(
        "baseline_lost_state",
        "answers that differ because the baseline, not the candidate, lost state of the session",
    ),
    pair("reordered_answers", "answers that differ because the workload races with itself"),
    pair("nondeterministic_answers", "answers that differ and may differ each time"),
    pair("unverified_answers", "answers that could not be compared or explained"),
    pair("unverified_share", "the same as a share of the answers that were compared, from 0 to 1"),
    pair("not_replayed", "requests that only one of the two runs has"),
    pair("p50_read_latency_delta_pct", "change of p50_read_latency_ms, percent of the baseline's"),
    pair("p99_read_latency_delta_pct", "change of p99_read_latency_ms, percent of the baseline's"),
    pair("replica_read_share_delta_pct", "change of replica_read_share_pct, percentage points"),
    pair("fixture_coverage_pct", "requests whose shape the fixture asserts on, percent"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
    }
}
