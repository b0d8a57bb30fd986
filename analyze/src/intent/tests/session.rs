use splitproof_capture::trace::{Kind, Outcome, TransactionStatus};

use super::super::{Control, Intent, Pin, Reason, RequestView, Session};
use super::{judge, session};

#[test]
fn outside_transactions() {
    session(
        "SELECT id FROM users => replica
         TABLE users => replica
         COPY users TO STDOUT => replica
         SELECT count(*), now() FROM users => replica
         SELECT order_total(1) => replica
         SELECT random() => replica either
         SELECT uuid_generate_v4() => replica either
         SHOW server_version => replica either
         EXPLAIN SELECT audit_login(1) => replica either
         EXPLAIN ANALYZE SELECT 1 FROM users => replica
         EXPLAIN ANALYZE UPDATE users SET a = 1 => primary
         SELECT * FROM pg_stat_activity => replica either
         SELECT 1 FROM users FOR SHARE => primary
         SELECT audit_login(1) => primary
         SELECT 1 FROM scratch => primary
         INSERT INTO users VALUES (1) => primary
         WITH d AS (DELETE FROM q RETURNING *) SELECT * FROM d => primary
         SELECT 1 INTO x => primary
         CALL f() => primary
         VACUUM => primary
         LISTEN c => primary
         UNLISTEN * => primary
         NOTIFY c => primary
         SELECT nextval('s') => primary
         SELECT pg_advisory_lock(1) => primary
         SELECT set_config('a', 'b', false) => all
         SELECT set_config('a', 'b', true) => replica either
         SET a = 1 => all
         RESET a => all
         DISCARD ALL => all
         ; => none",
    );
}

#[test]
fn a_transaction_that_writes_holds_its_reads() {
    session(
        "BEGIN => same
         SELECT 1 FROM users => same
         SET LOCAL a = 1 => same
         SELECT set_config('a', '1', true) => same
         SELECT random() => same
         UPDATE users SET a = 1 => primary
         SELECT 1 FROM users => same primary
         SAVEPOINT a => same primary
         SELECT nextval('s') => primary
         ROLLBACK TO a => same primary
         COMMIT => same primary
         SELECT 1 FROM users => replica
         BEGIN READ WRITE => same
         SELECT audit_login(1) => primary
         SELECT 1 => same primary
         ROLLBACK AND CHAIN => same primary
         SELECT 1 => same
         ROLLBACK => same",
    );
}

#[test]
fn read_only_and_serializable_transactions() {
    session(
        "BEGIN READ ONLY => same
         SELECT 1 FROM users => replica
         SELECT random() => replica either
         SELECT 1 FROM users FOR SHARE => primary
         COMMIT AND CHAIN => same primary
         SELECT 1 => replica
         COMMIT => same
         BEGIN => same
         SET TRANSACTION READ ONLY => same
         SELECT 1 => replica
         COMMIT => same
         BEGIN ISOLATION LEVEL SERIALIZABLE => primary
         SET LOCAL a = 1 => same primary
         SELECT 1 => primary
         COMMIT => same primary
         START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY => same
         SELECT 1 => replica
         END => same
         BEGIN => same
         SET transaction_read_only = on => all
         SELECT 1 => replica
         COMMIT => same",
    );
}

#[test]
fn defaults_of_later_transactions() {
    session(
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY => all
         BEGIN => same
         SELECT 1 => replica
         COMMIT => same
         BEGIN READ WRITE => same
         SELECT 1 => same
         COMMIT => same
         SET default_transaction_read_only = off => all
         BEGIN => same
         SELECT 1 => same
         COMMIT => same
         SELECT set_config('default_transaction_isolation', 'serializable', false) => all
         SELECT 1 => primary
         BEGIN => primary
         SELECT 1 => primary
         COMMIT => same primary
         RESET ALL => all
         SELECT 1 => replica
         BEGIN => same
         SET default_transaction_isolation TO serializable => all
         ROLLBACK => same
         SELECT 1 => replica",
    );
}

