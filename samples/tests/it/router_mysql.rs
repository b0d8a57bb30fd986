//! The sample router in front of a real MariaDB pair, right and wrong.

use std::process::ChildStdin;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row};
use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::router::Fault;
use splitproof_samples::sandbox::Plan;
use splitproof_samples::shop::Workload;

use crate::router::{Running, parsed, shipped};
use crate::router_postgresql::{Case, Fixture, Told, wait, wrong};

/// The pair with a few tables.
struct Pair {
    sandbox: Sandbox,
    _alive: ChildStdin,
}

static PAIR: LazyLock<Mutex<Pair>> = LazyLock::new(|| Mutex::new(Pair::set()));

/// Waits for the pair. Whoever holds it has it alone.
fn pair() -> MutexGuard<'static, Pair> {
    PAIR.lock().unwrap_or_else(PoisonError::into_inner)
}

const SETUP: &str = "
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40), credit INT NOT NULL DEFAULT 0);
INSERT INTO users (id, name) SELECT seq, CONCAT('user ', seq) FROM seq_1_to_50;
CREATE TABLE audit (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT);
CREATE TABLE imports (id INT PRIMARY KEY, note VARCHAR(40));
CREATE SEQUENCE user_id_seq;
DELIMITER //
CREATE FUNCTION audit_login(login INT) RETURNS INT MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN INSERT INTO audit (user_id) VALUES (login); RETURN @@server_id; END //
CREATE PROCEDURE rebuild() SQL SECURITY INVOKER BEGIN UPDATE users SET credit = credit; SELECT @@server_id; END //
DELIMITER ;
";

impl Pair {
    fn set() -> Self {
        let home = crate::home().keep();
        let dir = home.join("pair");
        let alive = crate::stage::clean_up_after_us(&dir, &home);
        let mut sandbox = Sandbox::create_with(&dir, Plan::new(Engine::Mysql).unwrap()).unwrap();
        sandbox.up().unwrap();
        for node in [sandbox.primary(), sandbox.replica()] {
            node.sql("shop", "SET GLOBAL log_bin_trust_function_creators = ON").unwrap();
        }
        sandbox.primary().sql("shop", SETUP).unwrap();
        sandbox.wait_caught_up().unwrap();
        Pair { sandbox, _alive: alive }
    }

    fn router(&self, config: &str, faults: &[&str]) -> Running {
        let ports = self.sandbox.ports();
        self.sandbox.wait_caught_up().unwrap();
        Running::start("mysql", ports.primary, ports.replica, config, faults)
    }
}

fn options(router: &Running) -> OptsBuilder {
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(router.port).user(Some("shop"));
    options.db_name(Some("shop")).prefer_socket(false)
}

async fn connect(router: &Running) -> Conn {
    Conn::new(options(router)).await.unwrap()
}

/// The first value of the first row as text; the number of the error when there is one.
async fn ask(client: &mut Conn, sql: &str) -> Result<Option<String>, u16> {
    let row: Result<Option<Row>, _> = client.query_first(sql).await;
    first(row)
}

fn first(row: Result<Option<Row>, mysql_async::Error>) -> Result<Option<String>, u16> {
    match row {
        Ok(row) => Ok(row.and_then(|row| match row.as_ref(0)? {
            mysql_async::Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            mysql_async::Value::NULL => None,
            value => Some(value.as_sql(true)),
        })),
        Err(mysql_async::Error::Server(error)) => Err(error.code),
        Err(error) => panic!("{error}"),
    }
}

