//! Runs of MySQL and MariaDB: what differs from PostgreSQL in attribution, sessions and staleness. Positions are the
//! sequence numbers of GTIDs.

use splitproof_analyze::comparison::{Comparison, Destination, Writer};

use crate::scenario::{compared, mysql};

/// Position samples of a pair whose replica applies everything at once up to `stops_ms`, and nothing after.
fn positions(stops_ms: u32) -> String {
    let sample = |n: u32| {
        let (at, sequence) = (n * 2, n * 20);
        format!("@{at} P lsn={sequence}\n@{at} S replay={}\n", sequence.min(stops_ms * 10))
    };
    (0..100).map(sample).collect()
}

fn run(baseline: &str, candidate: &str) -> Comparison {
    compared(&mysql(baseline), &mysql(candidate)).unwrap()
}

fn alone(text: &str) -> Comparison {
    let text = format!("{}{text}", positions(200));
    run(&text, &text)
}

const CLEAN: &str = "
    1 10..12 SET sort_buffer_size = 300000 -> P1 S1
    1 20..22 SELECT n FROM stock WHERE id = 1 -> S1 | sum=1 rows=1
    1 30..32 BEGIN -> P1
    1 34..36 UPDATE stock SET n = 2 WHERE id = 1 -> P1 | affected=1
    1 38..40 SELECT n FROM stock WHERE id = 1 -> P1 | sum=2 rows=1
    1 42..44 COMMIT -> P1
    1 50..52 SHOW WARNINGS -> P1 | sum=3 rows=0
    1 60..62 SELECT n FROM stock WHERE id = ? -> S1 | sum=2 rows=1 with=1";

#[test]
fn a_clean_run_has_no_finding() {
    let found = alone(CLEAN);
    let new = &found.candidate;
    assert!(new.write_leakage.is_empty(), "{:?}", new.write_leakage);
    assert!(new.accidental_primary_reads.is_empty(), "{:?}", new.accidental_primary_reads);
    assert!(new.split_transactions.is_empty(), "{:?}", new.split_transactions);
    assert!(new.session_state_missed.is_empty(), "{:?}", new.session_state_missed);
    assert!(new.duplicated_writes.is_empty() && new.router_made.is_empty());
    assert!(new.stale_reads.is_empty(), "{:?}", new.stale_reads);
    assert!(new.unknowns.is_empty(), "{:?}", new.unknowns);
    assert_eq!((new.run.attributed.attributed, new.run.attributed.total()), (8, 8));
    assert_eq!(new.grid.count("replica", Destination::Replica), 2);
    assert_eq!(new.run.transactions, 1);
    assert_eq!(found.answers.counts.equal, 8);
}

#[test]
fn a_write_on_a_read_only_server_is_leakage() {
    let leaking = CLEAN.replace("-> P1 | affected=1", "-> S1 | error=1290");
    let found = alone(&leaking);
    let leak = &found.candidate.write_leakage[..];
    assert_eq!((leak.len(), leak[0].refused), (1, 1));
    assert_eq!(leak[0].errors, [("1290".to_string(), 1)]);
}

/// Without autocommit every statement stands in a transaction, and none says BEGIN.
#[test]
fn a_transaction_without_begin_is_split_too() {
    let text = "
        1 10..12 SET autocommit = 0 -> P1 S1
        1 20..22 UPDATE stock SET n = 2 WHERE id = 1 -> P1 | affected=1 tx=open
        1 30..32 SELECT n FROM stock WHERE id = 1 -> S1 | tx=open
        1 40..42 COMMIT -> P1 | tx=idle";
    let found = alone(text);
    assert_eq!(found.candidate.split_transactions.len(), 1);
    let whole = alone(&text.replace("-> S1 | tx=open", "-> P1 | tx=open"));
    assert!(whole.candidate.split_transactions.is_empty(), "{:?}", whole.candidate.split_transactions);
    assert_eq!(whole.candidate.run.transactions, 1);
}

/// BEGIN inside a transaction commits it: two transactions, each on one node.
#[test]
fn begin_ends_the_transaction_before() {
    let found = alone(
        "1 10..12 BEGIN -> P1
         1 20..22 UPDATE stock SET n = 2 WHERE id = 1 -> P1 | affected=1
         1 30..32 START TRANSACTION READ ONLY -> S1
         1 40..42 SELECT n FROM stock WHERE id = 1 -> S1
         1 50..52 COMMIT -> S1",
    );
    assert!(found.candidate.split_transactions.is_empty(), "{:?}", found.candidate.split_transactions);
    assert_eq!(found.candidate.run.transactions, 2);
}

