//! A call of a function whose body is known touches the tables that its body touches, and no others.

use splitproof_analyze::comparison::{AnswerCounts, Comparison};

use crate::compare::{paused, run, with_positions};

/// A call, and reads of two tables after it whose answers are `sum`.
fn after(call: &str, sum: u32) -> String {
    with_positions(&format!(
        "1 10..12 SELECT {call} -> P1 | sum=5 rows=1
         1 60..62 SELECT name FROM users WHERE id = 7 -> S1 | sum={sum} rows=1
         1 70..72 SELECT max(id) FROM audit -> S1 | sum={sum} rows=1"
    ))
}

fn counts(found: &Comparison) -> AnswerCounts {
    found.answers.counts
}

#[test]
fn an_answer_that_differs_on_another_table_is_a_mismatch() {
    let found = run(&after("audit_login(7)", 1), &after("audit_login(7)", 2));
    // The rows of `audit` have keys from a sequence.
    let expected = AnswerCounts { equal: 1, mismatch: 1, nondeterministic: 1, ..AnswerCounts::default() };
    assert_eq!(counts(&found), expected, "{:#?}", found.answers.shapes);
    let found = run(&after("dynamic(7)", 1), &after("dynamic(7)", 2));
    assert_eq!(counts(&found), AnswerCounts { equal: 1, unverified: 2, ..AnswerCounts::default() });
}

#[test]
fn calls_in_another_order_reorder_only_their_own_tables() {
    let calls = |first: u32, second: u32, call: &str| {
        with_positions(&format!(
            "{first} 10..12 SELECT {call} -> P{first} | sum=5 rows=1
             {second} 20..22 SELECT {call} -> P{second} | sum=5 rows=1
             3 60..62 SELECT name FROM users WHERE id = 7 -> S3 | sum={first} rows=1"
        ))
    };
    let found = run(&calls(1, 2, "audit_login(7)"), &calls(2, 1, "audit_login(7)"));
    assert_eq!((counts(&found).mismatch, counts(&found).reordered), (1, 0));
    let found = run(&calls(1, 2, "dynamic(7)"), &calls(2, 1, "dynamic(7)"));
    assert_eq!((counts(&found).mismatch, counts(&found).reordered), (0, 1));
}

#[test]
fn a_read_that_missed_the_call_is_stale_where_the_call_wrote() {
    let stale = |call: &str| {
        let text = format!(
            "{}1 30..32 SELECT {call} -> P1 | sum=5 rows=1
             1 60..62 SELECT name FROM users WHERE id = 7 -> S1 | sum=1 rows=1
             1 70..72 SELECT max(id) FROM audit -> S1 | sum=1 rows=1",
            paused(200)
        );
        let found = run(&text, &text);
        let stale = found.candidate.stale_reads.into_iter();
        let mut stale: Vec<_> = stale.map(|read| (read.shape.text, read.any_table)).collect();
        stale.sort();
        stale
    };
    let (audit, users) = ("select max(id) from audit".to_owned(), "select name from users where id = ?".to_owned());
    assert_eq!(stale("audit_login(7)"), [(audit.clone(), false)]);
    assert_eq!(stale("dynamic(7)"), [(audit, true), (users, true)]);
}

#[test]
fn a_routine_that_the_window_makes_anew_is_no_longer_known() {
    let made = "1 6..8 CREATE OR REPLACE FUNCTION audit_login(i int) RETURNS int LANGUAGE sql AS 'SELECT 1' -> P1\n";
    let found = run(&format!("{made}{}", after("audit_login(7)", 1)), &format!("{made}{}", after("audit_login(7)", 2)));
    assert_eq!((counts(&found).mismatch, counts(&found).unverified), (0, 1), "{:#?}", found.answers.shapes);
}
