//! The sample router in front of a real PostgreSQL pair; `faults`: with each of its faults.

mod faults;

use std::process::ChildStdin;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::shop::Workload;
use splitproof_samples::shop::client::{Answer, Client};

use crate::router::fixture::{Case, Fixture, Told};
use crate::router::{Running, parsed, shipped, wait};

/// The pair with the shop's data, and the fixture's database.
pub struct Pair {
    /// The servers.
    pub sandbox: Sandbox,
    _alive: ChildStdin,
}

static PAIR: LazyLock<Mutex<Pair>> = LazyLock::new(|| Mutex::new(Pair::set()));

/// Waits for the pair. Whoever holds it has it alone.
pub fn pair() -> MutexGuard<'static, Pair> {
    PAIR.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pair {
    fn set() -> Self {
        let home = crate::home().keep();
        let dir = home.join("pair");
        let alive = crate::stage::clean_up_after_us(&dir, &home);
        let mut sandbox = Sandbox::create(&dir).unwrap();
        sandbox.up().unwrap();
        sandbox.load_shop().unwrap();
        let primary = sandbox.primary();
        primary.sql("postgres", "CREATE DATABASE splitproof_check OWNER shop").unwrap();
        Pair { sandbox, _alive: alive }
    }

    /// A router in front of it.
    pub fn router(&self, config: &str, faults: &[&str]) -> Running {
        let ports = self.sandbox.ports();
        self.sandbox.wait_caught_up().unwrap();
        Running::start("postgresql", ports.primary, ports.replica, config, faults)
    }
}

/// A client of the shop's database.
pub async fn connect(router: &Running) -> Client {
    Client::connect(router.port, "shop", "shop", "test").await.unwrap()
}

/// An answer without an error.
pub async fn ask(client: &mut Client, sql: &str) -> Answer {
    let answer = client.query(sql).await.unwrap();
    assert_eq!(answer.error, None, "{sql}");
    answer
}

/// Prepares, binds and runs in one go.
async fn run_extended(client: &mut Client, sql: &str, params: &[Option<&str>]) -> Answer {
    client.parse("", sql, &[]).unwrap().bind("", "", params).unwrap().execute("", 0).unwrap();
    client.sync().await.unwrap()
}

/// The catalogue of known statements, whose expectations were not made for this router.
#[test]
fn every_known_statement_goes_where_it_belongs() {
    let pair = pair();
    let fixture = Fixture::of("postgresql");
    pair.sandbox.primary().sql("splitproof_check", &format!("SET ROLE shop; {}", fixture.setup)).unwrap();
    let router = pair.router(&parsed(""), &[]);
    fixture.assert_right(100, |case| wait(hold(&router, case)));
}

async fn hold(router: &Running, case: &Case) -> Told {
    let before = router.decisions().len();
    let mut client = Client::connect(router.port, "shop", "splitproof_check", "test").await.unwrap();
    let mut errors = Vec::new();
    for step in &case.session {
        let params: Vec<Option<&str>> = step.params.iter().map(Option::as_deref).collect();
        let answer = match (case.protocol.as_str(), &step.data) {
            ("extended", _) => run_extended(&mut client, &step.sql, &params).await,
            (_, Some(data)) => client.copy_in(&step.sql, &[data]).await.unwrap(),
            _ => client.query(&step.sql).await.unwrap(),
        };
        errors.push(answer.error.map(|(code, _)| code));
    }
    client.terminate().await.unwrap();
    let decisions = router.decisions().split_off(before);
    assert_eq!(decisions.len(), case.session.len(), "{}", case.id);
    (decisions.into_iter().map(|entry| entry.destinations).collect(), errors)
}

