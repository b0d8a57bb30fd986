//! What came of the conditions.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Condition, Gate};
use crate::comparison::{Metrics, metrics as all_metrics};

/// What the gate decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every condition was measured and holds: ship.
    Pass,
    /// At least one condition does not hold: don't ship.
    Fail,
    /// None failed, but at least one could not be measured; or a node was gone, so that what failed may be due to that.
    CouldNotJudge,
}

impl Decision {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Decision::Pass => "ship",
            Decision::Fail => "don't ship",
            Decision::CouldNotJudge => "could not judge",
        }
    }

    /// The exit code of the command that judged.
    pub fn exit_code(self) -> u8 {
        match self {
            Decision::Pass => 0,
            Decision::Fail => 1,
            Decision::CouldNotJudge => 2,
        }
    }
}

/// What came of one condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It holds.
    Held,
    /// It does not hold.
    Broken,
    /// Its metric could not be measured.
    Unmeasured,
}

/// A condition with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// The metric's value; `None` when it could not be measured.
    pub value: Option<f64>,
    /// What came of it.
    pub status: Status,
    /// What the metric counts.
    pub meaning: &'static str,
    /// Why it could not be measured, where that is known.
    pub why: Option<String>,
}

impl Checked {
    /// True where what was found tells nothing of the router, so that it is not to blame for it either.
    fn voids_the_run(&self) -> bool {
        self.status == Status::Broken && self.condition.metric.starts_with("nodes_gone")
    }
}

impl fmt::Display for Checked {
    /// A sentence for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, bound) = (&self.condition.metric, self.condition.bound);
        match self.value {
            Some(value) => {
                let verb = if self.status == Status::Held { "as it should be" } else { "and must be" };
                write!(f, "{metric} is {}, {verb} {bound} ({})", Rounded(value), self.meaning)
            }
            None => {
                write!(f, "{metric} could not be measured")?;
                if let Some(why) = &self.why {
                    write!(f, " because {why}")?;
                }
                write!(f, ", and must be {bound} ({})", self.meaning)
            }
        }
    }
}

/// A number with at most three decimals, and none where it is whole.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

/// The decision, and what came of each condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Ship or not.
    pub decision: Decision,
    /// Each condition, those that decide first.
    pub conditions: Vec<Checked>,
}

impl Verdict {
    /// Holds the conditions of `gate` against `metrics`; `unmeasured` says why some are not there.
    pub fn of(gate: &Gate, metrics: &Metrics, unmeasured: &BTreeMap<String, String>) -> Self {
        let check = |condition| check(condition, metrics, unmeasured);
        let mut conditions: Vec<Checked> = gate.conditions.iter().map(check).collect();
        conditions.sort_by_key(|checked| match checked.status {
            Status::Broken if checked.voids_the_run() => 0,
            Status::Broken => 1,
            Status::Unmeasured => 2,
            Status::Held => 3,
        });
        let decision = match conditions.first().map(|checked| checked.status) {
            Some(Status::Broken) if conditions.iter().any(Checked::voids_the_run) => Decision::CouldNotJudge,
            Some(Status::Broken) => Decision::Fail,
            Some(Status::Held) => Decision::Pass,
            Some(Status::Unmeasured) | None => Decision::CouldNotJudge,
        };
        Verdict { decision, conditions }
    }

    /// The conditions with this status.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Checked> {
        self.conditions.iter().filter(move |checked| checked.status == status)
    }
}

fn check(condition: &Condition, metrics: &Metrics, unmeasured: &BTreeMap<String, String>) -> Checked {
    let value = metrics.get(&condition.metric).copied().filter(|value| value.is_finite());
    let status = match value {
        None => Status::Unmeasured,
        Some(value) if condition.bound.holds(value) => Status::Held,
        Some(_) => Status::Broken,
    };
    // The longest name that the metric begins with: `x_delta` is described by `x`, unless it has a line of its own.
    let meaning = all_metrics()
        .iter()
        .filter(|metric| condition.metric.starts_with(metric.name))
        .max_by_key(|metric| metric.name.len())
        .map_or("", |metric| metric.meaning);
    let why = unmeasured.get(&condition.metric).filter(|_| status == Status::Unmeasured).cloned();
    Checked { condition: condition.clone(), value, status, meaning, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::file::BUILT_IN;
    use std::path::Path;

    fn judge(metrics: &[(&str, f64)]) -> Verdict {
        let gate = Gate::parse("promote_if: {write_leakage: 0, mismatches: 0}", Path::new("gate.yaml")).unwrap();
        let known = BUILT_IN.iter().map(|&(name, _)| (name, 0.0));
        let metrics = known.chain(metrics.iter().copied()).map(|(name, value)| (name.to_owned(), value)).collect();
        let unmeasured = BTreeMap::from([("mismatches".to_owned(), "the clock stood still".to_owned())]);
        Verdict::of(&gate, &metrics, &unmeasured)
    }

    #[test]
    fn one_broken_condition_fails_even_beside_an_unmeasured_one() {
        let verdict = judge(&[("write_leakage", 3.0)]);
        assert_eq!(verdict.decision, Decision::Fail);
        let sentence = verdict.conditions[0].to_string();
        assert!(sentence.starts_with("write_leakage is 3, and must be at most 0"), "{sentence}");
    }

    #[test]
    fn an_unmeasured_condition_is_no_pass() {
        let verdict = judge(&[("write_leakage", 0.0)]);
        assert_eq!(verdict.decision, Decision::CouldNotJudge);
        let sentence = verdict.conditions[0].to_string();
        assert!(sentence.contains("could not be measured because the clock stood still, and must be"), "{sentence}");
        assert_eq!(judge(&[("write_leakage", 0.0), ("mismatches", f64::NAN)]).decision, Decision::CouldNotJudge);
    }

    #[test]
    fn all_measured_and_held_is_a_pass() {
        assert_eq!(judge(&[("write_leakage", 0.0), ("mismatches", 0.0)]).decision, Decision::Pass);
    }

    /// What it shows may come of that, so that it is no fault of the router.
    #[test]
    fn a_run_without_a_node_is_not_judged_whatever_it_shows() {
        for gone in ["nodes_gone", "nodes_gone_baseline"] {
            let verdict = judge(&[("write_leakage", 3.0), ("mismatches", 0.0), (gone, 1.0)]);
            assert_eq!(verdict.decision, Decision::CouldNotJudge);
            assert_eq!(verdict.conditions[0].condition.metric, gone, "what decides is said first");
        }
    }

    #[test]
    fn little_that_is_unknown_passes_and_much_does_not() {
        let decision = |metric, share| judge(&[("write_leakage", 0.0), ("mismatches", 0.0), (metric, share)]).decision;
        for (metric, few, many) in [("staleness_unknown_share", 0.2, 0.3), ("unverified_share", 0.005, 0.02)] {
            assert_eq!((decision(metric, few), decision(metric, many)), (Decision::Pass, Decision::Fail), "{metric}");
        }
        for metric in ["unknown_functions", "without_text", "parse_errors", "lost"] {
            assert_eq!(decision(metric, 1.0), Decision::Fail, "{metric}");
        }
    }

    #[test]
    fn what_the_evidence_did_not_reach_fails() {
        assert_eq!(
            judge(&[("write_leakage", 0.0), ("mismatches", 0.0), ("unattributed_share", 0.25)]).decision,
            Decision::Fail
        );
    }
}
