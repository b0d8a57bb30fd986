//! The numbers for the gate.

use std::collections::BTreeMap;

use super::answers;
use super::judged::Assembled;
use super::latency::{delta_pct, reads};
use crate::comparison::{AnswerClass, METRICS, Metrics, RunSummary, ShapeCoverage};

/// The numbers of one run; what cannot be measured is left out.
fn of_run(run: &Assembled) -> BTreeMap<&'static str, f64> {
    let (judged, totals) = (&run.judged, &run.totals);
    let mut numbers = BTreeMap::from([
        ("requests", totals.requests as f64),
        ("cut_short", if judged.run.whole { 0.0 } else { 1.0 }),
        ("errors", totals.errors as f64),
        ("incomplete", totals.incomplete as f64),
        ("replayer_late", totals.late as f64),
        ("unsound", if judged.run.unsound.is_some() { 1.0 } else { 0.0 }),
        ("nodes_gone", judged.run.gone.len() as f64),
        ("without_text", judged.unknowns.without_text as f64),
        ("unknown_functions", judged.unknowns.functions.len() as f64),
        ("parse_errors", judged.unknowns.parse_errors.len() as f64),
        ("lost", judged.unknowns.losses.values().sum::<u64>() as f64),
    ]);
    if let Some(simulation) = &judged.run.simulation {
        numbers.insert("router_refused", simulation.counts.refused as f64);
    }
    if judged.run.has_evidence {
        let attributed = &judged.run.attributed;
        numbers.extend([
            ("read_only_txn_errors", totals.read_only_errors as f64),
            ("write_leakage", judged.write_leakage.iter().map(|found| found.requests).sum::<u64>() as f64),
            (
                "accidental_primary_reads",
                judged.accidental_primary_reads.iter().map(|found| found.requests).sum::<u64>() as f64,
            ),
            ("split_transactions", run.splits as f64),
            ("session_state_missed", run.states as f64),
            ("duplicated_writes", run.duplicates as f64),
            ("router_made_writes", run.made_writes as f64),
            ("unattributed", (attributed.ambiguous + attributed.unseen) as f64),
            ("unattributed_share", attributed.unattributed_share()),
        ]);
        if let Some(ms) = judged.accidental_primary_reads.iter().map(|found| found.primary_ms).sum::<Option<f64>>() {
            numbers.insert("accidental_primary_read_ms", ms);
        }
        if judged.run.has_positions {
            numbers.extend([
                ("stale_reads", totals.stale as f64),
                ("own_writes_missed", totals.own_missed as f64),
                ("staleness_unknown", totals.staleness_unknown as f64),
                ("staleness_unknown_share", share(totals.staleness_unknown, totals.replica_reads)),
                ("max_lag_ms", totals.max_lag_ns.unwrap_or(0) as f64 / 1e6),
            ]);
        }
        if totals.eligible > 0 {
            let served = share(totals.eligible_on_replica, totals.eligible);
            numbers.insert("replica_read_share_pct", served * 100.0);
        }
    }
    if let Some(reads) = reads(&run.durations) {
        numbers.insert("p50_read_latency_ms", reads.p50_ms);
        numbers.insert("p99_read_latency_ms", reads.p99_ms);
    }
    numbers
}

/// What a prediction says nothing about: numbers of one run, and of the pair.
const OF_EXECUTIONS: [&str; 8] = [
    "errors",
    "incomplete",
    "read_only_txn_errors",
    "accidental_primary_read_ms",
    "replayer_late",
    "unsound",
    "p50_read_latency_ms",
    "p99_read_latency_ms",
];
const OF_ANSWERS: [&str; 11] = [
    "mismatches",
    "stale_answers",
    "missing_answers",
    "answer_errors",
    "baseline_lost_state",
    "reordered_answers",
    "nondeterministic_answers",
    "unverified_answers",
    "unverified_share",
    "p50_read_latency_delta_pct",
    "p99_read_latency_delta_pct",
];
const OF_POSITIONS: [&str; 5] =
    ["stale_reads", "own_writes_missed", "staleness_unknown", "staleness_unknown_share", "max_lag_ms"];

