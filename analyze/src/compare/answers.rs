//! The pairs of answers.

use std::collections::BTreeMap;

use super::judged::Shapes;
use super::{Error, Noise};
use crate::answers::meaning;
use crate::comparison::{AnswerClass, AnswerExample, Answers, Nondeterministic, ShapeAnswers, ShapeId};
use crate::engine::{PairQueries, Side, Totals};

/// The answers with the counts that only the metrics need.
pub(super) struct Assembled {
    pub answers: Answers,
    /// Answers that differ because a node of the candidate was behind.
    pub candidate_stale: u64,
    /// Those that lack rows.
    pub candidate_missing: u64,
    /// Requests that the candidate answered with an error of its own.
    pub candidate_errors: u64,
}

impl Assembled {
    /// Of a prediction there is no answer: what stands in its rows was recorded elsewhere.
    pub(super) fn forget(&mut self) {
        let (only_baseline, only_candidate) = (self.answers.only_baseline, self.answers.only_candidate);
        self.answers = Answers { only_baseline, only_candidate, ..Answers::default() };
    }
}

/// Puts the pairs of answers together.
pub(super) fn assemble(
    pair: &PairQueries<'_>,
    shapes: &Shapes,
    baseline: &Totals,
    candidate: &Totals,
    noise: &Noise,
) -> Result<Assembled, Error> {
    let mut found =
        Assembled { answers: Answers::default(), candidate_stale: 0, candidate_missing: 0, candidate_errors: 0 };
    let mut by_shape: BTreeMap<u64, ShapeAnswers> = BTreeMap::new();
    let pairs = pair.answers()?;
    let (mut all, mut mismatches): (BTreeMap<u64, u64>, BTreeMap<u64, u64>) = Default::default();
    for compared in &pairs {
        *all.entry(compared.shape).or_default() += compared.requests;
        if meaning(compared).class == AnswerClass::Mismatch {
            *mismatches.entry(compared.shape).or_default() += compared.requests;
        }
    }
    for compared in pairs {
        let mut meaning = meaning(&compared);
        let of = |counts: &BTreeMap<u64, u64>| counts.get(&compared.shape).copied().unwrap_or(0);
        if meaning.class == AnswerClass::Mismatch
            && let Some(rate) = noise.explains(ShapeId(compared.shape), of(&mismatches), of(&all))
        {
            meaning.class = AnswerClass::Nondeterministic;
            meaning.side = None;
            meaning.reason = format!("it differed in {} of {} pairs of the control runs, too", rate.differ, rate.pairs);
        }
        found.answers.counts.add(meaning.class, compared.requests);
        if meaning.side == Some(Side::Candidate) {
            match meaning.class {
                AnswerClass::Stale => found.candidate_stale += compared.requests,
                AnswerClass::Missing => {
                    found.candidate_stale += compared.requests;
                    found.candidate_missing += compared.requests;
                }
                AnswerClass::Error => found.candidate_errors += compared.requests,
                _ => {}
            }
        }
        let entry = by_shape.entry(compared.shape).or_insert_with(|| ShapeAnswers {
            shape: shapes.shape(compared.shape),
            counts: Default::default(),
            examples: Vec::new(),
        });
        entry.counts.add(meaning.class, compared.requests);
        if meaning.class != AnswerClass::Equal {
            entry.examples.push(AnswerExample {
                class: meaning.class,
                reason: meaning.reason,
                requests: compared.requests,
                baseline_only: meaning.side == Some(Side::Baseline),
                baseline: compared.baseline.example,
                baseline_rows: compared.baseline.rows,
                candidate: compared.candidate.example,
                candidate_rows: compared.candidate.rows,
            });
        }
    }
    let mut list: Vec<ShapeAnswers> = by_shape.into_values().filter(|entry| !entry.examples.is_empty()).collect();
    for entry in &mut list {
        entry.examples.sort_by_key(|example| rank(example.class));
    }
    // The worst class decides; within it, the most requests.
    list.sort_by_key(|entry| {
        let worst = entry.examples.first().map_or(AnswerClass::Equal, |example| example.class);
        (rank(worst), std::cmp::Reverse(entry.counts.get(worst)), entry.shape.id)
    });
    found.answers.shapes = list;
    let compared = found.answers.counts.total();
    found.answers.only_baseline = baseline.needed.saturating_sub(compared);
    found.answers.only_candidate = candidate.needed.saturating_sub(compared);
    for varying in pair.varying()? {
        found.answers.nondeterministic.push(Nondeterministic {
            shape: shapes.shape(varying.shape),
            why: varying.why,
            requests: varying.requests,
            differ: varying.differ,
        });
    }
    Ok(found)
}

fn rank(class: AnswerClass) -> usize {
    AnswerClass::ALL.iter().position(|&other| other == class).unwrap_or(usize::MAX)
}
