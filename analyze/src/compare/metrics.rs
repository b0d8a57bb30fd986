//! The numbers for the gate.

use std::collections::BTreeMap;

use super::answers;
use super::judged::Assembled;
use super::latency::{delta_pct, reads};
use crate::comparison::{
    AnswerClass, Destination, Judged, Metrics, RunSummary, Served, ShapeCoverage, metrics as all_metrics,
};

/// The numbers of one run; what cannot be measured is left out.
fn of_run(run: &Assembled) -> BTreeMap<String, f64> {
    let (judged, totals) = (&run.judged, &run.totals);
    let mut numbers = Numbers::default();
    numbers.extend([
        ("requests", totals.requests as f64),
        ("sessions", totals.sessions as f64),
        ("shapes", totals.shapes as f64),
        ("transactions", judged.run.transactions as f64),
        ("seconds", judged.run.seconds),
        ("hidden_writes", judged.routes.list.iter().filter_map(|route| route.hidden_writes).sum::<u64>() as f64),
        ("without_route", judged.routes.without_route as f64),
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
            (
                "silent_write_leakage",
                judged.write_leakage.iter().map(|found| found.requests - found.refused).sum::<u64>() as f64,
            ),
            (
                "router_made",
                judged.router_made.iter().flat_map(|made| &made.executions).map(|(_, n)| n).sum::<u64>() as f64,
            ),
            ("executions_primary", executions(judged, "primary")),
            ("executions_replica", executions(judged, "replica")),
            ("attributed", attributed.attributed as f64),
            ("ambiguous", attributed.ambiguous as f64),
            ("unseen", attributed.unseen as f64),
            ("fallback_reads", served(judged, |served| served.fallback)),
            ("refused_reads", served(judged, |served| served.refused)),
            ("unattributed", (attributed.ambiguous + attributed.unseen) as f64),
            ("unattributed_share", attributed.unattributed_share()),
        ]);
        for cell in judged.grid.every(Destination::ALL) {
            numbers.insert(&format!("grid_{}_{}", cell.intent, cell.destination), cell.requests as f64);
        }
        if let Some(ms) = judged.accidental_primary_reads.iter().map(|found| found.primary_ms).sum::<Option<f64>>() {
            numbers.insert("accidental_primary_read_ms", ms);
            numbers.insert("primary_ms", judged.routes.primary_ms);
            numbers.insert("primary_peak", judged.routes.primary_peak);
            numbers.insert("primary_peak_with_all", judged.routes.primary_peak_with_all);
        }
        if judged.run.has_positions {
            numbers.extend([
                ("stale_reads", totals.stale as f64),
                ("own_writes_missed", totals.own_missed as f64),
                ("client_writes_missed", totals.client_missed as f64),
                ("staleness_unknown", totals.staleness_unknown as f64),
                ("staleness_unknown_share", share(totals.staleness_unknown, totals.replica_reads)),
                ("max_lag_ms", totals.max_lag_ns.unwrap_or(0) as f64 / 1e6),
            ]);
            for mode in &judged.causal_reads {
                for (name, value) in mode.figures() {
                    numbers.insert(&format!("causal_{}_{name}", mode.mode), value);
                }
            }
        }
        if totals.eligible > 0 {
            let served = share(totals.eligible_on_replica, totals.eligible);
            numbers.insert("replica_read_share_pct", served * 100.0);
        }
    }
    if let Some(reads) = reads(&run.durations) {
        numbers.insert("p50_read_latency_ms", reads.p50_ms);
        numbers.insert("p99_read_latency_ms", reads.p99_ms);
        numbers.insert("max_read_latency_ms", reads.max_ms);
    }
    numbers.0
}

/// Numbers by name.
#[derive(Default)]
struct Numbers(BTreeMap<String, f64>);