/// The servers' numbers: 1 is the primary, 2 the replica.
#[test]
fn the_servers_agree_with_the_log() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut client = connect(&router).await;
        for (sql, server) in [
            ("SELECT @@server_id, COUNT(*) FROM users", "2"),
            ("/* app */ SELECT @@server_id FROM users WHERE id = 1", "2"),
            ("(SELECT @@server_id FROM users LIMIT 1)", "2"),
            ("WITH u AS (SELECT id FROM users) SELECT @@server_id FROM u LIMIT 1", "2"),
            ("SELECT @@server_id FROM users WHERE name LIKE '%FOR UPDATE%' OR id = 1", "2"),
            ("SELECT @@server_id FROM users WHERE id = 1 FOR UPDATE", "1"),
            ("SELECT @@server_id FROM users WHERE id = 1 LOCK IN SHARE MODE", "1"),
            ("SELECT @@server_id, NEXTVAL(user_id_seq)", "1"),
            ("SELECT @@server_id, NEXT VALUE FOR user_id_seq", "1"),
            ("SELECT audit_login(1)", "1"),
            ("CALL rebuild()", "1"),
            ("INSERT INTO audit (user_id) VALUES (1) RETURNING @@server_id", "1"),
            ("SELECT @@server_id, GET_LOCK('a', 1), RELEASE_LOCK('a')", "1"),
            ("SELECT @@server_id; UPDATE users SET credit = credit WHERE id = 1", "1"),
        ] {
            let name = if server == "2" { "replica" } else { "primary" };
            assert_eq!(ask(&mut client, sql).await, Ok(Some(server.to_owned())), "{sql}");
            assert_eq!(router.destinations(sql), [name], "{sql}");
            if !sql.contains(';') {
                let row: Result<Option<Row>, _> = client.exec_first(sql, ()).await;
                assert_eq!(first(row), Ok(Some(server.to_owned())), "prepared: {sql}");
            }
        }
        for sql in [
            "UPDATE users SET credit = credit WHERE id = 1",
            "DELETE FROM imports",
            "REPLACE INTO imports VALUES (1, 'x')",
        ] {
            ask(&mut client, sql).await.unwrap();
            assert_eq!(router.destinations(sql), ["primary"], "{sql}");
        }
        client.disconnect().await.unwrap();
    });
}

#[test]
fn a_session_is_whole_though_it_uses_two_servers() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut client = connect(&router).await;
        let client = &mut client;
        let say =
            async |client: &mut Conn, sql: &str| ask(client, sql).await.unwrap_or_else(|code| panic!("{sql}: {code}"));
        let text = |text: &str| Some(text.to_owned());
        // Settings, the current database and user variables are there on both.
        say(client, "SET SESSION group_concat_max_len = 4711").await;
        say(client, "SET @tenant = 'x'").await;
        let here = "SELECT CONCAT(@@group_concat_max_len, @tenant, @@server_id) FROM users LIMIT 1";
        assert_eq!(say(client, here).await, text("4711x2"));
        assert_eq!(say(client, &format!("{here} FOR UPDATE")).await, text("4711x1"));
        assert_eq!(router.destinations("SET @tenant = 'x'"), ["primary", "replica"]);
        // A variable whose value may differ is the primary's.
        say(client, "SET @now = NOW(6)").await;
        say(client, "SELECT CONCAT(@now) FROM users LIMIT 1").await;
        assert_eq!(router.destinations("SELECT CONCAT(@now) FROM users LIMIT 1"), ["primary"]);

        // What asks for the statement before goes where that ran.
        say(client, "INSERT INTO audit (user_id) VALUES (7)").await;
        let id = say(client, "SELECT LAST_INSERT_ID()").await;
        let found = "SELECT id FROM audit WHERE user_id = 7 ORDER BY id DESC LIMIT 1";
        assert_eq!(say(client, found).await, id);
        say(client, "SELECT SQL_CALC_FOUND_ROWS id FROM users LIMIT 3").await;
        assert_eq!(say(client, "SELECT FOUND_ROWS()").await, text("50"));
        assert_eq!(router.destinations("SELECT FOUND_ROWS()"), ["replica"]);
        say(client, "SELECT CAST('3 pieces' AS INT) FROM users LIMIT 1").await;
        assert_eq!(say(client, "SHOW WARNINGS").await, text("Warning"));

        // A temporary table lives on the primary.
        say(client, "CREATE TEMPORARY TABLE basket (a INT)").await;
        say(client, "INSERT INTO basket VALUES (5)").await;
        assert_eq!(say(client, "SELECT a FROM basket").await, text("5"));
        say(client, "DROP TEMPORARY TABLE basket").await;

        // A transaction is on one server, and one that only reads on the replica.
        for (begin, server) in [("START TRANSACTION", "1"), ("START TRANSACTION READ ONLY", "2")] {
            say(client, begin).await;
            assert_eq!(say(client, "SELECT @@server_id FROM users LIMIT 1").await, text(server));
            assert_eq!(say(client, "SELECT @@server_id FROM users LIMIT 1").await, text(server));
            say(client, "COMMIT").await;
        }
        say(client, "SET autocommit = 0").await;
        assert_eq!(say(client, "SELECT @@server_id FROM users LIMIT 1").await, text("1"));
        say(client, "UPDATE users SET credit = 3 WHERE id = 9").await;
        assert_eq!(say(client, "SELECT credit FROM users WHERE id = 9").await, text("3"));
        say(client, "ROLLBACK").await;
        say(client, "SET autocommit = 1").await;
        assert_eq!(say(client, "SELECT credit + @@server_id FROM users WHERE id = 9").await, text("2"));

        // A statement prepared on one server is prepared again on the other, with its types.
        let statement = client.prep("SELECT CONCAT(name, @@server_id, ?) FROM users WHERE id = ?").await.unwrap();
        for (sql, expected) in
            [("START TRANSACTION READ ONLY", "user 42a"), ("START TRANSACTION", "user 41a"), ("BEGIN", "user 41a")]
        {
            say(client, sql).await;
            let answer: Option<String> = client.exec_first(&statement, ("a", 4)).await.unwrap();
            assert_eq!(answer.as_deref(), Some(expected));
            say(client, "COMMIT").await;
        }
        say(client, "PREPARE who FROM 'SELECT @@server_id FROM users WHERE id = ?'").await;
        say(client, "SET @id = 3").await;
        assert_eq!(say(client, "EXECUTE who USING @id").await, text("2"));
        say(client, "BEGIN").await;
        assert_eq!(say(client, "EXECUTE who USING @id").await, text("1"));
        say(client, "COMMIT").await;
        say(client, "DEALLOCATE PREPARE who").await;
        assert_eq!(ask(client, "EXECUTE who USING @id").await, Err(1243));

        // Made as new, it holds nothing any more, on either server.
        client.reset().await.unwrap();
        assert_eq!(
            say(client, "SELECT CONCAT(@@server_id, COALESCE(@tenant, '-')) FROM users LIMIT 1").await,
            text("2-")
        );
        client.change_user(Default::default()).await.unwrap();
        assert_eq!(say(client, "SELECT @@server_id FROM shop.users LIMIT 1").await, text("2"));
    });
}

