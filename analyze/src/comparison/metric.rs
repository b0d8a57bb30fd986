//! The numbers that gate conditions name.

use std::collections::BTreeMap;

/// Numbers by name. Each metric of [`all`] that [`Metric::per_run`] marks is there three times: `write_leakage` is the
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

/// The metrics that have a name of their own.
const METRICS: &[Metric] = &[
    run("requests", "requests"),
    run("sessions", "sessions"),
    run("shapes", "distinct statement shapes"),
    run("transactions", "explicit transactions"),
    run("seconds", "from the start of the first request to the end of the last one, seconds"),
    run("executions_primary", "statements that the primary executed, as its own trace shows"),
    run("executions_replica", "statements that replicas executed, as their own traces show"),
    run("errors", "requests that ended with an error"),
    run("incomplete", "requests whose connection broke, or that never finished"),
    run("cut_short", "1 when the run was stopped, or sessions were refused or lost; else 0"),
    run(
        "read_only_txn_errors",
        "requests that belong to the primary and that a replica refused as read-only (SQLSTATE 25006; errno 1290, 1792 or 1836)",
    ),
    run("write_leakage", "requests that belong to the primary and ran on a replica"),
    run("silent_write_leakage", "those among them that no replica refused as read-only"),
    run("accidental_primary_reads", "reads that a replica may serve and the primary served"),
    run("accidental_primary_read_ms", "time that the primary spent on them, milliseconds"),
    run("split_transactions", "transactions whose statements ran on different nodes"),
    run("session_state_missed", "session state statements that missed a node which later served the session"),
    run("duplicated_writes", "executions of writes beyond those that were asked for"),
    run("router_made", "executions of statements that no client asked for"),
    run("router_made_writes", "writing statements that no client asked for"),
    run("stale_reads", "replica reads that missed a commit on their tables, whatever they answered"),
    run("own_writes_missed", "those that missed a commit of their own session"),
    run("client_writes_missed", "those that missed a commit of the same user in another session (--client-tag)"),
    run("staleness_unknown", "replica reads whose staleness the position samples do not decide"),
    run("staleness_unknown_share", "the same as a share of the replica reads that were judged, from 0 to 1"),
    run("max_lag_ms", "age of the oldest commit that a stale read missed, milliseconds"),
    run("replica_read_share_pct", "reads that a replica may serve and a replica served, percent"),
    run("p50_read_latency_ms", "median latency of reads that a replica may serve, milliseconds"),
    run("p99_read_latency_ms", "99th percentile of the same, milliseconds"),
    run("max_read_latency_ms", "the longest of the same, milliseconds"),
    run("attributed", "requests whose nodes are known"),
    run("ambiguous", "requests that may have run on either of several nodes"),
    run("unseen", "requests that were seen on no node"),
    run("unattributed", "requests whose nodes are not known"),
    run("unattributed_share", "the same as a share of the requests that execute a statement, from 0 to 1"),
    run(
        "hidden_writes",
        "writes behind a method that promises to change nothing (GET, HEAD, OPTIONS), by the routes' tags",
    ),
    run("without_route", "requests that name neither a route nor an application"),
    run("fallback_reads", "reads of routes that a replica was tried for and the primary answered"),
    run("refused_reads", "reads of routes that no node would answer, or that a replica cancelled or refused"),
    run("router_refused", "requests that the router itself refuses, as a model predicts it; only of a simulated run"),
    run("primary_ms", "time that the primary worked on statements of requests, milliseconds"),
    run("primary_peak", "statements that the primary worked on at once in its busiest second"),
    run("primary_peak_with_all", "the same if all movable statements that replicas served came back to it"),
    run("unknown_functions", "functions of unknown volatility"),
    run("without_text", "requests whose text is not known"),
    run("parse_errors", "shapes that the parser does not understand"),
    run("lost", "units of input that the recording, the run or its node traces lost"),
    run("replayer_late", "requests that the replayer sent late through its own fault"),
    run("unsound", "1 when these are more than 1 % of the requests, so that latencies are not the router's; else 0"),
    run("nodes_gone", "nodes that stopped answering during the run, so that it is no test of the router"),
    pair("compared", "requests that both runs have"),
    pair("only_baseline", "requests that only the baseline has"),
    pair("only_candidate", "requests that only the candidate has"),
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
    pair("fixture_shapes", "shapes of the fixture"),
    pair("fixture_shared_shapes", "shapes of the window that the fixture asserts on"),
    pair("fixture_requests", "requests whose shape the fixture asserts on"),
];

/// Metrics that there is one of for each of several things.
///
/// `grid_primary_replica` is a cell of the grid, `causal_local_prevented` a figure of a mode of causal_reads, and `answers_equal` the number
/// of a class of answers.
fn families() -> Vec<Metric> {
    let intents = ["primary", "replica", "same", "all", "unknown"];
    let grid = intents.iter().flat_map(|intent| {
        super::Destination::ALL.iter().map(move |destination| {
            let meaning = format!("requests with intent {intent} and destination {destination}");
            (format!("grid_{intent}_{destination}"), meaning)
        })
    });
    let figures = [
        ("bound", "reads that need a replica to have some commit first"),
        ("waited", "reads that would have waited"),
        ("wait_ms", "how long in all, milliseconds"),
        ("wait_p50_ms", "median of the waits, milliseconds"),
        ("wait_p99_ms", "99th percentile of the waits, milliseconds"),
        ("wait_max_ms", "longest wait, milliseconds"),
        ("timeouts", "reads that would have waited in vain"),
        ("round_trips", "round trips beyond those of the reads"),
        ("to_primary", "reads that would have gone to the primary"),
        ("to_primary_share", "the same as a share of the reads, from 0 to 1"),
        ("prevented", "stale reads that it would have prevented"),
        ("own_prevented", "those that missed a commit of their own session"),
        ("left", "stale reads that it would not have prevented"),
        ("undecided", "reads of which the samples do not tell"),
        ("reads", "reads that a replica may serve"),
    ];
    let modes = super::CausalMode::MODES.iter().flat_map(|mode| {
        figures
            .iter()
            .map(move |(name, meaning)| (format!("causal_{mode}_{name}"), format!("causal_reads={mode}: {meaning}")))
    });
    // They live as long as the program, as the names in the table do.
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let answers = super::AnswerClass::ALL.iter().map(|class| {
        (format!("answers_{class}"), format!("pairs of answers of the class {class}, whichever run is the cause"))
    });
    let of_runs: Vec<Metric> = grid.chain(modes).map(|(name, meaning)| run(leak(name), leak(meaning))).collect();
    of_runs.into_iter().chain(answers.map(|(name, meaning)| pair(leak(name), leak(meaning)))).collect()
}

/// Every metric, those of the table first.
pub fn all() -> &'static [Metric] {
    static ALL: std::sync::OnceLock<Vec<Metric>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| METRICS.iter().copied().chain(families()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = all().iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().len());
    }
}
