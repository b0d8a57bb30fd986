//! Whole comparisons of small runs: every finding, and its absence.

use splitproof_analyze::compare::{Error, compare};
use splitproof_analyze::comparison::{AnswerClass, Comparison, Destination, Writer};

use crate::scenario::{compared, options, scenario};

/// Position samples of a pair without lag: the standby is never more than a sample behind.
fn positions(until_ms: u32) -> String {
    (0..until_ms / 2)
        .map(|n| format!("@{at} P lsn={lsn}\n@{at} S replay={lsn} time={at}\n", at = n * 2, lsn = n * 20))
        .collect()
}

/// The standby stands still from 20 ms on.
pub fn paused(until_ms: u32) -> String {
    (0..until_ms / 2)
        .map(|n| {
            let (at, lsn) = (n * 2, n * 20);
            format!("@{at} P lsn={lsn}\n@{at} S replay={} time={}\n", lsn.min(200), at.min(20))
        })
        .collect()
}

pub fn run(baseline: &str, candidate: &str) -> Comparison {
    compared(&scenario(baseline), &scenario(candidate)).unwrap()
}

/// A candidate compared with itself.
fn alone(text: &str) -> Comparison {
    run(text, text)
}

fn metric(comparison: &Comparison, name: &str) -> f64 {
    *comparison.metrics.get(name).unwrap_or_else(|| panic!("{name} in {:?}", comparison.metrics))
}

pub fn with_positions(text: &str) -> String {
    format!("{}{text}", positions(200))
}

const CLEAN: &str = "
    1 10..12 SET statement_timeout = 5000 -> P1 S1
    1 20..22 SELECT n FROM stock WHERE id = 1 -> S1 | sum=1 rows=1
    1 30..32 BEGIN -> P1 S1
    1 34..36 UPDATE stock SET n = 2 WHERE id = 1 -> P1 | affected=1
    1 38..40 SELECT n FROM stock WHERE id = 1 -> P1 | sum=2 rows=1
    1 42..44 COMMIT -> P1 S1
    1 60..62 SELECT n FROM stock WHERE id = 1 -> S1 | sum=2 rows=1";

#[test]
fn a_clean_run_compared_with_itself_has_no_finding() {
    let found = alone(&with_positions(CLEAN));
    let new = &found.candidate;
    assert!(new.write_leakage.is_empty(), "{:?}", new.write_leakage);
    assert!(new.accidental_primary_reads.is_empty(), "{:?}", new.accidental_primary_reads);
    assert!(new.split_transactions.is_empty(), "{:?}", new.split_transactions);
    assert!(new.session_state_missed.is_empty(), "{:?}", new.session_state_missed);
    assert!(new.duplicated_writes.is_empty() && new.router_made.is_empty());
    assert!(new.stale_reads.is_empty(), "{:?}", new.stale_reads);
    assert!(new.unknowns.is_empty(), "{:?}", new.unknowns);
    assert_eq!((new.run.attributed.attributed, new.run.attributed.total()), (7, 7));
    assert_eq!(found.answers.counts.equal, 7);
    assert_eq!(found.answers.counts.total(), 7);
    assert_eq!(new.run.transactions, 1);
    assert_eq!(new.grid.count("replica", Destination::Replica), 2);
    assert_eq!(new.grid.count("all", Destination::Both), 1);
    assert_eq!(new.grid.count("primary", Destination::Primary), 1);
    for name in ["write_leakage", "split_transactions", "stale_answers", "mismatches", "unattributed_share"] {
        assert_eq!(metric(&found, name), 0.0, "{name}");
    }
    assert_eq!(metric(&found, "replica_read_share_pct"), 100.0);
    assert_eq!(metric(&found, "replica_read_share_delta_pct"), 0.0);
}

#[test]
fn a_write_on_a_replica_is_leakage() {
    let leaking =
        CLEAN.replace("1 42..44", "2 41..43 UPDATE stock SET n = 9 WHERE id = 2 -> S2 | error=25006\n1 42..44");
    let fine = leaking.replace("-> S2 | error=25006", "-> P2 | affected=1");
    let found = run(&with_positions(&fine), &with_positions(&leaking));
    let leak = &found.candidate.write_leakage[..];
    assert_eq!(leak.len(), 1);
    assert_eq!((leak[0].requests, leak[0].refused, leak[0].baseline), (1, 1, Some(0)));
    assert_eq!(leak[0].nodes, ["standby"]);
    assert_eq!(leak[0].errors, [("25006".to_string(), 1)]);
    assert_eq!((leak[0].example.recorded_session, leak[0].example.recorded_seq), (2, 1));
    assert_eq!(metric(&found, "read_only_txn_errors"), 1.0);
    assert_eq!(metric(&found, "write_leakage_delta"), 1.0);
    assert_eq!(metric(&found, "answer_errors"), 1.0);
    assert_eq!(found.answers.counts.error, 1);
}