#[test]
fn temporary_tables_pin_what_touches_them() {
    session(
        "SELECT 1 FROM t => replica
         CREATE TEMP TABLE t (a int) => primary
         INSERT INTO t VALUES (1) => same primary
         SELECT a FROM t => same primary
         SELECT a FROM pg_temp.t => same primary
         SELECT a FROM public.t => replica
         SELECT 1 FROM users => replica
         INSERT INTO users SELECT a FROM t => primary
         SELECT audit_login(a) FROM t => primary
         ALTER TABLE t RENAME TO u => same primary
         SELECT a FROM t => replica
         SELECT a FROM u => same primary
         TRUNCATE u => same primary
         DROP TABLE u => same primary
         SELECT a FROM u => replica
         BEGIN => same
         CREATE TEMP TABLE v (a int) ON COMMIT DROP => primary
         SELECT 1 FROM v => same primary
         COMMIT => same primary
         SELECT 1 FROM v => replica
         BEGIN => same
         CREATE TEMP TABLE w AS SELECT 1 => primary
         SAVEPOINT s => same primary
         DROP TABLE w => same primary
         ROLLBACK TO s => same primary
         SELECT 1 FROM w => same primary
         ROLLBACK => same primary
         SELECT 1 FROM w => replica
         SELECT 1 INTO TEMP x => primary
         SELECT 1 FROM x => same primary
         DISCARD TEMP => all
         SELECT 1 FROM x => replica",
    );
}

#[test]
fn statements_prepared_in_sql_do_what_they_name() {
    session(
        "PREPARE r AS SELECT 1 FROM users WHERE id = $1 => same
         EXECUTE r(1) => same
         EXPLAIN EXECUTE r(1) => same
         EXPLAIN ANALYZE EXECUTE r(1) => same
         PREPARE w AS UPDATE users SET a = $1 => primary
         EXECUTE w(1) => primary
         EXPLAIN ANALYZE EXECUTE w(1) => primary
         PREPARE f AS SELECT audit_login($1) => primary
         EXECUTE f(1) => primary
         DEALLOCATE r => same
         EXECUTE r(1) => primary
         BEGIN => same
         PREPARE p AS SELECT 1 => same
         ROLLBACK => same
         EXECUTE p => same
         DEALLOCATE ALL => all
         EXECUTE w(1) => primary",
    );
}

#[test]
fn cursors_live_where_they_were_declared() {
    session(
        "BEGIN => same
         DECLARE c CURSOR FOR SELECT 1 FROM users => same
         FETCH 1 FROM c => same
         CLOSE c => same
         DECLARE h CURSOR WITH HOLD FOR SELECT 1 FROM users => same
         DECLARE g CURSOR FOR SELECT 1 FROM users => same
         COMMIT => same
         FETCH 1 FROM h => same
         FETCH 1 FROM g => primary
         BEGIN => same
         DECLARE l CURSOR FOR SELECT 1 FROM users FOR UPDATE => primary
         FETCH 1 FROM l => same primary
         DECLARE k CURSOR WITH HOLD FOR SELECT 1 => same primary
         ROLLBACK => same primary
         FETCH 1 FROM k => primary
         FETCH 1 FROM h => same",
    );
}

#[test]
fn a_text_of_several_statements_goes_to_one_place() {
    session(
        "SELECT 1; SELECT 2 => replica
         SELECT 1; UPDATE users SET a = 1 => primary
         SELECT random(); SELECT now() => replica
         SET x = 1; SELECT 1 => all
         BEGIN; UPDATE users SET a = 1; COMMIT => primary
         SELECT 1 => replica
         BEGIN; SELECT 1 => same
         SELECT 1 => same
         COMMIT; SELECT 1 => same",
    );
}

/// A request of a trace: the group it belongs to, how it ended, and the server's report.
fn request(sql: &str, group: u32, outcome: Outcome, transaction: Option<TransactionStatus>) -> RequestView<'_> {
    RequestView { outcome, transaction, pipeline_group: Some(group), ..RequestView::query(sql) }
}