#[test]
fn a_read_waits_for_every_write_before_it() {
    let pair = pair();
    let causal = pair.router(&parsed("causal_timeout_ms: 300"), &[]);
    let careless = pair.router(&parsed("causal_reads: false"), &[]);
    pair.sandbox.pause_replay().unwrap();
    wait(async {
        let (mut writer, mut reader, mut other) =
            (connect(&causal).await, connect(&careless).await, connect(&causal).await);
        ask(&mut writer, "UPDATE users SET name = 'seen' WHERE id = 7").await.unwrap();
        let read = "SELECT name FROM users WHERE id = 7";
        assert_eq!(ask(&mut other, read).await, Ok(Some("seen".to_owned())));
        assert_eq!(causal.destinations(read), ["primary"]);
        assert_eq!(ask(&mut reader, read).await, Ok(Some("user 7".to_owned())));
        pair.sandbox.resume_replay().unwrap();
        pair.sandbox.wait_caught_up().unwrap();
        assert_eq!(ask(&mut other, read).await, Ok(Some("seen".to_owned())));
        assert_eq!(causal.destinations(read), ["replica"]);
    });
}

/// A session whose last statement goes astray: the fault, what comes before, the statement, where it goes with the
/// fault, and how it ends there. Without the fault it goes to the other server.
type Astray = (Fault, &'static [&'static str], &'static str, &'static str, Option<u16>);

