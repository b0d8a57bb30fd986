//! The sample router in front of a real MariaDB pair; `faults`: with each of its faults.

mod faults;

use std::process::ChildStdin;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row};
use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;
use splitproof_samples::shop::Workload;

use crate::router::fixture::{Case, Fixture, Told};
use crate::router::{Running, parsed, shipped, wait};

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
    let fixture = Fixture::of("mysql");
    let primary = pair.sandbox.primary();
    primary.sql("mysql", "CREATE DATABASE splitproof_check; GRANT ALL ON splitproof_check.* TO shop").unwrap();
    for statement in splitproof_capture::sql::mysql::split(&fixture.setup, &Default::default()) {
        primary.sql("splitproof_check", &format!("DELIMITER //\n{statement}\n//")).unwrap();
    }
    let router = pair.router(&parsed(""), &[]);
    fixture.assert_right(80, |case| wait(hold(&router, case)));
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
