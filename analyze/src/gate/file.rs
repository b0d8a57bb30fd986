//! The gate file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Bound, BoundError, Condition};
use crate::comparison::metrics;
use crate::yaml;

/// Conditions that hold unless the file names the same metric: what the evidence does not reach cannot pass.
///
/// Two of them leave room, because some of it is in every run. Positions are sampled every 10 ms, and a read that reaches a
/// replica between a commit on its tables and the sample after it may have shown either state: in the sample shop, which writes
/// all the time, that is one replica read in seven to ten. An answer that differs after such a read, or that never came
/// because the client cancelled it, cannot be explained.
pub(super) const BUILT_IN: &[(&str, f64)] = &[
    ("cut_short", 0.0),
    ("cut_short_baseline", 0.0),
    ("nodes_gone", 0.0),
    ("nodes_gone_baseline", 0.0),
    ("unattributed_share", 0.0),
    ("staleness_unknown_share", 0.25),
    ("unverified_share", 0.01),
    ("unknown_functions", 0.0),
    ("without_text", 0.0),
    ("parse_errors", 0.0),
    ("lost", 0.0),
    ("not_replayed", 0.0),
];

/// The conditions that a file-less gate has beside the built-in ones.
const DEFAULT: &str = "
promote_if:
  read_only_txn_errors: 0
  p99_read_latency_delta_pct: '< 10'
  replica_read_share_delta_pct: '> -2'
  write_leakage: 0
  split_transactions_delta: 0
  session_state_missed_delta: 0
  duplicated_writes: 0
  stale_answers: 0
  mismatches: 0
  answer_errors: 0
";

/// What the gate asks of a prediction that comes without a file of conditions: where statements go, and nothing that only an execution shows.
const PREDICTION: &str = "
promote_if:
  write_leakage: 0
  split_transactions_delta: 0
  session_state_missed_delta: 0
  replica_read_share_delta_pct: '> -2'
  router_refused: 0
";

/// Built-in conditions on what only an execution shows.
const OF_EXECUTIONS: &[&str] = &["staleness_unknown_share", "unverified_share"];

/// The conditions of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// In the order of the file, the built-in ones last.
    pub conditions: Vec<Condition>,
}

/// A gate file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// It cannot be read at all.
    #[error("{}: cannot read the gate file: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not YAML of the expected form.
    #[error(
        "{}: not a gate file: {message}; write `promote_if:` (or `routing_canary:` with `promote_if:`) and under it \
         `metric: bound`, such as `write_leakage: 0` or `p99_read_latency_delta_pct: \"< 10\"`", path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
        /// What the YAML reader says, with line and column.
        message: String,
    },
    /// It has no condition.
    #[error("{}: no condition under `promote_if`: a gate that asks for nothing proves nothing", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It names a metric that does not exist.
    #[error("{}: unknown metric `{metric}`; {hint}", path.display())]
    Metric {
        /// The file.
        path: PathBuf,
        /// The name.
        metric: String,
        /// The nearest known name, or where to find them.
        hint: String,
    },
    /// A bound cannot be read.
    #[error("{}: {metric}: {source}", path.display())]
    Bound {
        /// The file.
        path: PathBuf,
        /// The metric whose bound it is.
        metric: String,
        /// Why.
        source: BoundError,
    },
}

/// What stands in the file. Fields of a canary rollout that mean nothing in a replay (share, duration) are accepted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    routing_canary: Option<Canary>,
    promote_if: Option<Conditions>,
}

#[derive(Deserialize)]
struct Canary {
    promote_if: Option<Conditions>,
}

type Conditions = BTreeMap<String, Written>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl Gate {
    /// Reads a gate file.
    pub fn read(path: &Path) -> Result<Self, GateError> {
        let text = std::fs::read_to_string(path).map_err(|source| GateError::Read { path: path.to_owned(), source })?;
        Gate::parse(&text, path)
    }

    /// The conditions of a text, which came from `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, GateError> {
        let file: File = yaml::read(text).map_err(|message| GateError::Form { path: path.to_owned(), message })?;
        let written = file.promote_if.or_else(|| file.routing_canary.and_then(|canary| canary.promote_if));
        let written = written.filter(|conditions| !conditions.is_empty());
        let written = written.ok_or_else(|| GateError::Empty { path: path.to_owned() })?;
        let mut conditions = Vec::with_capacity(written.len() + BUILT_IN.len());
        for (metric, bound) in written {
            if !is_metric(&metric) {
                let hint = hint(&metric);
                return Err(GateError::Metric { path: path.to_owned(), metric, hint });
            }
            let bound = match bound {
                Written::Number(number) => Bound::at_most(number),
                Written::Text(text) => match text.parse() {
                    Ok(bound) => bound,
                    Err(source) => return Err(GateError::Bound { path: path.to_owned(), metric, source }),
                },
            };
            conditions.push(Condition { metric, bound, built_in: false });
        }
        for &(metric, number) in BUILT_IN {
            if !conditions.iter().any(|condition| condition.metric == metric) {
                conditions.push(Condition { metric: metric.into(), bound: Bound::at_most(number), built_in: true });
            }
        }
        Ok(Gate { conditions })
    }
}

