//! What the verdicts on pairs of answers mean.
//!
//! The verdict itself is found by `engine/sql/verdicts.sql`; this gives it its class and a sentence.

use crate::comparison::AnswerClass;
use crate::engine::{Compared, Side};

/// A verdict with its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The class of the pair.
    pub class: AnswerClass,
    /// The run at fault, where one is.
    pub side: Option<Side>,
    /// Why, in one sentence.
    pub reason: String,
}

/// The meaning of a verdict.
pub fn meaning(compared: &Compared) -> Meaning {
    use AnswerClass::{Equal, Error, LostState, Mismatch, Missing, Nondeterministic, Reordered, Stale, Unverified};
    let candidate = Some(Side::Candidate);
    let baseline = Some(Side::Baseline);
    let (class, side, reason) = match compared.verdict.as_str() {
        "equal" => (Equal, None, "the answers are the same"),
        "incomplete" => (Unverified, None, "one of the answers never came, or was cancelled"),
        "error_differs" => (Error, candidate, "both answered with an error, and the errors differ"),
        "error_candidate" => (Error, candidate, "only the candidate answered with an error"),
        "error_baseline" => (Error, baseline, "only the baseline answered with an error"),
        "error_race" => {
            (Reordered, None, "a constraint or lock conflict, and other writes came before or at the same time")
        }
        "no_checksum" => (Unverified, None, "as many rows, and no checksum to compare"),
        "varies" => (Nondeterministic, None, "the statement may answer differently each time"),
        "tainted" => (Nondeterministic, None, "it read what a nondeterministic statement wrote"),
        "missing_candidate" => {
            (Missing, candidate, "rows are missing: the candidate's node had not applied an earlier write")
        }
        "stale_candidate" => (Stale, candidate, "the candidate's node had not applied an earlier write"),
        "missing_baseline" => {
            (Missing, baseline, "rows are missing in the baseline: its node had not applied an earlier write")
        }
        "stale_baseline" => (Stale, baseline, "the baseline's node had not applied an earlier write"),
        "order" => (Reordered, None, "other writes, or the same in another order, were committed before it"),
        "concurrent" => (Reordered, None, "a write to its tables was committed at the same time"),
        "state_baseline" => (LostState, baseline, "the baseline ran it where state that its session relies on is not"),
        "state_candidate" => {
            (Mismatch, candidate, "the candidate ran it where state that its session relies on is not")
        }
        "unplaced" => (Unverified, None, "it is not known which node answered"),
        "undecided" => (Unverified, None, "the position samples do not decide whether the replica was behind"),
        "unknown_writes" => (Unverified, None, "a function whose tables are not known wrote before it"),
        _ => (Mismatch, None, "both nodes were current, the same writes came before, and the contents differ"),
    };
    let why = match class {
        Nondeterministic => compared.varies.as_ref().or(compared.tainted.as_ref()),
        _ => None,
    };
    let reason = why.map_or_else(|| reason.to_string(), |why| format!("{reason}: {why}"));
    Meaning { class, side, reason }
}