#[test]
fn reads_on_the_primary_are_ranked_by_the_time_they_take_there() {
    let reads = "
        1 10..30 SELECT count(*) FROM orders -> P1:10..30
        1 40..41 SELECT n FROM stock WHERE id = 1 -> P1:40..41
        1 42..43 SELECT n FROM stock WHERE id = 2 -> P1:42..43
        1 50..51 SELECT n FROM stock WHERE id = 3 -> S1";
    let found = alone(&with_positions(reads));
    let list = &found.candidate.accidental_primary_reads;
    let texts: Vec<(u64, u64, Option<f64>)> =
        list.iter().map(|read| (read.requests, read.eligible, read.primary_ms)).collect();
    assert_eq!(texts, [(1, 1, Some(20.0)), (2, 3, Some(2.0))]);
    assert!((list[0].share.unwrap() - 20.0 / 22.0).abs() < 1e-9);
    assert_eq!(list[0].baseline, Some(1));
    assert_eq!(metric(&found, "replica_read_share_pct"), 25.0);
}

#[test]
fn a_read_inside_a_writing_transaction_on_a_replica_splits_it() {
    let split = CLEAN.replace(
        "1 38..40 SELECT n FROM stock WHERE id = 1 -> P1 | sum=2",
        "1 38..40 SELECT n FROM stock WHERE id = 1 -> S1 | sum=1",
    );
    let found = run(&with_positions(CLEAN), &with_positions(&split));
    let splits = &found.candidate.split_transactions;
    assert_eq!(splits.len(), 1);
    assert_eq!((splits[0].transactions, splits[0].baseline, splits[0].without_begin), (1, Some(0), false));
    assert_eq!(splits[0].statements.len(), 4);
    assert_eq!(splits[0].example.nodes, ["standby"]);
    // The client cannot see on the standby what its own open transaction wrote.
    let stale = &found.candidate.stale_reads;
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert_eq!(stale[0].writer, Writer::Own);
    assert!(stale[0].missed.starts_with("UPDATE stock"));
    assert_eq!((found.answers.counts.stale, metric(&found, "stale_answers")), (1, 1.0));
    assert_eq!(metric(&found, "own_writes_missed"), 1.0);
}

#[test]
fn the_oldest_missed_write_counts_inside_a_writing_transaction_too() {
    let text = "
        2 30..32 UPDATE stock SET n = 9 -> P2:30..31
        1 60..62 BEGIN -> P1 S1
        1 64..66 UPDATE stock SET n = 1 -> P1
        1 68..70 SELECT n FROM stock -> S1
        1 72..74 COMMIT -> P1 S1\n";
    let found = alone(&(text.to_owned() + &paused(100)));
    let stale = &found.candidate.stale_reads;
    assert_eq!((stale.len(), stale[0].writer), (1, Writer::Own), "{stale:?}");
    assert_eq!(stale[0].lag_ms[2], 37.0, "from 31 to 68, not from 66");
}

#[test]
fn a_cursor_shows_the_data_of_when_it_was_opened() {
    let stale = |text: &str| {
        let found = alone(&(text.to_owned() + &paused(100)));
        found.candidate.stale_reads.into_iter().map(|read| (read.example.sql, read.lag_ms[2])).collect::<Vec<_>>()
    };
    let before = "
        1 10..12 BEGIN READ ONLY -> S1
        1 14..16 DECLARE c CURSOR FOR SELECT n FROM stock -> S1
        2 30..32 UPDATE stock SET n = 9 -> P2:30..31
        1 60..62 FETCH 1 FROM c -> S1\n";
    assert_eq!(stale(before), [], "the commit came after what it shows");
    let after = before.replace("14..16 DECLARE", "50..52 DECLARE");
    assert_eq!(stale(&after), [("FETCH 1 FROM c".to_owned(), 19.0)], "from 31 to 50");
}