/// Each server says where it is, in the same row as the data.
#[test]
fn the_servers_agree_with_the_log() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut client = connect(&router).await;
        for (sql, on_replica) in [
            ("SELECT pg_is_in_recovery(), count(*) FROM users", "t"),
            ("/* app */ SELECT pg_is_in_recovery() FROM stock WHERE sku = 1", "t"),
            ("SELECT pg_is_in_recovery() FROM users WHERE id = 1 FOR UPDATE", "f"),
            ("SELECT pg_is_in_recovery(), nextval('user_id_seq')", "f"),
            ("UPDATE stock SET quantity = quantity WHERE sku = 1 RETURNING pg_is_in_recovery()", "f"),
            (
                "WITH x AS (DELETE FROM audit WHERE id < 0 RETURNING id) SELECT pg_is_in_recovery() FROM stock LIMIT 1",
                "f",
            ),
        ] {
            let answer = ask(&mut client, sql).await;
            assert_eq!(answer.first.as_deref(), Some(on_replica), "{sql}");
            let name = if on_replica == "t" { "replica" } else { "primary" };
            assert_eq!(router.destinations(sql), [name], "{sql}");
            let answer = run_extended(&mut client, sql, &[]).await;
            assert_eq!((answer.error, answer.first.as_deref()), (None, Some(on_replica)), "{sql}");
        }
    });
}

#[test]
fn a_session_is_whole_though_it_uses_two_servers() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut client = connect(&router).await;
        let client = &mut client;
        // A setting is there on both, by SET and by the function with parameters; one that is rolled back is on none.
        ask(client, "SET work_mem = '7MB'").await;
        run_extended(client, "SELECT set_config($1, $2, false)", &[Some("app.tenant"), Some("x")]).await;
        ask(client, "BEGIN").await;
        ask(client, "SET work_mem = '9MB'").await;
        ask(client, "ROLLBACK").await;
        let here = "SELECT current_setting('work_mem') || current_setting('app.tenant') || pg_is_in_recovery()";
        assert_eq!(ask(client, here).await.first.as_deref(), Some("7MBxtrue"));
        let locked = format!("{here} FROM users WHERE id = 1 FOR SHARE");
        assert_eq!(ask(client, &locked).await.first.as_deref(), Some("7MBxfalse"));
        // One that is committed is on both; one after a savepoint that was rolled back to is not.
        for sql in ["BEGIN", "SET work_mem = '8MB'", "SAVEPOINT s", "SET work_mem = '9MB'", "ROLLBACK TO s", "COMMIT"] {
            ask(client, sql).await;
        }
        assert_eq!(ask(client, here).await.first.as_deref(), Some("8MBxtrue"));

        // A statement prepared where it first ran is prepared again in a transaction on the other server.
        client.parse("by_id", "SELECT id, pg_is_in_recovery() FROM users WHERE id = $1", &[]).unwrap();
        client.bind("", "by_id", &[Some("3")]).unwrap().execute("", 0).unwrap();
        assert_eq!(client.sync().await.unwrap().first.as_deref(), Some("3"));
        ask(client, "PREPARE who (int) AS SELECT pg_is_in_recovery() FROM users WHERE id = $1").await;
        assert_eq!(ask(client, "EXECUTE who(1)").await.first.as_deref(), Some("t"));
        ask(client, "BEGIN").await;
        client.bind("", "by_id", &[Some("4")]).unwrap().execute("", 0).unwrap();
        assert_eq!(client.sync().await.unwrap().first.as_deref(), Some("4"));
        assert_eq!(ask(client, "EXECUTE who(1)").await.first.as_deref(), Some("f"));
        ask(client, "COMMIT").await;
        ask(client, "DEALLOCATE who").await;
        // On neither server is it left.
        let left = "SELECT count(*) FROM pg_prepared_statements WHERE name = 'who'";
        assert_eq!(ask(client, left).await.first.as_deref(), Some("0"));
        assert_eq!(ask(client, &format!("BEGIN; {left}; COMMIT")).await.first.as_deref(), Some("0"));

        // What is left of a session does not meet the next one.
        ask(client, "CREATE TEMP TABLE basket (a int)").await;
    });
    wait(async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut client = connect(&router).await;
        assert_eq!(ask(&mut client, "SHOW work_mem").await.first.as_deref(), Some("4MB"));
        assert_eq!(client.query("SELECT 1 FROM pg_temp.basket").await.unwrap().error.unwrap().0, "42P01");
        client.terminate().await.unwrap();
    });
}

