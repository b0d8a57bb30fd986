//! What came of the conditions.

use std::fmt;

use serde::Serialize;

use super::{Condition, Gate};
use crate::comparison::{METRICS, Metrics};

/// What the gate decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every condition was measured and holds: ship.
    Pass,
    /// At least one condition does not hold: don't ship.
    Fail,
    /// None failed, but at least one could not be measured.
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
            None => write!(f, "{metric} could not be measured, and must be {bound} ({})", self.meaning),
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
    /// Holds the conditions of `gate` against `metrics`.
    pub fn of(gate: &Gate, metrics: &Metrics) -> Self {
        let mut conditions: Vec<Checked> = gate.conditions.iter().map(|condition| check(condition, metrics)).collect();
        conditions.sort_by_key(|checked| match checked.status {
            Status::Broken => 0,
            Status::Unmeasured => 1,
            Status::Held => 2,
        });
        let decision = match conditions.first().map(|checked| checked.status) {
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

fn check(condition: &Condition, metrics: &Metrics) -> Checked {
    let value = metrics.get(&condition.metric).copied().filter(|value| value.is_finite());
    let status = match value {
        None => Status::Unmeasured,
        Some(value) if condition.bound.holds(value) => Status::Held,
        Some(_) => Status::Broken,
    };
    // The longest name that the metric begins with: `x_delta` is described by `x`, unless it has a line of its own.
    let meaning = METRICS
        .iter()
        .filter(|metric| condition.metric.starts_with(metric.name))
        .max_by_key(|metric| metric.name.len())
        .map_or("", |metric| metric.meaning);
    Checked { condition: condition.clone(), value, status, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn judge(metrics: &[(&str, f64)]) -> Verdict {
        let gate = Gate::parse("promote_if: {write_leakage: 0, mismatches: 0}", Path::new("gate.yaml")).unwrap();
        let known = [
            ("cut_short", 0.0),
            ("cut_short_baseline", 0.0),
            ("unattributed_share", 0.0),
            ("parse_errors", 0.0),
            ("lost", 0.0),
            ("not_replayed", 0.0),
        ];
        let metrics = known.iter().chain(metrics).map(|&(name, value)| (name.to_owned(), value)).collect();
        Verdict::of(&gate, &metrics)
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
        assert_eq!(judge(&[("write_leakage", 0.0)]).decision, Decision::CouldNotJudge);
        assert_eq!(judge(&[("write_leakage", 0.0), ("mismatches", f64::NAN)]).decision, Decision::CouldNotJudge);
    }

    #[test]
    fn all_measured_and_held_is_a_pass() {
        assert_eq!(judge(&[("write_leakage", 0.0), ("mismatches", 0.0)]).decision, Decision::Pass);
    }

    #[test]
    fn what_the_evidence_did_not_reach_fails() {
        assert_eq!(
            judge(&[("write_leakage", 0.0), ("mismatches", 0.0), ("unattributed_share", 0.25)]).decision,
            Decision::Fail
        );
    }
}