#[test]
fn a_transaction_that_runs_again_is_duplicated() {
    let text = "
        1 10..12 BEGIN -> P1
        1 14..16 UPDATE stock SET n = n + 1 -> P1
        1 20..40 COMMIT -> P1:21..23
        P2 26..27 BEGIN
        P2 28..30 UPDATE stock SET n = n + 1
        P2 31..33 COMMIT
        P3 50..51 UPDATE heartbeat SET at = now()";
    let found = alone(&with_positions(text)).candidate;
    let duplicated: Vec<_> =
        found.duplicated_writes.iter().map(|write| (&*write.shape.text, write.executions)).collect();
    assert!(duplicated.contains(&("update stock set n = n + ?", 1)), "{duplicated:?}");
    let made: Vec<_> = found.router_made.iter().filter(|made| made.writes).map(|made| &*made.sql).collect();
    assert_eq!(made, ["UPDATE heartbeat SET at = now()"], "that is the router's own");
}

#[test]
fn a_transaction_that_only_reads_may_run_on_either_node() {
    let text = "
        1 10..12 BEGIN -> P1 S1
        1 14..16 SELECT 1 FROM stock -> S1
        1 18..20 SELECT 2 FROM stock -> S1
        1 22..24 COMMIT -> P1 S1";
    assert!(alone(&with_positions(text)).candidate.split_transactions.is_empty());
    let split = text.replace("2 FROM stock -> S1", "2 FROM stock -> P1");
    assert_eq!(alone(&with_positions(&split)).candidate.split_transactions.len(), 1);
}

#[test]
fn what_shapes_or_ends_a_transaction_must_reach_its_node() {
    let text = "
        1 10..12 BEGIN -> P1
        1 14..16 SAVEPOINT a -> P1
        1 18..20 UPDATE stock SET n = 1 -> P1
        1 22..24 RELEASE SAVEPOINT a -> P1 S1
        1 26..28 COMMIT -> P1\n";
    assert!(alone(&with_positions(text)).candidate.split_transactions.is_empty(), "it may reach more");
    for astray in ["SAVEPOINT a", "COMMIT"] {
        let split = text.replace(&format!(" {astray} -> P1\n"), &format!(" {astray} -> S1\n"));
        let found = alone(&with_positions(&split));
        let splits = &found.candidate.split_transactions;
        assert_eq!(splits.len(), 1, "{astray}");
        assert_eq!(
            (splits[0].example.sql.as_str(), &splits[0].example.nodes[..]),
            (astray, &["standby".to_owned()][..])
        );
    }
}

#[test]
fn a_statement_on_a_node_that_did_not_get_begin_is_told() {
    let text = "
        1 10..12 BEGIN -> P1
        1 14..16 UPDATE stock SET n = 1 -> P1
        1 18..20 SELECT n FROM orders -> S1
        1 22..24 COMMIT -> P1";
    let found = alone(&with_positions(text));
    assert!(found.candidate.split_transactions[0].without_begin);
}

#[test]
fn session_state_that_missed_a_serving_node_is_found() {
    let missed = CLEAN.replace("5000 -> P1 S1", "5000 -> P1");
    let found = run(&with_positions(CLEAN), &with_positions(&missed));
    let list = &found.candidate.session_state_missed;
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].requests, &list[0].missed[..]), (1, &["standby".to_string()][..]));
    assert!(list[0].served.sql.starts_with("SELECT n FROM stock"));
    assert_eq!(metric(&found, "session_state_missed"), 1.0);
    assert_eq!(metric(&found, "session_state_missed_baseline"), 0.0);
    // A node that never serves the session need not know.
    let unused = "1 10..12 SET statement_timeout = 1 -> P1\n1 20..22 UPDATE stock SET n = 1 -> P1";
    assert!(alone(&with_positions(unused)).candidate.session_state_missed.is_empty());
    // A rollback takes it back.
    let undone = "
        1 10..12 BEGIN -> P1
        1 14..16 SET statement_timeout = 1 -> P1
        1 18..20 ROLLBACK -> P1
        1 22..24 SELECT n FROM stock -> S1";
    assert!(alone(&with_positions(undone)).candidate.session_state_missed.is_empty());
}

#[test]
fn what_the_router_made_and_what_it_repeated_is_reported() {
    let text = "
        P1 10..11 SELECT count(*) FROM pg_catalog.pg_proc AS p WHERE p.proname = 'f'
        1 12..20 UPDATE stock SET n = n + 1 -> P1:13..14 P1:16..17
        S1 30..31 DISCARD ALL";
    let found = alone(&with_positions(text));
    let new = &found.candidate;
    assert_eq!(new.duplicated_writes.len(), 1);
    assert_eq!((new.duplicated_writes[0].executions, new.duplicated_writes[0].baseline), (1, Some(1)));
    assert_eq!(new.router_made.len(), 2);
    assert!(new.router_made.iter().all(|made| !made.writes), "{:?}", new.router_made);
    assert_eq!((metric(&found, "duplicated_writes"), metric(&found, "router_made_writes")), (1.0, 0.0));
}