impl Numbers {
    fn insert(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    fn extend<const N: usize>(&mut self, numbers: [(&str, f64); N]) {
        self.0.extend(numbers.map(|(name, value)| (name.to_owned(), value)));
    }
}

fn executions(judged: &Judged, role: &str) -> f64 {
    judged.run.nodes.iter().filter(|node| node.role == role).map(|node| node.executions).sum::<u64>() as f64
}

fn served(judged: &Judged, count: fn(&Served) -> u64) -> f64 {
    judged.routes.list.iter().map(|route| count(&route.served)).sum::<u64>() as f64
}

/// What a prediction says nothing about: numbers of one run, and of the pair.
const OF_EXECUTIONS: [&str; 14] = [
    "errors",
    "incomplete",
    "read_only_txn_errors",
    "accidental_primary_read_ms",
    "replayer_late",
    "unsound",
    "p50_read_latency_ms",
    "p99_read_latency_ms",
    "max_read_latency_ms",
    "fallback_reads",
    "refused_reads",
    "primary_ms",
    "primary_peak",
    "primary_peak_with_all",
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
const OF_POSITIONS: [&str; 6] = [
    "stale_reads",
    "own_writes_missed",
    "client_writes_missed",
    "staleness_unknown",
    "staleness_unknown_share",
    "max_lag_ms",
];

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
        let family =
            |prefix| all_metrics().iter().map(|metric| metric.name).filter(move |name| name.starts_with(prefix));
        OF_ANSWERS.iter().copied().chain(family("answers_")).for_each(|name| add(name.to_string()));
        for name in OF_EXECUTIONS.into_iter().chain(OF_POSITIONS).chain(family("causal_")) {
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

/// Every metric of [`metrics`](all_metrics) that could be measured, and why others could not.
pub(super) fn metrics(
    baseline: &Assembled,
    candidate: &Assembled,
    answers: &answers::Assembled,
    coverage: Option<&ShapeCoverage>,
) -> (Metrics, BTreeMap<String, String>) {
    let (old, new) = (of_run(baseline), of_run(candidate));
    let counts = &answers.answers.counts;
    let of_class = |class| counts.get(class) as f64;
    let mut pair = Numbers::default();
    for &class in AnswerClass::ALL {
        pair.insert(&format!("answers_{class}"), of_class(class));
    }
    pair.extend([
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
        ("only_baseline", answers.answers.only_baseline as f64),
        ("only_candidate", answers.answers.only_candidate as f64),
        ("not_replayed", (answers.answers.only_baseline + answers.answers.only_candidate) as f64),
    ]);
    if candidate.judged.run.has_evidence && !candidate.judged.run.has_positions {
        // Without positions a stale answer cannot be told from a wrong one.
        for name in
            ["stale_answers", "missing_answers", "mismatches", "answers_stale", "answers_missing", "answers_mismatch"]
        {
            pair.0.remove(name);
        }
    }
    let not_comparable = latency_not_comparable(&baseline.judged.run, &candidate.judged.run);
    let mut unmeasured = not_executed(&baseline.judged.run, &candidate.judged.run);
    let both = |name: &str| old.get(name).copied().zip(new.get(name).copied());
    if let Some(why) = &not_comparable {
        unmeasured.insert("max_read_latency_ms_delta".to_string(), why.clone());
    }
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
        if let Some(delta) = both(of).and_then(|(old, new)| delta_pct(old, new)) {
            pair.insert(name, delta);
        }
    }
    if let Some((old, new)) = both("replica_read_share_pct") {
        pair.insert("replica_read_share_delta_pct", new - old);
    }
    if let Some(coverage) = coverage.filter(|coverage| coverage.window_requests > 0) {
        pair.extend([
            ("fixture_coverage_pct", coverage.covered_requests as f64 / coverage.window_requests as f64 * 100.0),
            ("fixture_shapes", coverage.fixture_shapes as f64),
            ("fixture_shared_shapes", coverage.shared_shapes as f64),
            ("fixture_requests", coverage.covered_requests as f64),
        ]);
    }
    let mut metrics = Metrics::new();
    for metric in all_metrics() {
        let name = metric.name;
        if !metric.per_run {
            metrics.extend(pair.0.get(name).map(|&value| (name.to_string(), value)));
            continue;
        }
        metrics.extend(new.get(name).map(|&value| (name.to_string(), value)));
        metrics.extend(old.get(name).map(|&value| (format!("{name}_baseline"), value)));
        metrics.extend(both(name).map(|(old, new)| (format!("{name}_delta"), new - old)));
    }
    metrics.retain(|name, _| !unmeasured.contains_key(name));
    (metrics, unmeasured)
}