#[test]
fn a_read_waits_for_every_write_before_it_and_goes_to_the_primary_when_it_waits_too_long() {
    let pair = pair();
    let causal = pair.router(&parsed("causal_timeout_ms: 300"), &[]);
    let careless = pair.router(&parsed("causal_reads: false"), &[]);
    pair.sandbox.pause_replay().unwrap();
    wait(async {
        let (mut writer, mut reader) = (connect(&causal).await, connect(&careless).await);
        let mut other = connect(&causal).await;
        ask(&mut writer, "UPDATE sessions SET basket = 'seen' WHERE token = 'token-7'").await;
        let read = "SELECT basket FROM sessions WHERE token = 'token-7'";
        // Another session's read waits as well; without causal reads the past is read.
        assert_eq!(ask(&mut other, read).await.first.as_deref(), Some("seen"));
        assert_eq!(causal.destinations(read), ["primary"]);
        assert_eq!(ask(&mut reader, read).await.first.as_deref(), Some(""));
        assert_eq!(careless.destinations(read), ["replica"]);
        pair.sandbox.resume_replay().unwrap();
        pair.sandbox.wait_caught_up().unwrap();
        assert_eq!(ask(&mut other, read).await.first.as_deref(), Some("seen"));
        assert_eq!(causal.destinations(read), ["replica"]);
    });
}

#[test]
fn reads_are_shared_by_weight_and_a_replica_that_lags_or_is_gone_gets_none() {
    let pair = pair();
    let router = pair.router(&parsed("weights: { primary: 1, replicas: [2] }"), &[]);
    wait(async {
        let mut client = connect(&router).await;
        for _ in 0..30 {
            ask(&mut client, "SELECT 1").await;
        }
    });
    let on_primary = router.decisions().iter().filter(|entry| entry.destinations == ["primary"]).count();
    assert_eq!(on_primary, 10);
    drop(router);

    let router = pair.router(&parsed("max_replica_lag_ms: 400\ncausal_reads: false"), &[]);
    pair.sandbox.pause_replay().unwrap();
    wait(async {
        let mut client = connect(&router).await;
        ask(&mut client, "UPDATE stock SET quantity = quantity WHERE sku = 1").await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        ask(&mut client, "SELECT 2").await;
    });
    pair.sandbox.resume_replay().unwrap();
    assert_eq!(router.destinations("SELECT 2"), ["primary"]);
    drop(router);

    // Port 1 is nobody's: the replica is down from the start.
    let ports = pair.sandbox.ports();
    let router = Running::start("postgresql", ports.primary, 1, &parsed("causal_reads: false"), &[]);
    wait(async {
        let mut client = connect(&router).await;
        ask(&mut client, "SELECT 3").await;
        ask(&mut client, "SET work_mem = '5MB'").await;
        ask(&mut client, "SELECT 3").await;
    });
    assert_eq!(router.destinations("SELECT 3"), ["primary"]);
}

#[test]
fn cancelling_reaches_the_server_at_work() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(router.port).user("shop").dbname("shop");
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for sql in ["SELECT pg_sleep(20)", "SELECT pg_sleep(20) FROM users WHERE id = 1 FOR UPDATE"] {
            let cancel = client.cancel_token();
            let later = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                cancel.cancel_query(tokio_postgres::NoTls).await.unwrap();
            });
            let error = client.simple_query(sql).await.unwrap_err();
            assert_eq!(error.code().unwrap().code(), "57014", "{sql}");
            later.await.unwrap();
        }
    });
}