const LAGGING: &str = "
    1 30..32 UPDATE stock SET n = 2 -> P1:30..31 | affected=1
    2 60..62 SELECT n FROM stock -> S2 | sum=1 rows=1
    1 70..72 SELECT n FROM stock WHERE id = 1 -> S1 | sum=1 rows=0
    2 80..82 SELECT total FROM orders -> S2 | sum=1 rows=1";

#[test]
fn reads_from_a_standby_that_stands_still_are_stale_and_none_is_a_mismatch() {
    let fresh = LAGGING.replace("sum=1 rows=1", "sum=2 rows=1").replace("sum=1 rows=0", "sum=2 rows=1");
    let fresh = fresh.replace("orders -> S2 | sum=2", "orders -> S2 | sum=1");
    let found = run(&with_positions(&fresh), &format!("{}{LAGGING}", paused(200)));
    let stale = &found.candidate.stale_reads;
    assert_eq!(stale.len(), 2, "{stale:?}");
    let of = |writer| stale.iter().find(|stale| stale.writer == writer).unwrap();
    assert_eq!(of(Writer::Other).lag_ms, [29.0; 3], "from the end of the commit to the read");
    assert_eq!(of(Writer::Own).lag_ms, [39.0; 3]);
    assert!(of(Writer::Other).uncertainty_ms < 10.0);
    assert_eq!((found.answers.counts.stale, found.answers.counts.missing), (1, 1));
    assert_eq!((found.answers.counts.mismatch, found.answers.counts.equal), (0, 2));
    assert_eq!(metric(&found, "max_lag_ms"), 39.0);
}

#[test]
fn different_contents_with_everything_equal_is_a_mismatch() {
    let other = CLEAN.replace(
        "1 60..62 SELECT n FROM stock WHERE id = 1 -> S1 | sum=2",
        "1 60..62 SELECT n FROM stock WHERE id = 1 -> S1 | sum=3",
    );
    let found = run(&with_positions(CLEAN), &with_positions(&other));
    assert_eq!((found.answers.counts.mismatch, metric(&found, "mismatches")), (1, 1.0));
    let shape = &found.answers.shapes[0];
    assert_eq!(shape.examples[0].class, AnswerClass::Mismatch);
    assert_eq!(shape.examples[0].candidate.nodes, ["standby"]);
}

#[test]
fn a_race_of_the_workload_is_reordered_not_a_mismatch() {
    let text = |first: u32, second: u32, sum: u32| {
        format!(
            "1 {first}..{} UPDATE stock SET n = 1 -> P1 | affected=1
             2 {second}..{} UPDATE stock SET n = 2 -> P2 | affected=1
             3 60..62 SELECT n FROM stock -> P3 | sum={sum} rows=1",
            first + 2,
            second + 2
        )
    };
    let found = run(&with_positions(&text(10, 20, 2)), &with_positions(&text(20, 10, 1)));
    assert_eq!((found.answers.counts.reordered, found.answers.counts.mismatch), (1, 0));
}

/// PostgreSQL manual, "Repeatable Read Isolation Level".
#[test]
fn a_repeatable_read_transaction_shows_the_state_at_its_first_read() {
    let text = |level: &str, write: u32, sum: u32| {
        format!(
            "2 {write}..{} UPDATE stock SET n = 2 -> P2 | affected=1
             1 30..32 BEGIN ISOLATION LEVEL {level} -> P1
             1 34..36 SELECT total FROM orders -> P1 | sum=7 rows=1
             1 50..52 SELECT n FROM stock -> P1 | sum={sum} rows=1
             1 54..56 COMMIT -> P1",
            write + 2
        )
    };
    let differ = |level: &str, one: (u32, u32), other: (u32, u32)| {
        let [one, other] = [one, other].map(|(write, sum)| with_positions(&text(level, write, sum)));
        let counts = run(&one, &other).answers.counts;
        (counts.reordered, counts.mismatch)
    };
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        assert_eq!(differ(level, (10, 2), (40, 1)), (1, 0), "{level}: the write came first in one run only");
        assert_eq!(differ(level, (40, 1), (40, 2)), (0, 1), "{level}: it came too late in both");
    }
    assert_eq!(differ("READ COMMITTED", (10, 2), (40, 1)), (0, 1));
}