/// What cannot be measured because a run is a prediction, with the reason.
fn not_executed(baseline: &RunSummary, candidate: &RunSummary) -> BTreeMap<String, String> {
    let mut unmeasured = BTreeMap::new();
    for (run, whose, suffix) in [(candidate, "candidate", ""), (baseline, "baseline", "_baseline")] {
        if run.simulation.is_none() {
            continue;
        }
        let why = format!("the {whose} is a prediction, in which nothing was executed");
        let mut add = |name: String| {
            unmeasured.entry(name).or_insert_with(|| why.clone());
        };
        OF_ANSWERS.iter().for_each(|name| add((*name).to_string()));
        for name in OF_EXECUTIONS.iter().chain(&OF_POSITIONS) {
            add(format!("{name}{suffix}"));
            add(format!("{name}_delta"));
        }
    }
    unmeasured
}

/// A share from 0 to 1; of nothing it is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Why the latencies of the two runs do not compare.
fn latency_not_comparable(baseline: &RunSummary, candidate: &RunSummary) -> Option<String> {
    if !baseline.replayed {
        return Some("the baseline is the recording itself, whose latencies are those of other servers".into());
    }
    let unsound = [("candidate", candidate), ("baseline", baseline)].into_iter().find(|(_, run)| run.unsound.is_some());
    unsound.map(|(name, _)| format!("the replayer itself was late too often in the {name}'s run"))
}

/// Every metric of [`METRICS`] that could be measured, and why others could not.
pub(super) fn metrics(
    baseline: &Assembled,
    candidate: &Assembled,
    answers: &answers::Assembled,
    coverage: Option<&ShapeCoverage>,
) -> (Metrics, BTreeMap<String, String>) {
    let (old, new) = (of_run(baseline), of_run(candidate));
    let counts = &answers.answers.counts;
    let of_class = |class| counts.get(class) as f64;
    let mut pair = BTreeMap::from([
        ("compared", counts.total() as f64),
        ("mismatches", of_class(AnswerClass::Mismatch)),
        ("stale_answers", answers.candidate_stale as f64),
        ("missing_answers", answers.candidate_missing as f64),
        ("answer_errors", answers.candidate_errors as f64),
        ("baseline_lost_state", of_class(AnswerClass::LostState)),
        ("reordered_answers", of_class(AnswerClass::Reordered)),
        ("nondeterministic_answers", of_class(AnswerClass::Nondeterministic)),
        ("unverified_answers", of_class(AnswerClass::Unverified)),
        ("unverified_share", share(counts.get(AnswerClass::Unverified), counts.total())),
        ("not_replayed", (answers.answers.only_baseline + answers.answers.only_candidate) as f64),
    ]);
    if candidate.judged.run.has_evidence && !candidate.judged.run.has_positions {
        // Without positions a stale answer cannot be told from a wrong one.
        for name in ["stale_answers", "missing_answers", "mismatches"] {
            pair.remove(name);
        }
    }
    let not_comparable = latency_not_comparable(&baseline.judged.run, &candidate.judged.run);
    let mut unmeasured = not_executed(&baseline.judged.run, &candidate.judged.run);
    let both = |name| old.get(name).copied().zip(new.get(name).copied());
    for (name, of) in
        [("p50_read_latency_delta_pct", "p50_read_latency_ms"), ("p99_read_latency_delta_pct", "p99_read_latency_ms")]
    {
        if unmeasured.contains_key(name) {
            continue;
        }
        if let Some(why) = &not_comparable {
            unmeasured.insert(name.to_string(), why.clone());
            unmeasured.insert(format!("{of}_delta"), why.clone());
            continue;
        }
        pair.extend(both(of).and_then(|(old, new)| delta_pct(old, new)).map(|delta| (name, delta)));
    }
    let change = both("replica_read_share_pct").map(|(old, new)| ("replica_read_share_delta_pct", new - old));
    pair.extend(change);
    pair.extend(coverage.filter(|coverage| coverage.window_requests > 0).map(|coverage| {
        ("fixture_coverage_pct", coverage.covered_requests as f64 / coverage.window_requests as f64 * 100.0)
    }));
    let mut metrics = Metrics::new();
    for metric in METRICS {
        let name = metric.name;
        if !metric.per_run {
            metrics.extend(pair.get(name).map(|&value| (name.to_string(), value)));
            continue;
        }
        metrics.extend(new.get(name).map(|&value| (name.to_string(), value)));
        metrics.extend(old.get(name).map(|&value| (format!("{name}_baseline"), value)));
        metrics.extend(both(name).map(|(old, new)| (format!("{name}_delta"), new - old)));
    }
    metrics.retain(|name, _| !unmeasured.contains_key(name));
    (metrics, unmeasured)
}