#[test]
fn a_last_insert_id_asked_of_a_replica_is_missed_state() {
    let text = "
        1 10..12 INSERT INTO sales (n) VALUES (1) -> P1 | affected=1
        1 20..22 SELECT LAST_INSERT_ID() -> P1 | sum=1 rows=1";
    assert!(alone(text).candidate.session_state_missed.is_empty());
    let lost = alone(&text.replace("-> P1 | sum=1", "-> S1 | sum=1"));
    assert_eq!(lost.candidate.session_state_missed.len(), 1);
}

/// A variable set on one server is missed only by what reads it on another.
#[test]
fn a_user_variable_is_missed_by_what_reads_it() {
    let text = "
        1 10..12 SET @a = 1 -> P1
        1 20..22 SELECT n FROM stock WHERE id = 2 -> S1";
    assert!(alone(text).candidate.session_state_missed.is_empty());
    let lost = alone(&format!("{text}\n1 30..32 SELECT n FROM stock WHERE id = @a -> S1"));
    assert_eq!(lost.candidate.session_state_missed.len(), 1);
}

/// What a query left on the replica is not on the primary.
#[test]
fn what_was_left_on_a_replica_is_asked_for_there() {
    let text = "
        1 10..12 SELECT n INTO @n FROM stock WHERE id = 1 -> S1
        1 20..22 SELECT @n -> S1
        1 30..32 SHOW WARNINGS -> S1";
    assert!(alone(text).candidate.session_state_missed.is_empty());
    for at in ["SELECT @n -> ", "SHOW WARNINGS -> "] {
        let lost = alone(&text.replace(&format!("{at}S1"), &format!("{at}P1"))).candidate.session_state_missed;
        assert_eq!(lost.len(), if at.starts_with("SELECT") { 2 } else { 1 }, "{at}: {lost:?}");
    }
}

#[test]
fn staleness_is_judged_by_sequence_numbers() {
    let text = "
        1 30..32 UPDATE stock SET n = 2 WHERE id = 1 -> P1 | affected=1
        1 60..62 SELECT n FROM stock WHERE id = 1 -> S1";
    let fresh = format!("{}{text}", positions(200));
    assert!(run(&fresh, &fresh).candidate.stale_reads.is_empty());
    let paused = format!("{}{text}", positions(20));
    let found = run(&fresh, &paused).candidate;
    assert_eq!(found.stale_reads.len(), 1, "{:?}", found.stale_reads);
    assert_eq!(found.stale_reads[0].writer, Writer::Own);
    // Without positions nothing is known.
    let found = run(text, text);
    assert_eq!((found.candidate.stale_reads.len(), found.candidate.unknowns.is_empty()), (0, false));
}

/// REPEATABLE READ, the default: what a transaction reads is the state that it found at its first read. (MySQL manual, "Consistent
/// Nonlocking Reads".)
#[test]
fn a_transaction_shows_the_state_at_its_first_read() {
    let text = |before: &str, write: u32, sum: u32| {
        format!(
            "{}{before}
            2 {write}..{} UPDATE stock SET n = 2 -> P2 | affected=1
            1 30..32 BEGIN -> P1
            1 34..36 SELECT total FROM orders -> P1 | sum=7 rows=1
            1 50..52 SELECT n FROM stock -> P1 | sum={sum} rows=1
            1 54..56 COMMIT -> P1",
            positions(200),
            write + 2
        )
    };
    let differ = |before: &str, one: (u32, u32), other: (u32, u32)| {
        let counts = run(&text(before, one.0, one.1), &text(before, other.0, other.1)).answers.counts;
        (counts.reordered, counts.mismatch)
    };
    assert_eq!(differ("", (10, 2), (40, 1)), (1, 0), "the write came first in one run only");
    assert_eq!(differ("", (10, 2), (10, 1)), (0, 1), "it came first in both");
    assert_eq!(differ("", (40, 1), (40, 2)), (0, 1), "it came too late in both");
    let committed = "1 5..7 SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED -> P1 S1";
    assert_eq!(differ(committed, (10, 2), (40, 1)), (0, 1), "each read shows the newest state");
    // It locks what it reads, and so reads the newest state as well.
    let serializable = "1 5..7 SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE -> P1 S1";
    assert_eq!(differ(serializable, (10, 2), (40, 1)), (0, 1));
}

