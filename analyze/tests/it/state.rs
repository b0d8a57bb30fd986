//! Answers of a run that lost state of its sessions: whose fault it is that they differ.

use splitproof_analyze::comparison::{AnswerClass, Comparison};
use splitproof_analyze::gate::{Gate, Status, Verdict};

use crate::compare::with_positions;
use crate::scenario::{compared, mysql, scenario};

fn run(baseline: &str, candidate: &str) -> Comparison {
    compared(&mysql(&with_positions(baseline)), &mysql(&with_positions(candidate))).unwrap()
}

/// What follows from a statement before it on the primary, as the right router has it.
const RIGHT: &[(&str, &str)] = &[
    ("SELECT SQL_CALC_FOUND_ROWS n FROM stock LIMIT 1 -> P1 | sum=1", "SELECT FOUND_ROWS() -> P1 | sum=2 rows=1"),
    ("UPDATE stock SET n = 1 -> P1 | affected=1", "SELECT ROW_COUNT() -> P1 | sum=2 rows=1"),
    ("INSERT INTO stock VALUES (1) -> P1 | affected=1", "SHOW WARNINGS -> P1 | sum=2 rows=1"),
    ("SELECT n INTO @n FROM stock WHERE id = 1 FOR UPDATE -> P1 | affected=1", "SELECT @n -> P1 | sum=2 rows=1"),
    ("SET @n = 5 -> P1 S1", "SELECT @n -> S1 | sum=2 rows=1"),
    ("CREATE TEMPORARY TABLE t (n INT) -> P1", "SELECT n FROM t -> P1 | sum=2 rows=1"),
];

/// The right run, and one in which the second statement ran where what it asks for is not.
fn pair(first: &str, then: &str) -> (String, String) {
    let right = format!("1 20..22 {first}\n1 60..62 {then}");
    let wrong = match first.starts_with("SET") {
        true => right.replace("P1 S1", "P1"),
        false => right.replace(then, &then.replace("-> P1", "-> S1")),
    };
    let wrong = wrong.replace("sum=2", "sum=9");
    (right, wrong)
}

#[test]
fn what_the_baseline_lost_is_no_mismatch_of_the_candidate() {
    for (first, then) in RIGHT {
        let (right, wrong) = pair(first, then);
        let found = run(&wrong, &right);
        let counts = found.answers.counts;
        assert_eq!((counts.lost_state, counts.mismatch), (1, 0), "{then}: {:?}", found.answers);
        let example = &found.answers.shapes[0].examples[0];
        assert_eq!((example.class, example.baseline_only), (AnswerClass::LostState, true), "{then}");
        let verdict = Verdict::of(&Gate::default(), &found.metrics, &found.unmeasured);
        let broken: Vec<_> = verdict.with_status(Status::Broken).map(|checked| &checked.condition.metric).collect();
        assert!(!broken.iter().any(|metric| metric.contains("mismatch")), "{then}: {broken:?}");
    }
}

#[test]
fn what_the_candidate_lost_is_its_mismatch() {
    for (first, then) in RIGHT {
        let (right, wrong) = pair(first, then);
        let counts = run(&right, &wrong).answers.counts;
        assert_eq!((counts.lost_state, counts.mismatch), (0, 1), "{then}");
        // Where both lost it, the candidate has no excuse.
        let worse = wrong.replace("sum=9", "sum=8");
        let counts = run(&wrong, &worse).answers.counts;
        assert_eq!((counts.lost_state, counts.mismatch), (0, 1), "{then}");
    }
}

/// A setting that missed a node is missed by everything that the node serves, not by the first statement alone.
#[test]
fn every_answer_of_a_node_without_the_setting_is_the_baselines() {
    let text = |nodes: &str, sums: [u32; 3]| {
        format!(
            "1 10..12 SET search_path = sales -> {nodes}
             1 20..22 SELECT n FROM stock WHERE id = 1 -> S1 | sum={} rows=1
             1 30..32 SELECT n FROM stock WHERE id = 2 -> S1 | sum={} rows=1
             2 40..42 SELECT n FROM stock WHERE id = 3 -> S2 | sum={} rows=1",
            sums[0], sums[1], sums[2]
        )
    };
    let parse = |text: &str| scenario(&with_positions(text));
    let found = compared(&parse(&text("P1", [1, 2, 3])), &parse(&text("P1 S1", [4, 5, 6]))).unwrap();
    let counts = found.answers.counts;
    assert_eq!((counts.lost_state, counts.mismatch), (2, 1), "the other session's own is a mismatch");
}

#[test]
fn an_answer_that_differs_beside_the_lost_state_is_a_mismatch() {
    let text = |at: &str, sum: u32, other: u32| {
        format!(
            "1 20..22 UPDATE sales SET n = 1 -> P1 | affected=1
             1 30..32 SELECT ROW_COUNT() -> {at} | sum={sum} rows=1
             1 60..62 SELECT n FROM stock WHERE id = 1 -> S1 | sum={other} rows=1"
        )
    };
    let counts = run(&text("S1", 9, 1), &text("P1", 2, 3)).answers.counts;
    assert_eq!((counts.lost_state, counts.mismatch), (1, 1));
}