#[test]
fn passwords_are_asked_for_and_bad_bytes_end_only_their_session() {
    let pair = pair();
    let config = parsed("authentication: password\nusers: [{ name: shop, password: sesame }]");
    let router = pair.router(&config, &[]);
    let connect = |password: &'static str| {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(router.port).user("shop").dbname("shop").password(password);
        async move { config.connect(tokio_postgres::NoTls).await }
    };
    wait(async {
        let (client, connection) = connect("sesame").await.unwrap();
        tokio::spawn(connection);
        let refused = connect("guess").await.err().unwrap();
        assert_eq!(refused.code().unwrap().code(), "28P01");
        for bytes in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"\0\0\0\x08\x04\xd2\x16\x2f\xff\xff\xff\xff",
            b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01wrong",
            b"\0\0\0\x13\0\x03\0\0user\0shop\0\0p\0\0\0\x03",
            b"\xff\xff\xff\xff",
            b"\0\0\0\x09\0\x03\0\0\0",
        ] {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", router.port)).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            // It may be told what is wrong or not; it must be let go.
            let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await.unwrap();
        }
        assert_eq!(client.query_one("SELECT 1 + 1", &[]).await.unwrap().get::<_, i32>(0), 2);
    });
}

/// After the start any bytes may come; the other session must not notice.
#[test]
fn noise_after_the_start_ends_only_its_session() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    wait(async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut good = connect(&router).await;
        let mut rng = fastrand::Rng::with_seed(7);
        for round in 0..60 {
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", router.port)).await.unwrap();
            let mut bytes = b"\0\0\0\x13\0\x03\0\0user\0shop\0\0".to_vec();
            let start = bytes.len();
            for (tag, body) in
                [(b'P', &b"s\0SELECT 1\0\0\0"[..]), (b'B', b"\0s\0\0\0\0\0\0\0"), (b'E', b"\0\0\0\0\0"), (b'S', b"")]
            {
                bytes.push(tag);
                bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
                bytes.extend_from_slice(body);
            }
            for _ in 0..=round % 4 {
                let at = rng.usize(start..bytes.len());
                bytes[at] = rng.u8(..);
            }
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.unwrap();
        }
        assert_eq!(ask(&mut good, "SELECT 1").await.rows, 1);
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
        assert_eq!(ask(&mut right, "SELECT audit_login(1)").await.rows, 1);
        assert_eq!(wrong.query("SELECT audit_login(1)").await.unwrap().error.unwrap().0, "25006");
        // Silent: the load, and the transaction.
        let page = "SELECT id FROM users ORDER BY id LIMIT 2";
        ask(&mut right, page).await;
        ask(&mut wrong, page).await;
        assert_eq!(
            (today.destinations(page), candidate.destinations(page)),
            (vec!["replica".into()], vec!["primary".into()])
        );
        let seen = "SELECT pg_is_in_recovery() FROM sessions WHERE token = 'token-9'";
        for (client, on_replica) in [(&mut right, "f"), (&mut wrong, "t")] {
            ask(client, "BEGIN").await;
            ask(client, "UPDATE sessions SET seen_at = now() WHERE token = 'token-9'").await;
            assert_eq!(ask(client, seen).await.first.as_deref(), Some(on_replica));
            ask(client, "COMMIT").await;
        }
    });
}

/// The shop's clients meet no error but their own, and no transaction is torn apart.
#[test]
fn the_shop_does_not_notice_the_router() {
    let pair = pair();
    let router = pair.router(&parsed(""), &[]);
    let workload = Workload {
        clients: 4,
        requests: 1500,
        pace: Duration::from_millis(5),
        ..Workload::on(Engine::Postgresql, router.port)
    };
    let summary = tokio::runtime::Runtime::new().unwrap().block_on(workload.run()).unwrap();
    // A key that is taken and a constraint: the clients' own mistakes.
    assert_eq!(summary.errors.keys().collect::<Vec<_>>(), ["23505", "23514"]);
    let (mut open, mut reads) = (std::collections::HashMap::new(), 0);
    for entry in router.decisions() {
        if entry.sql.starts_with("BEGIN") {
            open.insert(entry.session, entry.destinations.clone());
        }
        match open.get(&entry.session) {
            Some(node) => assert_eq!(&entry.destinations, node, "{entry:?}"),
            None => reads += usize::from(entry.destinations == ["replica"]),
        }
        if entry.sql == "COMMIT" {
            open.remove(&entry.session);
        }
    }
    assert!(reads > 500, "{reads} reads on the replica");
}