#[test]
fn what_the_server_reports_corrects_the_state() {
    use TransactionStatus::{Failed, Idle, Open};
    let (mut judge, mut session) = (judge(), Session::new());
    let mut intent = |request: RequestView<'_>| session.judge(&mut judge, &request).intent;
    // Joined midway inside a transaction.
    assert_eq!(intent(request("SELECT 1", 0, Outcome::Ok, Some(Open))), Intent::Replica);
    assert_eq!(intent(request("SELECT 1", 1, Outcome::Ok, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("SELECT 1", 2, Outcome::Ok, Some(Idle))), Intent::Replica);
    // A whole transaction in one pipeline: each request carries the status at the end.
    assert_eq!(intent(request("BEGIN", 3, Outcome::Ok, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("SELECT 1", 3, Outcome::Ok, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("COMMIT", 3, Outcome::Ok, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("SELECT 1", 4, Outcome::Ok, Some(Idle))), Intent::Replica);
    // BEGIN refused.
    assert_eq!(intent(request("BEGIN", 5, Outcome::Error, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("SELECT 1", 6, Outcome::Ok, Some(Idle))), Intent::Replica);
    // Failed, and rolled back to a savepoint.
    assert_eq!(intent(request("BEGIN", 7, Outcome::Ok, Some(Open))), Intent::Same);
    assert_eq!(intent(request("SELECT 1/0", 8, Outcome::Error, Some(Failed))), Intent::Same);
    assert_eq!(intent(request("UPDATE users SET a = 1", 9, Outcome::Error, Some(Failed))), Intent::Same);
    assert_eq!(intent(request("COMMIT", 10, Outcome::Ok, Some(Idle))), Intent::Same);
    assert_eq!(intent(request("SELECT 1", 11, Outcome::Ok, Some(Idle))), Intent::Replica);
}

#[test]
fn a_failed_text_leaves_nothing_behind() {
    let (mut judge, mut session) = (judge(), Session::new());
    session.judge(&mut judge, &request("CREATE TEMP TABLE t (a int)", 0, Outcome::Error, None));
    session.judge(&mut judge, &request("CREATE TEMP TABLE u (a int); SELECT 1/0", 1, Outcome::Error, None));
    for sql in ["SELECT 1 FROM t", "SELECT 1 FROM u"] {
        assert_eq!(session.judge(&mut judge, &RequestView::query(sql)).intent, Intent::Replica);
    }
}

#[test]
fn transactions_are_numbered_and_control_is_told() {
    let (mut judge, mut session) = (judge(), Session::new());
    let mut told = |sql: &str| {
        let verdict = session.judge(&mut judge, &RequestView::query(sql));
        (verdict.transaction, verdict.control)
    };
    assert_eq!(told("SELECT 1"), (None, None));
    assert_eq!(told("BEGIN"), (Some(1), Some(Control::Begin)));
    assert_eq!(told("SELECT 1"), (Some(1), None));
    assert_eq!(told("SAVEPOINT a"), (Some(1), Some(Control::Inside)));
    assert_eq!(told("COMMIT"), (Some(1), Some(Control::Commit)));
    assert_eq!(told("BEGIN"), (Some(2), Some(Control::Begin)));
    assert_eq!(told("ROLLBACK"), (Some(2), Some(Control::Rollback)));
    assert_eq!(told("COMMIT"), (None, Some(Control::Commit)));
}

#[test]
fn requests_that_run_nothing_are_not_routed() {
    let (mut judge, mut session) = (judge(), Session::new());
    for kind in [Kind::Connect, Kind::Prepare, Kind::Close, Kind::Other, Kind::Disconnect, Kind::Cancel] {
        let request = RequestView { kind, ..RequestView::query("UPDATE users SET a = 1") };
        assert_eq!(session.judge(&mut judge, &request).intent, Intent::None, "{kind}");
    }
    let unknown = RequestView { kind: Kind::Execute, sql: None, ..RequestView::query("") };
    let verdict = session.judge(&mut judge, &unknown);
    assert_eq!((verdict.intent, verdict.reason), (Intent::Unknown, Reason::NoText));
    let fetch = RequestView { kind: Kind::Fetch, portal: Some("p"), ..RequestView::query("SELECT 1") };
    let verdict = session.judge(&mut judge, &fetch);
    assert_eq!((verdict.intent, verdict.pin), (Intent::Same, Some(Pin::Portal("p".into()))));
    let call = RequestView { kind: Kind::Call, sql: None, ..RequestView::query("") };
    assert_eq!(session.judge(&mut judge, &call).intent, Intent::Primary);
}

#[test]
fn execute_finds_what_the_protocol_prepared() {
    let (mut judge, mut session) = (judge(), Session::new());
    let view = |kind, statement, sql| RequestView { kind, statement: Some(statement), ..RequestView::query(sql) };
    let mut execute = |request: RequestView<'_>| {
        session.judge(&mut judge, &request);
        session.judge(&mut judge, &RequestView::query("EXECUTE find")).intent
    };
    // Of an unknown one anything may come. A known one runs where it was prepared, or must.
    assert_eq!(execute(RequestView::query("SELECT 1")), Intent::Primary);
    assert_eq!(execute(view(Kind::Prepare, "find", "SELECT name FROM users")), Intent::Same);
    assert_eq!(execute(view(Kind::Prepare, "find", "UPDATE users SET a = 1")), Intent::Primary);
    assert_eq!(execute(view(Kind::Prepare, "find", "SELECT name FROM users")), Intent::Same);
    assert_eq!(execute(view(Kind::Close, "find", "")), Intent::Primary);
}
