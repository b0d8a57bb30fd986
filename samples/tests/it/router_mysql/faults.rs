//! What each fault of the sample router does to a real MariaDB pair, and that only it does so.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};
use splitproof_samples::router::{Engine, Fault};

use super::{Pair, ask, connect, first, pair};
use crate::router::astray::{Astray, assert_all_tested, assert_astray, both, loud, silent};
use crate::router::{Running, parsed, wait};

const ASTRAY: &[Astray] = &[
    refused(Fault::ForUpdateToReplica, "SELECT name FROM users WHERE id = 1 FOR UPDATE"),
    // MariaDB's replica lets a shared lock be taken, though it excludes nobody there.
    silent(Fault::ForShareToReplica, &[], "SELECT name FROM users WHERE id = 1 LOCK IN SHARE MODE", "replica"),
    refused(Fault::VolatileFunctionToReplica, "SELECT audit_login(1)"),
    refused(Fault::NextvalToReplica, "SELECT NEXTVAL(user_id_seq)"),
    refused(Fault::CallToReplica, "CALL rebuild()"),
    refused(Fault::ReturningToReplica, "INSERT INTO audit (user_id) VALUES (1) RETURNING id"),
    refused(Fault::MultiStatementByFirstWord, "SELECT 1; UPDATE users SET credit = credit WHERE id = 1"),
    silent(Fault::LeadingCommentToPrimary, &[], "/* web */ SELECT COUNT(*) FROM users", "primary"),
    silent(Fault::AllToPrimary, &[], "SELECT COUNT(*) FROM users", "primary"),
    silent(
        Fault::StickyForever,
        &["UPDATE users SET credit = 0 WHERE id = 1"],
        "SELECT COUNT(*) FROM users",
        "primary",
    ),
    silent(
        Fault::SplitTransaction,
        &["BEGIN", "UPDATE users SET credit = 0 WHERE id = 1"],
        "SELECT COUNT(*) FROM users",
        "replica",
    ),
    silent(Fault::BeginOnReplicaByFirstSelect, &["BEGIN"], "SELECT COUNT(*) FROM users", "replica"),
    silent(Fault::AutocommitOffIgnored, &["SET autocommit = 0"], "SELECT COUNT(*) FROM users", "replica"),
    silent(Fault::SavepointElsewhere, &["BEGIN", "UPDATE users SET credit = 0 WHERE id = 1"], "SAVEPOINT s", "replica"),
    loud(Fault::TempTableReadOnReplica, &["CREATE TEMPORARY TABLE basket (a INT)"], "SELECT a FROM basket", "1146"),
    silent(
        Fault::LastInsertIdElsewhere,
        &["INSERT INTO audit (user_id) VALUES (1)"],
        "SELECT LAST_INSERT_ID()",
        "replica",
    ),
    silent(
        Fault::FoundRowsElsewhere,
        &["SELECT SQL_CALC_FOUND_ROWS id FROM users LIMIT 1"],
        "SELECT FOUND_ROWS()",
        "primary",
    ),
    silent(Fault::AdvisoryLockElsewhere, &[], "SELECT GET_LOCK('a', 1)", "replica"),
];

/// One that the read-only replica refuses.
const fn refused(fault: Fault, sql: &'static str) -> Astray {
    loud(fault, &[], sql, "1290")
}

/// The faults that have tests of their own below.
const TOLD_APART: &[Fault] = &[
    Fault::SessionSetOnOneNode,
    Fault::UserVariableLost,
    Fault::PreparedIgnoresText,
    Fault::StaleReadAfterWrite,
    Fault::ReturningKeepsGtid,
    Fault::DuplicateCommit,
    Fault::WriteOnEveryNode,
    Fault::RowsDropped,
    Fault::ReplicaDownFallsBackUnbounded,
    Fault::LaggingReplicaStillUsed,
];

#[test]
fn every_fault_of_mysql_is_tested() {
    assert_all_tested(Engine::Mysql, ASTRAY, TOLD_APART);
}

#[test]
fn a_statement_goes_astray_and_only_with_its_fault() {
    let pair = pair();
    assert_astray(ASTRAY, |faults| pair.router(&parsed(""), faults), |router, astray| wait(go(router, astray)));
}