const ASTRAY: &[Astray] = &[
    (Fault::ForUpdateToReplica, &[], "SELECT name FROM users WHERE id = 1 FOR UPDATE", "replica", Some(1290)),
    // MariaDB's replica lets a shared lock be taken, though it excludes nobody there.
    (Fault::ForShareToReplica, &[], "SELECT name FROM users WHERE id = 1 LOCK IN SHARE MODE", "replica", None),
    (Fault::VolatileFunctionToReplica, &[], "SELECT audit_login(1)", "replica", Some(1290)),
    (Fault::NextvalToReplica, &[], "SELECT NEXTVAL(user_id_seq)", "replica", Some(1290)),
    (Fault::CallToReplica, &[], "CALL rebuild()", "replica", Some(1290)),
    (Fault::ReturningToReplica, &[], "INSERT INTO audit (user_id) VALUES (1) RETURNING id", "replica", Some(1290)),
    (
        Fault::MultiStatementByFirstWord,
        &[],
        "SELECT 1; UPDATE users SET credit = credit WHERE id = 1",
        "replica",
        Some(1290),
    ),
    (Fault::LeadingCommentToPrimary, &[], "/* web */ SELECT COUNT(*) FROM users", "primary", None),
    (Fault::AllToPrimary, &[], "SELECT COUNT(*) FROM users", "primary", None),
    (
        Fault::StickyForever,
        &["UPDATE users SET credit = 0 WHERE id = 1"],
        "SELECT COUNT(*) FROM users",
        "primary",
        None,
    ),
    (
        Fault::SplitTransaction,
        &["BEGIN", "UPDATE users SET credit = 0 WHERE id = 1"],
        "SELECT COUNT(*) FROM users",
        "replica",
        None,
    ),
    (Fault::BeginOnReplicaByFirstSelect, &["BEGIN"], "SELECT COUNT(*) FROM users", "replica", None),
    (Fault::AutocommitOffIgnored, &["SET autocommit = 0"], "SELECT COUNT(*) FROM users", "replica", None),
    (Fault::SavepointElsewhere, &["BEGIN", "UPDATE users SET credit = 0 WHERE id = 1"], "SAVEPOINT s", "replica", None),
    (
        Fault::TempTableReadOnReplica,
        &["CREATE TEMPORARY TABLE basket (a INT)"],
        "SELECT a FROM basket",
        "replica",
        Some(1146),
    ),
    (
        Fault::LastInsertIdElsewhere,
        &["INSERT INTO audit (user_id) VALUES (1)"],
        "SELECT LAST_INSERT_ID()",
        "replica",
        None,
    ),
    (
        Fault::FoundRowsElsewhere,
        &["SELECT SQL_CALC_FOUND_ROWS id FROM users LIMIT 1"],
        "SELECT FOUND_ROWS()",
        "primary",
        None,
    ),
    (Fault::AdvisoryLockElsewhere, &[], "SELECT GET_LOCK('a', 1)", "replica", None),
];

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
    let mysql = splitproof_samples::router::Engine::Mysql;
    for fault in Fault::ALL.iter().filter(|fault| fault.engines().contains(&mysql)) {
        let tested = ASTRAY.iter().filter(|(tested, ..)| tested == fault).count();
        assert_eq!(tested + TOLD_APART.iter().filter(|tested| *tested == fault).count(), 1, "{fault}");
    }
}

#[test]
fn a_statement_goes_astray_and_only_with_its_fault() {
    let pair = pair();
    let honest = pair.router(&parsed(""), &[]);
    for (fault, before, sql, goes, error) in ASTRAY {
        let router = pair.router(&parsed(""), &[fault.name()]);
        let go = async |router: &Running| {
            let mut client = connect(router).await;
            for sql in *before {
                ask(&mut client, sql).await.unwrap();
            }
            match client.query_drop(*sql).await {
                Ok(()) => None,
                Err(mysql_async::Error::Server(error)) => Some(error.code),
                Err(error) => panic!("{error}"),
            }
        };
        let (wrong, right) = wait(async { (go(&router).await, go(&honest).await) });
        assert_eq!((wrong, right), (*error, None), "{fault}");
        assert_eq!(router.destinations(sql), [*goes], "{fault}");
        assert_ne!(honest.destinations(sql), [*goes], "{fault}");
        assert_eq!(router.decisions().pop().unwrap().fault.as_deref(), Some(fault.name()));
    }
}