#[test]
fn a_state_that_a_transaction_keeps_is_as_stale_as_its_first_read() {
    let text = |level: &str| {
        format!(
            "{}
            1 22..23 BEGIN ISOLATION LEVEL {level} READ ONLY -> S1
            1 24..26 SELECT n FROM stock -> S1 | sum=1 rows=1
            2 30..32 UPDATE stock SET n = 2 -> P2 | affected=1
            1 60..62 SELECT n FROM stock -> S1 | sum=1 rows=1
            1 64..66 COMMIT -> S1",
            paused(200)
        )
    };
    assert_eq!(alone(&text("READ COMMITTED")).candidate.stale_reads.len(), 1);
    let kept = alone(&text("REPEATABLE READ")).candidate;
    assert!(kept.stale_reads.is_empty() && kept.unknowns.staleness.is_empty(), "{:?}", kept.stale_reads);
}

#[test]
fn nondeterministic_answers_are_named_with_the_reason() {
    let text = |sum: u32| {
        format!(
            "1 10..12 SELECT now() -> S1 | sum={sum} rows=1
             1 14..16 INSERT INTO orders (total) VALUES (5) RETURNING id -> P1 | sum={sum} rows=1 affected=1
             1 40..42 SELECT id, total FROM orders ORDER BY id -> P1 | sum={sum} rows=1
             1 50..52 SELECT n FROM stock LIMIT 1 -> P1 | sum={sum} rows=1"
        )
    };
    let found = run(&with_positions(&text(1)), &with_positions(&text(2)));
    assert_eq!(found.answers.counts.nondeterministic, 4, "{:?}", found.answers);
    let whys: Vec<&str> = found.answers.nondeterministic.iter().map(|shape| shape.why.as_str()).collect();
    assert_eq!(whys.len(), 3, "the read of orders is not itself nondeterministic: {whys:?}");
    assert!(whys.iter().any(|why| why.contains("clock")), "{whys:?}");
}

#[test]
fn no_default_is_taken_where_a_value_is_given_or_the_insert_fails() {
    let text = |sum: u32| {
        with_positions(&format!(
            "1 10..12 INSERT INTO orders (id, total) VALUES (7, 5) -> P1 | affected=1
             1 14..16 INSERT INTO orders (total) VALUES (-1) -> P1 | error=23514
             1 40..42 SELECT id, total FROM orders ORDER BY id -> P1 | sum={sum} rows=1"
        ))
    };
    let counts = run(&text(1), &text(2)).answers.counts;
    assert_eq!((counts.mismatch, counts.nondeterministic), (1, 0), "{counts:?}");
}

#[test]
fn the_recording_can_be_the_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let (recording, candidate) = (dir.path().join("recording"), dir.path().join("run"));
    scenario(CLEAN).write_recording(&recording);
    scenario(&with_positions(CLEAN)).write(&candidate);
    let found = compare(&options(recording, candidate)).unwrap();
    assert!(!found.baseline.run.has_evidence);
    assert!(found.baseline.grid.cells.is_empty());
    assert!(!found.metrics.contains_key("write_leakage_baseline"));
    assert_eq!(found.answers.counts.equal, 7);
}

#[test]
fn runs_of_different_recordings_are_refused() {
    let (one, other) = (scenario("1 10..12 SELECT 1 -> S1"), scenario("9 10..12 SELECT 1 -> S1"));
    let error = compared(&one, &other).unwrap_err();
    assert!(matches!(error, Error::Unrelated { .. }), "{error}");
}

#[test]
fn what_is_not_decided_is_listed() {
    let text = "
        1 10..14 SELECT 1 -> P1
        2 10..14 SELECT 1 -> S1
        3 20..22 SELECT nothing_known(1)
        3 30..32 SELEC 1 -> P3 | error=42601";
    let found = alone(&with_positions(text));
    let unknowns = &found.candidate.unknowns;
    assert_eq!(unknowns.ambiguous[0].requests, 2);
    assert_eq!(unknowns.unseen[0].requests, 1);
    assert_eq!(unknowns.parse_errors.len(), 1);
    assert_eq!(unknowns.functions.values().sum::<u64>(), 1, "{:?}", unknowns.functions);
    assert_eq!(metric(&found, "unattributed_share"), 0.75);
}
