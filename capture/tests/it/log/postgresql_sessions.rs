//! Sessions of a PostgreSQL log.

use splitproof_capture::trace::{Kind, Loss, Outcome};

use super::scene::{Log, stderr};

const RECEIVED: &str = "LOG:  connection received: host=10.0.0.1 port=5000";
const AUTHORIZED: &str = "LOG:  connection authorized: user=app database=shop application_name=web";
const GONE: &str = "LOG:  disconnection: session time: 0:00:01.000 user=app database=shop host=10.0.0.1 port=5000";

#[test]
fn connections_and_disconnections_are_rows() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", RECEIVED),
            (10_010, "aaaa.1", "LOG:  connection authenticated: identity=\"app\" method=md5"),
            (10_020, "aaaa.1", AUTHORIZED),
            (10_500, "aaaa.1", "LOG:  duration: 1.000 ms  statement: SELECT 1"),
            (11_000, "aaaa.1", GONE),
        ]),
    );
    assert_eq!(log.lines(), ["0.0 connect  20000 us ok", "0.1 query Q \"SELECT 1\" 1000 us ok", "0.2 disconnect X ok"]);
    let row = &log.rows[0];
    assert_eq!(row.user.as_deref(), Some("app"));
    assert_eq!(row.database.as_deref(), Some("shop"));
    assert_eq!(row.application.as_deref(), Some("web"));
    assert_eq!(row.client.as_deref(), Some("10.0.0.1:5000"));
    assert!(log.rows.iter().all(|row| !row.joined_midway));
    assert_eq!((log.losses(), log.ended.statistics.joined), (vec![], 2));
    assert_eq!(log.ended.statistics.made_up, 0);
}

#[test]
fn a_connection_that_never_becomes_a_session_is_counted() {
    let log = Log::read("postgresql-stderr", stderr(&[(10_000, "aaaa.1", RECEIVED), (10_001, "bbbb.2", RECEIVED)]));
    assert_eq!((log.rows.len(), log.losses()), (0, vec![(Loss::LogConnection, 2)]));
}

#[test]
fn a_session_that_is_refused_is_a_connection_that_failed() {
    for authorized in [false, true] {
        let mut lines = vec![(10_000, "aaaa.1", RECEIVED)];
        lines.extend(authorized.then_some((10_001, "aaaa.1", AUTHORIZED)));
        lines.push((10_002, "aaaa.1", "FATAL:  28P01: password authentication failed for user \"app\""));
        let log = Log::read("postgresql-stderr", stderr(&lines));
        assert_eq!(log.lines(), ["0.0 connect  2000 us error 28P01"], "{authorized}");
    }
}

#[test]
fn a_session_that_the_server_ends_tells_why() {
    let end = "FATAL:  57P01: terminating connection due to administrator command";
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", RECEIVED),
            (10_001, "aaaa.1", AUTHORIZED),
            (10_500, "aaaa.1", end),
            (10_501, "aaaa.1", GONE),
        ]),
    );
    assert_eq!(log.lines(), ["0.0 connect  1000 us ok", "0.1 disconnect  ok 57P01"]);
    assert_eq!(log.losses(), []);
    let log = Log::read("postgresql-stderr", stderr(&[(10_500, "aaaa.1", end)]));
    assert_eq!(log.lines(), ["0.0 connect  ok", "0.1 disconnect  ok 57P01"], "it began before the log");
}

#[test]
fn a_process_number_is_used_again() {
    let line = |ms, pid: u32, user: &str, sql: &str| {
        format!(
            "2021-01-22 10:00:{:02}.{:03} UTC [{pid}] {user}@shop LOG:  duration: 0.100 ms  statement: {sql}\n",
            ms / 1000,
            ms % 1000
        )
    };
    let text = [
        line(1000, 7, "app", "SELECT 1"),
        line(2000, 7, "app", "SELECT 2"),
        line(3000, 7, "batch", "SELECT 3"),
        line(4000, 8, "app", "SELECT 4"),
    ];
    let log = Log::read("postgresql-stderr", text.concat());
    let sessions: Vec<_> = log.of(Kind::Query).iter().map(|row| (row.session, row.user.as_deref())).collect();
    assert_eq!(sessions, [(0, Some("app")), (0, Some("app")), (1, Some("batch")), (2, Some("app"))]);
    let again = format!(
        "{}{}",
        text[0], "2021-01-22 10:00:05.000 UTC [7] [unknown]@[unknown] LOG:  connection received: host=[local]\n"
    );
    let log = Log::read("postgresql-stderr", format!("{again}{}", text[1]));
    let sessions: Vec<_> = log.of(Kind::Query).iter().map(|row| row.session).collect();
    assert_eq!(sessions, [0, 1]);
}

#[test]
fn a_session_whose_start_is_told_begins_there_if_the_log_reaches_back() {
    // %c begins with the second in which the session began: 1611309610 is 10:00:10.
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (9_000, "600a0000.1", "LOG:  duration: 0.100 ms  statement: SELECT 'old'"),
            (15_000, "600aa22a.2", "LOG:  duration: 0.100 ms  statement: SELECT 'new'"),
        ]),
    );
    let connects = log.of(Kind::Connect);
    assert!(connects[0].joined_midway && !connects[1].joined_midway);
    assert_eq!(connects[1].start_ns, 1_611_309_610_000_000_000);
    assert!(log.rows.iter().filter(|row| row.session == 1).all(|row| !row.joined_midway));
}

#[test]
fn replication_is_no_session() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", RECEIVED),
            (10_001, "aaaa.1", "LOG:  replication connection authorized: user=standby application_name=walreceiver"),
            (10_002, "aaaa.1", "LOG:  received replication command: IDENTIFY_SYSTEM"),
            (10_003, "aaaa.1", "ERROR:  requested WAL segment has already been removed"),
            (10_003, "aaaa.1", "STATEMENT:  START_REPLICATION 0/3000000 TIMELINE 1"),
            (10_004, "aaaa.1", GONE),
        ]),
    );
    assert_eq!((log.rows.len(), log.losses()), (0, vec![(Loss::LogServer, 1), (Loss::LogConnection, 4)]));
}

#[test]
fn stamps_in_seconds_keep_the_order_of_the_log() {
    let line =
        |sql: &str| format!("2021-01-22 10:00:01 UTC [7] app@shop LOG:  duration: 300.000 ms  statement: {sql}\n");
    let log = Log::read("postgresql-stderr", [line("SELECT 1"), line("SELECT 2"), line("SELECT 3")].concat());
    let queries = log.of(Kind::Query);
    let starts: Vec<i64> = queries.iter().map(|row| row.start_ns - queries[0].start_ns).collect();
    assert_eq!(starts, [0, 300_000_000, 600_000_000], "one after another, as a session works");
    assert!(queries.iter().all(|row| row.outcome == Outcome::Ok && row.duration_ns == Some(300_000_000)));
}
