//! Every figure of the report can be asked for by a gate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use splitproof_analyze::comparison::{Comparison, metrics};
use splitproof_analyze::gate::Gate;

use crate::scenario::{compared, scenario};

/// Everything goes wrong once.
const CANDIDATE: &str = "
@10 S replay=50\n@30 S replay=50\n@50 S replay=50\n@70 S replay=650\n@95 S replay=900\n@140 S replay=1400
1 22..24 UPDATE stock SET n = 1 /*method='GET',route='%2Fbuy'*/ -> P1:22.5..23 | affected=1
1 40..41 SELECT n FROM stock /*route='%2Fshow'*/ -> S1 | sum=1 rows=1
2 42..43 SELECT n FROM stock WHERE id = 1 -> P2 | sum=2 rows=1
3 44..45 UPDATE stock SET n = 2 -> S3 | error=25006
4 50..51 BEGIN -> P4
4 51..52 UPDATE stock SET n = 3 -> P4 | affected=1
4 52..53 SELECT n FROM stock -> S4 | sum=3 rows=1
4 53..54 COMMIT -> P4
5 60..61 SET work_mem = '1MB' -> P5
5 62..63 SELECT a FROM b -> S5 | sum=4 rows=1
6 70..71 SELECT nobody_knows(1) -> P6 | sum=5 rows=1
P7 75..76 DELETE FROM t
7 80..81 INSERT INTO t VALUES (1) -> P8 | affected=1
P8 81.5..82 INSERT INTO t VALUES (1) | affected=1
8 85..86 SELECT now() -> S9 | sum=6 rows=1
9 90..91 SELECT FROM WHERE -> P9 | error=42601
9 92..93 SELECT a FROM b
10 100..101 SELECT 7 -> P10 | sum=7 rows=1";

fn comparison() -> Comparison {
    let primary: String = (0..15).map(|n| format!("@{} P lsn={}\n", n * 10, n * 100)).collect();
    let candidate = scenario(&format!("{primary}{CANDIDATE}"));
    let baseline = scenario(&format!("{primary}{}", CANDIDATE.replace("sum=6", "sum=8").replace("sum=4", "sum=9")));
    compared(&baseline, &candidate).unwrap()
}

/// Single figures, with the metric that has the same value.
const FIGURES: &[(&str, &str)] = &[
    ("run.seconds", "seconds"),
    ("run.sessions", "sessions"),
    ("run.requests", "requests"),
    ("run.shapes", "shapes"),
    ("run.transactions", "transactions"),
    ("run.errors", "errors"),
    ("run.incomplete", "incomplete"),
    ("run.replayer_late", "replayer_late"),
    ("run.attributed.attributed", "attributed"),
    ("run.attributed.ambiguous", "ambiguous"),
    ("run.attributed.unseen", "unseen"),
    ("routes.without_route", "without_route"),
    ("routes.primary_ms", "primary_ms"),
    ("routes.primary_peak", "primary_peak"),
    ("routes.primary_peak_with_all", "primary_peak_with_all"),
    ("unknowns.without_text", "without_text"),
];

/// Lists of a run, with the field that is summed up by a metric. What else stands in an entry is a shape's own.
const LISTS: &[(&str, &str, &str)] = &[
    ("write_leakage[]", "requests", "write_leakage"),
    ("accidental_primary_reads[]", "requests", "accidental_primary_reads"),
    ("accidental_primary_reads[]", "primary_ms", "accidental_primary_read_ms"),
    ("split_transactions[]", "transactions", "split_transactions"),
    ("session_state_missed[]", "requests", "session_state_missed"),
    ("duplicated_writes[]", "executions", "duplicated_writes"),
    ("stale_reads[]", "requests", "stale_reads"),
    ("routes.list[]", "hidden_writes", "hidden_writes"),
    ("routes.list[]", "served.fallback", "fallback_reads"),
    ("routes.list[]", "served.refused", "refused_reads"),
    ("unknowns.unseen[]", "requests", "unseen"),
    ("unknowns.staleness[]", "requests", "staleness_unknown"),
];

/// Lists whose metrics are not a sum of one field: which metrics ask for them.
const OTHER_LISTS: &[(&str, &[&str])] = &[
    ("run.nodes[]", &["executions_primary", "executions_replica"]),
    ("run.gone[]", &["nodes_gone"]),
    ("grid.cells[]", &["grid_primary_replica"]),
    ("grid.shapes[]", &["grid_primary_replica"]),
    ("router_made[]", &["router_made", "router_made_writes"]),
    ("causal_reads[]", &["causal_local_prevented"]),
    ("unknowns.functions.", &["unknown_functions"]),
    ("unknowns.parse_errors[]", &["parse_errors"]),
    ("unknowns.ambiguous[]", &["ambiguous"]),
    ("unknowns.losses.", &["lost"]),
];

/// Figures of both runs together.
const PAIR: &[(&str, &[&str])] = &[
    ("answers.counts.", &["answers_mismatch"]),
    ("answers.only_baseline", &["only_baseline"]),
    ("answers.only_candidate", &["only_candidate"]),
    ("answers.shapes[]", &["answers_mismatch"]),
    ("answers.nondeterministic[]", &["nondeterministic_answers"]),
    ("latency[]", &["p99_read_latency_ms"]),
];

