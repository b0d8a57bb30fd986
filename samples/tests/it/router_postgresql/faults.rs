//! Each fault does what it says, on PostgreSQL; and the same statements are right without it.

use std::time::Duration;

use splitproof_samples::router::{Engine, Fault};
use splitproof_samples::shop::client::Client;

use super::{Pair, ask, connect, pair};
use crate::router::astray::{Astray, assert_all_tested, assert_astray, both, loud, silent};
use crate::router::{Running, parsed, wait};

const ASTRAY: &[Astray] = &[
    refused(Fault::ForUpdateToReplica, "SELECT name FROM users WHERE id = 1 FOR UPDATE"),
    refused(Fault::ForShareToReplica, "SELECT name FROM users WHERE id = 1 FOR SHARE"),
    refused(Fault::CteWriteToReplica, "WITH d AS (DELETE FROM audit WHERE id < 0 RETURNING id) SELECT count(*) FROM d"),
    refused(Fault::VolatileFunctionToReplica, "SELECT audit_login(1)"),
    refused(Fault::NextvalToReplica, "SELECT nextval('user_id_seq')"),
    refused(Fault::CallToReplica, "CALL rebuild_summary()"),
    refused(Fault::ReturningToReplica, "UPDATE stock SET quantity = quantity WHERE sku = 1 RETURNING sku"),
    refused(Fault::MultiStatementByFirstWord, "SELECT 1; UPDATE stock SET quantity = quantity WHERE sku = 1"),
    silent(Fault::LeadingCommentToPrimary, &[], "/* web */ SELECT count(*) FROM stock", "primary"),
    silent(Fault::AllToPrimary, &[], "SELECT count(*) FROM users", "primary"),
    silent(
        Fault::StickyForever,
        &["UPDATE stock SET quantity = quantity WHERE sku = 1", "SELECT 1"],
        "SELECT count(*) FROM users",
        "primary",
    ),
    silent(
        Fault::SplitTransaction,
        &["BEGIN", "UPDATE stock SET quantity = quantity WHERE sku = 1"],
        "SELECT count(*) FROM stock",
        "replica",
    ),
    silent(Fault::BeginOnReplicaByFirstSelect, &["BEGIN"], "SELECT count(*) FROM stock", "replica"),
    loud(Fault::SavepointElsewhere, &["BEGIN"], "SAVEPOINT s", "25P01"),
    loud(Fault::TempTableReadOnReplica, &["CREATE TEMP TABLE basket (sku int)"], "SELECT sku FROM basket", "42P01"),
    loud(Fault::LastInsertIdElsewhere, &["SELECT nextval('user_id_seq')"], "SELECT lastval()", "55000"),
    silent(Fault::AdvisoryLockElsewhere, &[], "SELECT pg_advisory_lock(4711)", "replica"),
];

/// One that the standby refuses because it writes or locks.
const fn refused(fault: Fault, sql: &'static str) -> Astray {
    loud(fault, &[], sql, "25006")
}