impl Gate {
    /// The gate for a run that a model predicted: without the built-in conditions on what only an execution shows. What a file asks
    /// stays, and cannot be judged where it cannot be measured.
    pub fn for_prediction(file: Option<Gate>) -> Self {
        let gate = file.or_else(|| Gate::parse(PREDICTION, Path::new("the built-in gate for predictions")).ok());
        let mut gate = gate.unwrap_or(Gate { conditions: Vec::new() });
        gate.conditions.retain(|condition| !(condition.built_in && OF_EXECUTIONS.contains(&condition.metric.as_str())));
        gate
    }
}

impl Default for Gate {
    fn default() -> Self {
        Gate::parse(DEFAULT, Path::new("the built-in gate")).unwrap_or(Gate { conditions: Vec::new() })
    }
}

/// True for the name of a metric, with `_baseline` or `_delta` where it has them.
fn is_metric(name: &str) -> bool {
    metrics().iter().any(|metric| {
        name.strip_prefix(metric.name)
            .is_some_and(|rest| rest.is_empty() || metric.per_run && matches!(rest, "_baseline" | "_delta"))
    })
}

fn hint(name: &str) -> String {
    let nearest = metrics()
        .iter()
        .map(|metric| (common(name, metric.name), metric.name))
        .max_by_key(|&(length, _)| length)
        .filter(|&(length, _)| length >= 4);
    match nearest {
        Some((_, nearest)) => format!("did you mean `{nearest}`? `splitproof-analyze metrics` lists them all"),
        None => "`splitproof-analyze metrics` lists them all".into(),
    }
}

/// Length of the common beginning.
fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Comparator;

    fn parse(text: &str) -> Result<Gate, GateError> {
        Gate::parse(text, Path::new("gate.yaml"))
    }

    #[test]
    fn the_canary_block_of_a_rollout_is_read_as_it_stands() {
        let gate = parse(
            "routing_canary:
  share: 0.05                 # 5 % of sessions use the new rule set
  duration: 30m
  promote_if:
    read_only_txn_errors: 0   # any write leakage at all aborts the rollout
    p99_read_latency_delta_pct: \"< 10\"
    replica_read_share_delta_pct: \"> -2\"   # completeness must not regress
  revert_on_any_failure: true
",
        )
        .unwrap();
        let asked: Vec<_> = gate.conditions.iter().filter(|condition| !condition.built_in).collect();
        assert_eq!(asked.len(), 3);
        let share = asked.iter().find(|condition| condition.metric == "replica_read_share_delta_pct").unwrap();
        assert_eq!(share.bound, Bound { comparator: Comparator::More, number: -2.0 });
    }

    #[test]
    fn what_is_unknown_counts_unless_the_file_says_how_much_may_be() {
        let unattributed = |text: &str| {
            let gate = parse(text).unwrap();
            gate.conditions.iter().find(|condition| condition.metric == "unattributed_share").unwrap().bound.number
        };
        assert_eq!(unattributed("promote_if: {write_leakage: 0}"), 0.0);
        assert_eq!(unattributed("promote_if: {write_leakage: 0, unattributed_share: 0.01}"), 0.01);
    }

    /// docs/limitations.md lists what counts, with its bounds.
    #[test]
    fn the_built_in_conditions_are_those_that_are_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/limitations.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, list) = page.split_once("## What counts against a pass").unwrap();
        let (list, _) = list.split_once("\n## ").unwrap();
        let rows = list.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: Vec<(&str, f64)> = rows
            .map(|row| {
                let mut cells = row.split(" | ");
                let metric = cells.next().unwrap().trim_end_matches('`');
                (metric, cells.next().unwrap().parse().unwrap())
            })
            .collect();
        assert_eq!(documented, BUILT_IN);
    }

    #[test]
    fn a_wrong_file_is_told_what_and_where() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("promote_if: {write_leak: 0}").contains("did you mean `write_leakage`"));
        assert!(
            message("promote_if: {write_leakage: 'few'}").contains("gate.yaml: write_leakage: `few` is not a bound")
        );
        assert!(message("promote_if: {}").contains("no condition"));
        assert!(message("routing_canary: {share: 0.05}").contains("no condition"));
        assert!(message("promote_if: [").contains("gate.yaml: not a gate file"));
        let list = message("promote_if:\n  write_leakage: [1]");
        assert!(
            list.contains("line 2, column 18: this value has a form") && list.contains("`metric: bound`"),
            "{list}"
        );
        assert!(message("promote_iff: {a: 0}").contains("unknown field `promote_iff`: use"));
        for text in ["promote_if: 3", "promote_if: {mismatches: 0, mismatches: 1}", "promote_if: {mismatches: 1e400}"] {
            let message = message(text);
            let inside = ["mapping", "Policy", "untagged", "enum", "variant"];
            assert!(message.lines().count() == 1 && !inside.iter().any(|word| message.contains(word)), "{message}");
        }
        assert!(
            message("promote_if: {compared_delta: 0}").contains("unknown metric"),
            "compared is of the pair, not of a run"
        );
    }

    #[test]
    fn the_default_gate_asks_for_safety_coherence_and_completeness() {
        let gate = Gate::default();
        for metric in
            ["write_leakage", "split_transactions_delta", "replica_read_share_delta_pct", "unattributed_share"]
        {
            assert!(gate.conditions.iter().any(|condition| condition.metric == metric), "{metric}");
        }
    }
}