fn numbers(value: &Value, path: &str, found: &mut BTreeMap<String, Vec<f64>>) {
    match value {
        Value::Number(number) => found.entry(path.to_owned()).or_default().push(number.as_f64().unwrap()),
        Value::Array(list) => list.iter().for_each(|value| numbers(value, &format!("{path}[]"), found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                numbers(value, &format!("{path}{dot}{name}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_figure_of_a_run_is_a_metric_of_both_runs() {
    let comparison = comparison();
    let value = |name: &str| comparison.metrics.get(name).copied();
    for (judged, suffix) in [(&comparison.candidate, ""), (&comparison.baseline, "_baseline")] {
        let mut found = BTreeMap::new();
        numbers(&serde_json::to_value(judged).unwrap(), "", &mut found);
        for (path, metric) in FIGURES {
            let figure = found.remove(*path).unwrap_or_else(|| panic!("{path} is not in the report"));
            assert_eq!(value(&format!("{metric}{suffix}")), Some(figure[0]), "{path} {metric}");
            assert!(value(&format!("{metric}_delta")).is_some(), "{metric}");
        }
        for (list, field, metric) in LISTS {
            let sum: f64 = found.get(&format!("{list}.{field}")).map_or(0.0, |figures| figures.iter().sum());
            let told = value(&format!("{metric}{suffix}")).unwrap_or_else(|| panic!("{metric} is not measured"));
            assert!((sum - told).abs() < 1e-9, "{list}.{field}: {sum}, {metric}: {told}");
        }
        for (list, metrics) in OTHER_LISTS {
            for metric in *metrics {
                assert!(
                    value(&format!("{metric}{suffix}")).is_some() && value(&format!("{metric}_delta")).is_some(),
                    "{list} {metric}"
                );
            }
        }
        let lists: Vec<&str> =
            LISTS.iter().map(|(list, _, _)| *list).chain(OTHER_LISTS.iter().map(|(list, _)| *list)).collect();
        for path in found.keys() {
            assert!(lists.iter().any(|list| path.starts_with(list)), "{path} cannot be asked for by a gate");
        }
    }
    let grid: f64 =
        comparison.metrics.iter().filter(|(name, _)| is_of_candidate(name, "grid_")).map(|(_, value)| value).sum();
    assert_eq!(grid, comparison.candidate.grid.cells.iter().map(|cell| cell.requests as f64).sum::<f64>());
    for mode in &comparison.candidate.causal_reads {
        assert_eq!(value(&format!("causal_{}_to_primary", mode.mode)), Some(mode.to_primary as f64));
    }
}

fn is_of_candidate(name: &str, family: &str) -> bool {
    name.starts_with(family) && !name.ends_with("_baseline") && !name.ends_with("_delta")
}

#[test]
fn every_figure_of_the_pair_is_a_metric() {
    let comparison = comparison();
    let mut report = serde_json::to_value(&comparison).unwrap();
    for apart in ["baseline", "candidate", "metrics", "unmeasured", "version", "coverage"] {
        report.as_object_mut().unwrap().remove(apart);
    }
    let mut found = BTreeMap::new();
    numbers(&report, "", &mut found);
    for path in found.keys() {
        assert!(PAIR.iter().any(|(known, _)| path.starts_with(known)), "{path} cannot be asked for by a gate");
    }
    for metric in PAIR.iter().flat_map(|(_, metrics)| *metrics) {
        assert!(comparison.metrics.contains_key(*metric), "{metric}");
    }
    let counts = &comparison.answers.counts;
    let classes: f64 =
        comparison.metrics.iter().filter(|(name, _)| name.starts_with("answers_")).map(|(_, value)| value).sum();
    assert_eq!(classes, counts.total() as f64);
}

/// What a run did wrong here is in the lists, so that the test above has something to hold against.
#[test]
fn everything_went_wrong_once() {
    let run = comparison().candidate;
    let empty = [
        ("write_leakage", run.write_leakage.is_empty()),
        ("accidental_primary_reads", run.accidental_primary_reads.is_empty()),
        ("split_transactions", run.split_transactions.is_empty()),
        ("session_state_missed", run.session_state_missed.is_empty()),
        ("duplicated_writes", run.duplicated_writes.is_empty()),
        ("router_made", run.router_made.is_empty()),
        ("stale_reads", run.stale_reads.is_empty()),
        ("causal_reads", run.causal_reads.is_empty()),
        ("routes", run.routes.list.is_empty()),
        ("unknown functions", run.unknowns.functions.is_empty()),
        ("parse errors", run.unknowns.parse_errors.is_empty()),
        ("unseen", run.unknowns.unseen.is_empty()),
    ];
    let empty: Vec<&str> = empty.iter().filter(|(_, empty)| *empty).map(|(name, _)| *name).collect();
    assert!(empty.is_empty(), "{empty:?}");
}

#[test]
fn every_metric_can_stand_in_a_gate() {
    let names: BTreeSet<&str> = metrics().iter().map(|metric| metric.name).collect();
    for metric in metrics() {
        assert!(!metric.meaning.is_empty());
        let suffixes: &[&str] = if metric.per_run { &["", "_baseline", "_delta"] } else { &[""] };
        for suffix in suffixes {
            let text = format!("promote_if:\n  {}{suffix}: '<= 1'", metric.name);
            Gate::parse(&text, std::path::Path::new("gate.yaml")).unwrap();
        }
    }
    for name in comparison().metrics.keys() {
        let own = name.trim_end_matches("_baseline").trim_end_matches("_delta");
        assert!(names.contains(name.as_str()) || names.contains(own), "{name} is measured and not listed");
    }
}