/// The faults that have tests of their own below.
const TOLD_APART: &[Fault] = &[
    Fault::SessionSetOnOneNode,
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
fn every_fault_of_postgresql_is_tested() {
    assert_all_tested(Engine::Postgresql, ASTRAY, TOLD_APART);
}

#[test]
fn a_statement_goes_astray_and_only_with_its_fault() {
    let pair = pair();
    assert_astray(ASTRAY, |faults| pair.router(&parsed(""), faults), |router, astray| wait(go(router, astray)));
}

async fn go(router: &Running, astray: &Astray) -> Option<String> {
    let mut client = connect(router).await;
    for sql in astray.before {
        ask(&mut client, sql).await;
    }
    client.query(astray.sql).await.unwrap().error.map(|(code, _)| code)
}

/// What a client reads without a fault and with it.
fn told_apart(pair: &Pair, fault: Fault, script: impl AsyncFn(&mut Client) -> Option<String>) -> [Option<String>; 2] {
    [vec![], vec![fault.name()]].map(|faults| {
        let router = pair.router(&parsed(""), &faults);
        wait(async { script(&mut connect(&router).await).await })
    })
}

#[test]
fn session_state_misses_a_server() {
    let answers = told_apart(&pair(), Fault::SessionSetOnOneNode, async |client| {
        ask(client, "SET work_mem = '7MB'").await;
        ask(client, "SELECT current_setting('work_mem') FROM users LIMIT 1").await.first
    });
    assert_eq!(answers, both("7MB", "4MB"));
}

#[test]
fn a_prepared_write_runs_on_the_replica() {
    let answers = told_apart(&pair(), Fault::PreparedIgnoresText, async |client| {
        client.parse("", "UPDATE stock SET quantity = quantity WHERE sku = $1", &[]).unwrap();
        client.bind("", "", &[Some("1")]).unwrap().execute("", 0).unwrap();
        let answer = client.sync().await.unwrap();
        // As a text it goes where it belongs.
        ask(client, "UPDATE stock SET quantity = quantity WHERE sku = 1").await;
        Some(answer.error.map_or_else(|| "done".to_owned(), |(code, _)| code))
    });
    assert_eq!(answers, both("done", "25006"));
}

#[test]
fn reads_answer_from_the_past() {
    let pair = pair();
    let primary = pair.sandbox.primary();
    primary.sql("shop", "UPDATE sessions SET basket = '' WHERE token IN ('token-21', 'token-22')").unwrap();
    for (fault, write, changes) in [
        (
            Fault::StaleReadAfterWrite,
            "UPDATE sessions SET basket = 'new' WHERE token = 'token-21'",
            "causal_timeout_ms: 200",
        ),
        (
            Fault::ReturningKeepsGtid,
            "UPDATE sessions SET basket = 'new' WHERE token = 'token-21' RETURNING token",
            "causal_timeout_ms: 200",
        ),
        (
            Fault::LaggingReplicaStillUsed,
            "UPDATE sessions SET basket = 'new' WHERE token = 'token-21'",
            "causal_timeout_ms: 200\nmax_replica_lag_ms: 100",
        ),
    ] {
        let read = "SELECT basket FROM sessions WHERE token = 'token-21'";
        for (faults, expected) in [(vec![], "new"), (vec![fault.name()], "")] {
            primary.sql("shop", "UPDATE sessions SET basket = '' WHERE token = 'token-21'").unwrap();
            let router = pair.router(&parsed(changes), &faults);
            wait(async {
                let mut client = connect(&router).await;
                // A position is known before the write.
                ask(&mut client, "SELECT 1").await;
                pair.sandbox.pause_replay().unwrap();
                ask(&mut client, write).await;
                tokio::time::sleep(Duration::from_millis(300)).await;
                let answer = ask(&mut client, read).await;
                pair.sandbox.resume_replay().unwrap();
                assert_eq!(answer.first.as_deref(), Some(expected), "{fault} {faults:?}");
            });
        }
    }
}

#[test]
fn a_write_without_returning_advances_the_position_even_so() {
    let pair = pair();
    let router = pair.router(&parsed("causal_timeout_ms: 200"), &[Fault::ReturningKeepsGtid.name()]);
    wait(async {
        let mut client = connect(&router).await;
        ask(&mut client, "SELECT 1").await;
        pair.sandbox.pause_replay().unwrap();
        ask(&mut client, "UPDATE sessions SET basket = 'plain' WHERE token = 'token-23'").await;
        let answer = ask(&mut client, "SELECT basket FROM sessions WHERE token = 'token-23'").await;
        pair.sandbox.resume_replay().unwrap();
        assert_eq!(answer.first.as_deref(), Some("plain"));
    });
}

#[test]
fn a_committed_transaction_is_run_again() {
    let answers = told_apart(&pair(), Fault::DuplicateCommit, async |client| {
        ask(client, "UPDATE users SET credit = 0 WHERE id = 31").await;
        ask(client, "BEGIN").await;
        client.parse("", "UPDATE users SET credit = credit + $1 WHERE id = 31", &[]).unwrap();
        client.bind("", "", &[Some("5")]).unwrap().execute("", 0).unwrap();
        assert_eq!(client.sync().await.unwrap().error, None);
        ask(client, "COMMIT").await;
        ask(client, "SELECT credit::int FROM users WHERE id = 31").await.first
    });
    assert_eq!(answers, both("5", "10"));
}

#[test]
fn a_transaction_that_rolls_back_or_only_reads_is_not_run_again() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[Fault::DuplicateCommit.name()]);
    wait(async {
        let mut client = connect(&router).await;
        ask(&mut client, "UPDATE users SET credit = 0 WHERE id = 32").await;
        for sql in ["BEGIN", "UPDATE users SET credit = credit + 5 WHERE id = 32", "ROLLBACK"] {
            ask(&mut client, sql).await;
        }
        let credit = ask(&mut client, "SELECT credit::int FROM users WHERE id = 32").await.first;
        assert_eq!(credit.as_deref(), Some("0"));
    });
}

#[test]
fn a_write_is_tried_on_every_server() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[Fault::WriteOnEveryNode.name()]);
    let sql = "UPDATE stock SET quantity = quantity WHERE sku = 199";
    wait(async { ask(&mut connect(&router).await, sql).await });
    assert_eq!(router.destinations(sql), ["primary", "replica"]);
    let log = std::fs::read_to_string(pair.sandbox.replica().log()).unwrap();
    assert!(log.contains(&format!("STATEMENT:  {sql}")), "the standby refused it");
}

#[test]
fn a_row_is_lost() {
    let answers = told_apart(&pair(), Fault::RowsDropped, async |client| {
        let several = ask(client, "SELECT sku FROM stock WHERE sku <= 3 ORDER BY sku").await.rows;
        let one = ask(client, "SELECT sku FROM stock WHERE sku = 3").await.rows;
        Some(format!("{several} {one}"))
    });
    assert_eq!(answers, both("3 1", "2 1"));
}

#[test]
fn a_replica_that_failed_once_is_never_used_again() {
    let pair = pair();
    for (faults, on_primary) in [(vec![], 0), (vec![Fault::ReplicaDownFallsBackUnbounded.name()], 20)] {
        let router = pair.router(&parsed("retry_replica_ms: 0"), &faults);
        wait(async {
            let mut client = connect(&router).await;
            for _ in 0..40 {
                ask(&mut client, "SELECT 1").await;
            }
        });
        let decisions = router.decisions();
        assert_eq!(decisions.iter().filter(|entry| entry.destinations == ["primary"]).count(), on_primary);
    }
}