async fn go(router: &Running, astray: &Astray) -> Option<String> {
    let mut client = connect(router).await;
    for sql in astray.before {
        ask(&mut client, sql).await.unwrap();
    }
    match client.query_drop(astray.sql).await {
        Ok(()) => None,
        Err(mysql_async::Error::Server(error)) => Some(error.code.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// What a client reads without a fault and with it.
fn told_apart(pair: &Pair, fault: Fault, script: impl AsyncFn(&mut Conn) -> Option<String>) -> [Option<String>; 2] {
    [vec![], vec![fault.name()]].map(|faults| {
        let router = pair.router(&parsed(""), &faults);
        wait(async { script(&mut connect(&router).await).await })
    })
}

#[test]
fn state_misses_a_server() {
    let pair = pair();
    let answers = told_apart(&pair, Fault::SessionSetOnOneNode, async |client| {
        ask(client, "SET SESSION group_concat_max_len = 4711").await.unwrap();
        ask(client, "SELECT @@group_concat_max_len = 4711 FROM users LIMIT 1").await.unwrap()
    });
    assert_eq!(answers, both("1", "0"));
    let answers = told_apart(&pair, Fault::UserVariableLost, async |client| {
        ask(client, "SET @a = 5").await.unwrap();
        ask(client, "SELECT COALESCE(@a, 0) FROM users LIMIT 1").await.unwrap()
    });
    assert_eq!(answers, both("5", "0"));
}

#[test]
fn a_prepared_write_runs_on_the_replica() {
    let answers = told_apart(&pair(), Fault::PreparedIgnoresText, async |client| {
        let row: Result<Option<Row>, _> = client.exec_first("UPDATE users SET credit = 0 WHERE id = ?", (3,)).await;
        Some(first(row).map_or_else(|code| code.to_string(), |_| "done".to_owned()))
    });
    assert_eq!(answers, both("done", "1290"));
}

#[test]
fn reads_answer_from_the_past() {
    let pair = pair();
    for (fault, write) in [
        (Fault::StaleReadAfterWrite, "UPDATE users SET name = 'new' WHERE id = 21"),
        (Fault::ReturningKeepsGtid, "REPLACE INTO users (id, name) VALUES (21, 'new') RETURNING id"),
        (Fault::LaggingReplicaStillUsed, "UPDATE users SET name = 'new' WHERE id = 21"),
    ] {
        for (faults, expected) in [(vec![], "new"), (vec![fault.name()], "old")] {
            pair.sandbox.primary().sql("shop", "UPDATE users SET name = 'old' WHERE id = 21").unwrap();
            let router = pair.router(&parsed("causal_timeout_ms: 200"), &faults);
            wait(async {
                let mut client = connect(&router).await;
                // A position is known before the write.
                ask(&mut client, "SELECT 1").await.unwrap();
                pair.sandbox.pause_replay().unwrap();
                ask(&mut client, write).await.unwrap();
                let answer = ask(&mut client, "SELECT name FROM users WHERE id = 21").await;
                pair.sandbox.resume_replay().unwrap();
                assert_eq!(answer, Ok(Some(expected.to_owned())), "{fault} {faults:?}");
            });
        }
    }
}

#[test]
fn a_committed_transaction_is_run_again() {
    let answers = told_apart(&pair(), Fault::DuplicateCommit, async |client| {
        ask(client, "UPDATE users SET credit = 0 WHERE id = 31").await.unwrap();
        ask(client, "BEGIN").await.unwrap();
        client.exec_drop("UPDATE users SET credit = credit + ? WHERE id = 31", (5,)).await.unwrap();
        ask(client, "COMMIT").await.unwrap();
        ask(client, "SELECT credit FROM users WHERE id = 31").await.unwrap()
    });
    assert_eq!(answers, both("5", "10"));
}

#[test]
fn rows_are_lost_and_writes_are_tried_everywhere() {
    let pair = pair();
    let answers = told_apart(&pair, Fault::RowsDropped, async |client| {
        let rows: Vec<i32> = client.query("SELECT id FROM users WHERE id <= 3 ORDER BY id").await.unwrap();
        let bound: Vec<i32> = client.exec("SELECT id FROM users WHERE id <= ? ORDER BY id", (3,)).await.unwrap();
        Some(format!("{rows:?} {bound:?}"))
    });
    assert_eq!(answers, both("[1, 2, 3] [1, 2, 3]", "[1, 3] [1, 3]"));
    let router = pair.router(&parsed(""), &[Fault::WriteOnEveryNode.name()]);
    let sql = "UPDATE users SET credit = credit WHERE id = 1";
    wait(async { ask(&mut connect(&router).await, sql).await.unwrap() });
    assert_eq!(router.destinations(sql), ["primary", "replica"]);
}

#[test]
fn a_replica_that_failed_once_is_never_used_again() {
    let pair = pair();
    for (faults, on_primary) in [(vec![], 0), (vec![Fault::ReplicaDownFallsBackUnbounded.name()], 20)] {
        let router = pair.router(&parsed("retry_replica_ms: 0"), &faults);
        wait(async {
            let mut client = connect(&router).await;
            for _ in 0..40 {
                ask(&mut client, "SELECT COUNT(*) FROM users").await.unwrap();
            }
        });
        let there = router.decisions().into_iter().filter(|entry| entry.sql.contains("users"));
        let there = there.filter(|entry| entry.destinations == ["primary"]).count();
        assert!(there.abs_diff(on_primary) <= 2, "{there}");
    }
}