/// What a client reads without a fault and with it.
fn told_apart(pair: &Pair, fault: Fault, script: impl AsyncFn(&mut Conn) -> Option<String>) -> [Option<String>; 2] {
    [vec![], vec![fault.name()]].map(|faults| {
        let router = pair.router(&parsed(""), &faults);
        wait(async { script(&mut connect(&router).await).await })
    })
}

fn both(right: &str, wrong: &str) -> [Option<String>; 2] {
    [Some(right.to_owned()), Some(wrong.to_owned())]
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

#[test]
fn a_kill_reaches_the_server_at_work() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        for sql in ["SELECT SLEEP(20) FROM users WHERE id = 1", "SELECT SLEEP(20) FROM users WHERE id = 1 FOR UPDATE"] {
            let (mut sleeper, mut killer) = (connect(&router).await, connect(&router).await);
            let id = sleeper.id();
            let later = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                killer.query_drop(format!("KILL QUERY {id}")).await.unwrap();
            });
            let started = std::time::Instant::now();
            // SLEEP() answers 1 when it is interrupted, unless the whole statement is.
            let answer = ask(&mut sleeper, sql).await;
            assert!(matches!(answer, Err(1317) | Ok(Some(_))), "{answer:?}");
            assert!(started.elapsed() < Duration::from_secs(10), "{sql}");
            later.await.unwrap();
        }
    });
}

#[test]
fn passwords_are_asked_for_and_noise_ends_only_its_session() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    let guarded = pair.router(&parsed("authentication: password\nusers: [{ name: shop, password: sesame }]"), &[]);
    wait(async {
        // The sandbox's user has no password, so the router is let in no further than the servers let it; but it
        // must refuse a wrong password itself.
        let refused = Conn::new(options(&guarded).pass(Some("guess"))).await.err().unwrap();
        assert!(
            matches!(&refused, mysql_async::Error::Server(error) if error.code == 1045 && error.message.contains("shop")),
            "{refused}"
        );
        let mut good = connect(&router).await;
        let mut rng = fastrand::Rng::with_seed(7);
        for round in 0..80usize {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", router.port)).await.unwrap();
            // A login, then a query, a prepare, an execution and a fetch of statement 1.
            let mut login = b"\x8d\xa2\x0b\x00\0\0\0\x40\x2d".to_vec();
            login.extend([0; 23]);
            login.extend(b"shop\0\0shop\0mysql_native_password\0");
            let mut bytes = Vec::new();
            for (sequence, payload) in [
                (1, login.as_slice()),
                (0, b"\x03SELECT 1"),
                (0, b"\x16SELECT ?"),
                (0, b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0"),
                (0, b"\x1c\x01\0\0\0\x0a\0\0\0"),
                (0, b"\x01"),
            ] {
                bytes.extend(&u32::try_from(payload.len()).unwrap().to_le_bytes()[..3]);
                bytes.push(sequence);
                bytes.extend_from_slice(payload);
            }
            for _ in 0..round % 5 {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.unwrap();
        }
        assert_eq!(ask(&mut good, "SELECT 1 + 1").await, Ok(Some("2".to_owned())));
    });
}

#[test]
fn a_file_of_the_client_goes_to_the_primary() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut client = connect(&router).await;
        let lines = bytes::Bytes::from_static(b"101\tone\n102\ttwo\n");
        client.set_infile_handler(async move {
            Ok(Box::pin(futures::stream::once(async move { Ok(lines) })) as mysql_async::InfileData)
        });
        client.query_drop("LOAD DATA LOCAL INFILE 'notes' INTO TABLE imports").await.unwrap();
        assert_eq!(ask(&mut client, "SELECT COUNT(*) FROM imports WHERE id > 100").await, Ok(Some("2".to_owned())));
    });
}

