//! What was found, against what had to be found.

use std::collections::BTreeSet;

use splitproof_capture::trace::Engine;

use super::finding::{Entry, Finding};
use super::scene::{Eligible, Expected, Scene, Session};

/// What came of one fault.
#[derive(Debug)]
pub struct Verdict {
    /// Whether every statement that had to show the fault did.
    pub found: bool,
    /// The statements that had to and did not.
    pub missing: Vec<String>,
    /// Findings that nothing explains.
    pub unexpected: Vec<Entry>,
    /// Shapes that show the fault.
    pub shown: usize,
}

/// What an expectation means for the shapes of a scene.
struct Shapes {
    /// Each of these must be shown.
    must: Vec<Must>,
    /// One of these must be; empty when none has to.
    one_of: BTreeSet<String>,
    /// These may be shown by the fault's finding.
    may: BTreeSet<String>,
    /// All statements of the sessions that the fault hits.
    hit: BTreeSet<String>,
}

/// A statement that a fault must show.
struct Must {
    shape: String,
    sql: String,
}

/// The verdict on the findings of a run with this fault.
pub fn of(scene: &Scene, engine: Engine, fault: &str, expected: &Expected, entries: Vec<Entry>) -> Verdict {
    let shapes = Shapes::of(scene, engine, fault, expected);
    let own: Vec<&Entry> = entries.iter().filter(|entry| entry.finding == expected.finding).collect();
    let shown: BTreeSet<&String> = own.iter().flat_map(|entry| &entry.shapes).collect();
    let is_missing = |must: &&Must| !shown.contains(&must.shape);
    let mut missing: Vec<String> = shapes.must.iter().filter(is_missing).map(|must| must.sql.clone()).collect();
    if !shapes.one_of.is_empty() && !shapes.one_of.iter().any(|id| shown.contains(id)) {
        missing.push("any of the reads".to_owned());
    }
    let (found, shown) = (missing.is_empty() && !own.is_empty(), shown.len());
    let unexpected = entries.into_iter().filter(|entry| !shapes.explain(expected, entry)).collect();
    Verdict { found, missing, unexpected, shown }
}

impl Shapes {
    fn of(scene: &Scene, engine: Engine, fault: &str, expected: &Expected) -> Self {
        let mut shapes =
            Shapes { must: Vec::new(), one_of: BTreeSet::new(), may: BTreeSet::new(), hit: BTreeSet::new() };
        for session in &scene.sessions {
            for step in &session.steps {
                let id = step.shape(engine);
                if step.may_show.iter().any(|name| name == fault) {
                    shapes.may.insert(id.clone());
                }
                if step.eligible && expected.eligible == Eligible::Some {
                    shapes.one_of.insert(id.clone());
                }
                if step.eligible && expected.eligible != Eligible::None {
                    shapes.may.insert(id.clone());
                }
                if step.is_shown_by(fault) || (step.eligible && expected.eligible == Eligible::All) {
                    shapes.must.push(Must { shape: id, sql: step.sql.clone() });
                }
            }
            if is_hit(session, fault, expected) {
                shapes.hit.extend(session.steps.iter().map(|step| step.shape(engine)));
            }
        }
        shapes
    }

    /// Whether an entry is the fault itself or follows from it.
    fn explain(&self, expected: &Expected, entry: &Entry) -> bool {
        // A transaction is shown by any of its statements.
        let itself = || {
            let is_its = |id: &String| self.may.contains(id) || self.must.iter().any(|must| must.shape == *id);
            entry.finding == expected.finding && entry.shapes.iter().any(is_its)
        };
        // A stale read answers from the past.
        let stale = || {
            let reads = expected.finding == Finding::StaleReads || expected.also.contains_key(&Finding::StaleReads);
            entry.finding == Finding::StaleAnswers && reads
        };
        let follows = || {
            (expected.also.contains_key(&entry.finding) || stale())
                && !entry.shapes.is_empty()
                && entry.shapes.iter().all(|id| self.hit.contains(id))
        };
        itself() || follows()
    }
}

fn is_hit(session: &Session, fault: &str, expected: &Expected) -> bool {
    session.steps.iter().any(|step| {
        step.is_shown_by(fault)
            || step.may_show.iter().any(|name| name == fault)
            || (step.eligible && expected.eligible != Eligible::None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: &str = "
sessions:
  - id: lock
    steps:
      - BEGIN
      - { sql: 'SELECT a FROM t WHERE id = {me} FOR UPDATE', shows: [for-update-to-replica] }
      - COMMIT
  - id: read
    steps: [{ sql: 'SELECT b FROM t', eligible: true }]
faults:
  for-update-to-replica: { finding: write_leakage, also: { answer_errors: the replica refuses it } }
";

    fn entry(finding: Finding, sql: &str) -> Entry {
        let id = splitproof_capture::sql::Dialect::of(Engine::Postgresql).shape_id(sql);
        Entry { finding, shapes: [format!("{id:016x}")].into(), requests: 1, example: sql.to_owned() }
    }

    fn judge(entries: Vec<Entry>) -> Verdict {
        let scene: Scene = serde_saphyr::from_str(SCENE).unwrap();
        let name = "for-update-to-replica";
        of(&scene, Engine::Postgresql, name, &scene.faults[name], entries)
    }

    const LOCK: &str = "SELECT a FROM t WHERE id = 7 FOR UPDATE";

    #[test]
    fn the_right_finding_with_the_right_shape_is_found() {
        let verdict = judge(vec![entry(Finding::WriteLeakage, LOCK), entry(Finding::AnswerErrors, LOCK)]);
        assert!(verdict.found && verdict.unexpected.is_empty() && verdict.shown == 1, "{verdict:?}");
    }

    #[test]
    fn nothing_or_another_finding_or_another_shape_is_missed() {
        for entries in
            [vec![], vec![entry(Finding::AnswerErrors, LOCK)], vec![entry(Finding::WriteLeakage, "SELECT b FROM t")]]
        {
            let verdict = judge(entries);
            assert!(!verdict.found && verdict.missing == ["SELECT a FROM t WHERE id = {me} FOR UPDATE"], "{verdict:?}");
        }
    }

    #[test]
    fn what_the_fault_does_not_explain_is_false() {
        let verdict = judge(vec![
            entry(Finding::WriteLeakage, LOCK),
            entry(Finding::WriteLeakage, "SELECT b FROM t"),
            // In a session that the fault does not hit.
            entry(Finding::AnswerErrors, "SELECT b FROM t"),
            entry(Finding::Mismatches, LOCK),
        ]);
        assert!(verdict.found);
        assert_eq!(verdict.unexpected.len(), 3, "{verdict:?}");
    }
}