/// A transaction's own changes stand on the newest rows, which others may have written since its state was taken.
#[test]
fn own_changes_show_what_others_wrote_in_between() {
    let text = |write: u32, sum: u32| {
        format!(
            "{}
            2 {write}..{} UPDATE stock SET n = n * 2 -> P2 | affected=1
            1 30..32 BEGIN -> P1
            1 34..36 SELECT n FROM stock -> P1 | sum=1 rows=1
            1 50..52 UPDATE stock SET n = n + 1 -> P1 | affected=1
            1 54..56 SELECT n FROM stock -> P1 | sum={sum} rows=1
            1 58..60 COMMIT -> P1",
            positions(200),
            write + 2
        )
    };
    let counts = run(&text(40, 3), &text(70, 2)).answers.counts;
    assert_eq!((counts.reordered, counts.mismatch), (1, 0));
    let counts = run(&text(70, 3), &text(70, 2)).answers.counts;
    assert_eq!((counts.reordered, counts.mismatch), (0, 1));
}

/// A temporary table on a replica holds what no replication brings.
#[test]
fn what_is_in_a_temporary_table_is_not_stale() {
    let paused = format!(
        "{}
        1 30..32 CREATE TEMPORARY TABLE mine (a INT) -> S1
        1 40..42 INSERT INTO mine VALUES (1) -> S1 | affected=1
        1 50..52 SELECT a FROM mine -> S1 | sum=1 rows=1",
        positions(20)
    );
    let found = run(&paused, &paused).candidate;
    assert!(found.stale_reads.is_empty() && found.write_leakage.is_empty(), "{:?}", found.stale_reads);
    assert!(found.session_state_missed.is_empty(), "{:?}", found.session_state_missed);
}

/// Routers prepare texts, drop semicolons and check connections by themselves.
#[test]
fn what_a_router_changes_on_the_way_is_recognised() {
    let text = "
        1 10..12 SELECT n FROM stock WHERE id = 1; -> S1
        P1 20..21 ping | kind=ping
        P1 22..23 reset | kind=reset
        P1 24..25 SET NAMES utf8mb4";
    let mut run = mysql(&format!("{}{text}", positions(200)));
    for row in &mut run.nodes[1] {
        row.sql = Some("SELECT n FROM stock WHERE id = 1".into());
        (row.kind, row.messages) = (splitproof_capture::trace::Kind::Execute, "17".into());
    }
    let found = compared(&run, &run).unwrap().candidate;
    assert_eq!((found.run.attributed.attributed, found.run.attributed.total()), (1, 1));
    assert_eq!(found.router_made.len(), 1);
    assert!(!found.router_made[0].writes);
}

fn by_logs(text: &str) -> Comparison {
    let logged = || mysql(&format!("{}{text}", positions(200))).by_logs();
    compared(&logged(), &logged()).unwrap()
}

/// A log tells when a statement came and which values it had: no end, no answer, no parameters.
#[test]
fn logs_tell_where_statements_ran() {
    let clean = by_logs(CLEAN).candidate;
    assert_eq!((clean.run.attributed.attributed, clean.run.attributed.total()), (8, 8));
    assert!(clean.router_made.is_empty() && clean.unknowns.is_empty(), "{:?}", clean.unknowns);
    let values = by_logs(
        "
        1 10..14 SELECT n FROM stock WHERE id = ?; -> P1 | with=1
        2 10..14 SELECT n FROM stock WHERE id = ? -> S2 | with=2
        3 10..14 SELECT n FROM stock WHERE id = '3' -> S3",
    );
    let new = values.candidate;
    assert_eq!((new.run.attributed.attributed, new.run.attributed.total()), (3, 3));
    assert_eq!(new.grid.count("replica", Destination::Primary), 1);
    assert_eq!(new.grid.count("replica", Destination::Replica), 2);
    // How long the primary took is not in its log.
    assert_eq!((new.accidental_primary_reads[0].primary_ms, new.accidental_primary_reads[0].share), (None, None));
    assert!(!values.metrics.contains_key("accidental_primary_read_ms"), "{:?}", values.metrics);
    assert_eq!(values.metrics["accidental_primary_reads"], 1.0);
}

/// Equal statements of two sessions, told apart by what the sessions did before.
#[test]
fn links_tell_equal_statements_apart_without_durations() {
    let found = by_logs(
        "
        1 10..12 SELECT 'one' -> S1
        2 10..12 SELECT 'two' -> P2
        1 20..24 SELECT n FROM stock -> S1
        2 20..24 SELECT n FROM stock -> P2",
    );
    let new = found.candidate;
    assert_eq!((new.run.attributed.attributed, new.run.attributed.ambiguous), (4, 0));
}