#[test]
fn rules_decide_by_the_text() {
    let pair = pair();
    let today = pair.router(&shipped("today.yaml"), &[]);
    let candidate = pair.router(&shipped("candidate.yaml"), &[]);
    wait(async {
        let (mut right, mut wrong) = (connect(&today).await, connect(&candidate).await);
        // Loud.
        assert_eq!(ask(&mut right, "SELECT audit_login(1)").await, Ok(Some("1".to_owned())));
        assert_eq!(ask(&mut wrong, "SELECT audit_login(1)").await, Err(1290));
        // Silent: the load, and the transaction.
        let page = "SELECT @@server_id FROM users ORDER BY id LIMIT 2";
        let transaction = "SELECT @@server_id FROM users WHERE id = 2";
        for (client, server_of_page, server_inside) in [(&mut right, "2", "1"), (&mut wrong, "1", "2")] {
            assert_eq!(ask(client, page).await, Ok(Some(server_of_page.to_owned())));
            ask(client, "BEGIN").await.unwrap();
            ask(client, "UPDATE users SET credit = credit WHERE id = 2").await.unwrap();
            assert_eq!(ask(client, transaction).await, Ok(Some(server_inside.to_owned())));
            ask(client, "COMMIT").await.unwrap();
        }
    });
}

/// The catalogue of known statements, whose expectations were not made for this router.
#[test]
fn every_known_statement_goes_where_it_belongs() {
    let pair = pair();
    let text = std::fs::read_to_string(crate::tools::sample("fixtures/mysql.yaml")).unwrap();
    let fixture: Fixture = serde_saphyr::from_str(&text).unwrap();
    let primary = pair.sandbox.primary();
    primary.sql("mysql", "CREATE DATABASE splitproof_check; GRANT ALL ON splitproof_check.* TO shop").unwrap();
    for statement in splitproof_capture::sql::mysql::split(&fixture.setup, &Default::default()) {
        primary.sql("splitproof_check", &format!("DELIMITER //\n{statement}\n//")).unwrap();
    }
    let router = pair.router(&parsed(""), &[]);
    let told: Vec<_> = fixture.cases.iter().map(|case| wait(hold(&router, case))).collect();
    let wrong = wrong(&fixture, told);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(fixture.cases.len() > 80);
}

async fn hold(router: &Running, case: &Case) -> Told {
    let before = router.decisions().len();
    let options = options(router).db_name(Some("splitproof_check"));
    let mut client = Conn::new(options).await.unwrap();
    let asked = router.decisions().len() - before;
    let mut errors = Vec::new();
    for step in &case.session {
        let ended = match case.protocol.as_str() {
            "extended" => {
                let params: Vec<mysql_async::Value> = step.params.iter().map(|param| param.clone().into()).collect();
                client.exec_drop(step.sql.as_str(), mysql_async::Params::Positional(params)).await
            }
            _ => client.query_drop(step.sql.as_str()).await,
        };
        errors.push(match ended {
            Ok(()) => None,
            Err(mysql_async::Error::Server(error)) => Some(error.code.to_string()),
            Err(error) => panic!("{}: {}: {error}", case.id, step.sql),
        });
    }
    client.disconnect().await.unwrap();
    let decisions = router.decisions().split_off(before + asked);
    assert_eq!(decisions.len(), case.session.len(), "{}", case.id);
    (decisions.into_iter().map(|entry| entry.destinations).collect(), errors)
}

/// The shop's clients meet no error but their own.
#[test]
fn the_shop_does_not_notice_the_router() {
    let home = crate::home();
    let plan = Plan::new(Engine::Mysql).unwrap();
    let mut sandbox = Sandbox::create_with(home.path().join("pair"), plan).unwrap();
    sandbox.up().unwrap();
    sandbox.load_shop().unwrap();
    let ports = sandbox.ports();
    let router = Running::start("mysql", ports.primary, ports.replica, &parsed(""), &[]);
    let workload = Workload {
        clients: 4,
        requests: 1500,
        pace: Duration::from_millis(5),
        ..Workload::on(Engine::Mysql, router.port)
    };
    let summary = tokio::runtime::Runtime::new().unwrap().block_on(workload.run()).unwrap();
    // A constraint and a key that is taken: the clients' own mistakes.
    assert_eq!(summary.errors.keys().collect::<Vec<_>>(), ["1062", "4025"]);
    let decisions = router.decisions();
    let reads = decisions.iter().filter(|entry| entry.destinations == ["replica"]).count();
    assert!(reads * 3 > decisions.len(), "{reads} of {} on the replica", decisions.len());
    sandbox.wait_caught_up().unwrap();
}
