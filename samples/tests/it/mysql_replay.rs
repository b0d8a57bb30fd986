//! Replays into a real MariaDB pair: what was recorded is repeated, over every kind of command and authentication.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value, params};
use splitproof_capture::tap::{Options as TapOptions, Relay};
use splitproof_capture::trace::{Engine, Existing, Kind, Losses, Options, Outcome, Reader, Request, Sink, Writer};
use splitproof_replay::clock::Speed;
use splitproof_replay::pair::{OptionFile, Pair, Passwords};
use splitproof_replay::run::{Only, Order, ReplayError, replay};
use splitproof_replay::session::Stop;
use splitproof_replay::summary::Summary;
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;

/// A pair with users that have passwords.
fn start(home: &Path) -> Sandbox {
    let mut sandbox = Sandbox::create_with(home.join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    // Each server has plugins of its own; where the package with this one is not installed, the user has another method.
    let install = "INSTALL SONAME 'auth_ed25519'";
    let ed25519 = [sandbox.replica(), sandbox.primary()].iter().all(|node| node.sql("shop", install).is_ok());
    for (user, method) in
        [("ann", "IDENTIFIED BY 'of ann'"), ("bob", "IDENTIFIED VIA ed25519 USING PASSWORD('of bob')")]
    {
        let method = if ed25519 { method } else { &format!("IDENTIFIED BY 'of {user}'") };
        let sql = format!("CREATE USER {user}@'%' {method}; GRANT ALL ON *.* TO {user}@'%'");
        sandbox.primary().sql("shop", &sql).unwrap();
    }
    sandbox.wait_caught_up().unwrap();
    sandbox
}

#[test]
fn what_was_recorded_is_repeated_exactly() {
    let home = crate::home();
    let sandbox = start(home.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let trace = home.path().join("trace");
    let file = home.path().join("rows.txt");
    std::fs::write(&file, "1\tone\n2\ttwo\n").unwrap();
    runtime.block_on(record(sandbox.ports().primary, &trace, |port| async move {
        tokio::join!(
            client(port, "shop", None),
            client(port, "ann", Some("of ann")),
            client(port, "bob", Some("of bob"))
        );
        tokio::task::spawn_blocking(move || command_line(port, &file)).await.unwrap();
    }));
    let mut order = direct(&sandbox, &trace, &home.path().join("run"));
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!(summary.not_sent, BTreeMap::new(), "{summary}");
    assert_eq!((summary.recorded, summary.lost_sessions, summary.refused.len()), (summary.sent, 0, 0), "{summary}");

    let recorded: Vec<Request> = rows(&trace);
    let mut repeated: Vec<Request> = rows(&order.run);
    repeated.sort_by_key(|row| (row.recorded_session, row.recorded_seq));
    let mut wanted = recorded.clone();
    wanted.sort_by_key(|row| (row.session, row.seq));
    assert_eq!(wanted.len(), repeated.len());
    for (wanted, found) in wanted.into_iter().zip(repeated) {
        assert!(
            found.duration_ns.is_some() || found.kind == Kind::Close || found.kind == Kind::Disconnect,
            "{found:?}"
        );
        assert_eq!(timeless(wanted), timeless(found));
    }
    let kinds: HashSet<Kind> = recorded.iter().map(|row| row.kind).collect();
    for kind in [
        Kind::Query,
        Kind::Prepare,
        Kind::Execute,
        Kind::Close,
        Kind::Copy,
        Kind::ChangeUser,
        Kind::Reset,
        Kind::Ping,
        Kind::InitDb,
    ] {
        assert!(kinds.contains(&kind), "the recording lacks {kind}");
    }
    assert!(recorded.iter().any(|row| row.outcome == Outcome::Error));
    assert!(recorded.iter().any(|row| row.capabilities.is_some_and(|can| can & 0x20 != 0)), "nothing was compressed");

    order.existing = Existing::Replace;
    order.speed = Speed::Max;
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!((summary.sent, summary.lost_sessions), (summary.recorded, 0), "{summary}");

    // The wrong password is a refusal, and says so.
    order.passwords = Passwords::default();
    let summary = runtime.block_on(run(&order)).unwrap();
    assert!(summary.to_string().contains("Access denied for user 'ann'"), "{summary}");
    assert!(summary.to_string().contains("MYSQL_PWD"), "{summary}");
}

/// The same statements for everybody, on tables of their own.
async fn client(port: u16, user: &str, password: Option<&str>) {
    let options = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(port)
        .user(Some(user))
        .pass(password)
        .db_name(Some("shop"))
        .prefer_socket(false);
    let mut conn = Conn::new(options).await.unwrap();
    conn.query_drop("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(50), f DOUBLE)")
        .await
        .unwrap();
    for id in 0..6 {
        let note = Some("note").filter(|_| id % 2 == 0);
        let values = params! { "note" => note, "f" => 1.5 * f64::from(id) };
        conn.exec_drop("INSERT INTO t (note, f) VALUES (:note, :f)", values).await.unwrap();
    }
    // The key is taken: an error of a statement alone.
    conn.exec_drop("INSERT INTO t (id) VALUES (?)", (1,)).await.unwrap_err();
    let rows: Vec<(i32, Option<String>, Option<f64>)> =
        conn.exec("SELECT id, note, f FROM t WHERE id > ? ORDER BY id", (1,)).await.unwrap();
    assert_eq!(rows.len(), 5);
    let several = "SELECT id FROM t ORDER BY id; UPDATE t SET note = 'x' WHERE id < 3; SELECT COUNT(*) FROM t";
    let mut result = conn.query_iter(several).await.unwrap();
    assert_eq!(result.collect::<i32>().await.unwrap().len(), 6);
    assert_eq!(result.collect::<Value>().await.unwrap().len(), 0);
    assert_eq!(result.collect::<i64>().await.unwrap(), [6]);
    drop(result);
    conn.query_drop("SELECT no_such_column").await.unwrap_err();
    conn.query_drop("START TRANSACTION; INSERT INTO t (note) VALUES ('gone'); ROLLBACK").await.unwrap();
    conn.ping().await.unwrap();
    let statement = conn.prep("SELECT REPEAT(?, 3)").await.unwrap();
    let repeated: Option<String> = conn.exec_first(&statement, ("ab",)).await.unwrap();
    assert_eq!(repeated.as_deref(), Some("ababab"));
    conn.close(statement).await.unwrap();
    // Larger than a packet, in both directions.
    let large: Option<Vec<u8>> = conn.query_first("SELECT REPEAT('x', 17000000)").await.unwrap();
    assert_eq!(large.unwrap().len(), 17_000_000);
    conn.reset().await.unwrap();
    // The driver cannot do that with ed25519.
    if user != "bob" {
        conn.change_user(mysql_async::ChangeUserOpts::default()).await.unwrap();
    }
    conn.query_drop("SELECT 'the last word'").await.unwrap();
    conn.disconnect().await.unwrap();
}

/// MariaDB's own client: compressed, another database, and the content of a file.
fn command_line(port: u16, file: &Path) {
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE l", file.display());
    let sql = format!(
        "use information_schema\nuse shop\nCREATE TEMPORARY TABLE l (a INT, b TEXT); {load}; SELECT * FROM l ORDER BY a;"
    );
    for compressed in [false, true] {
        let mut client = Command::new("mariadb");
        client.args([
            "--no-defaults",
            "--protocol=TCP",
            "--host=127.0.0.1",
            "--user=shop",
            "--local-infile=1",
            "--batch",
        ]);
        client.args(compressed.then_some("--compress")).arg(format!("--port={port}")).args(["shop", "-e", &sql]);
        let output = client.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("2\ttwo"));
    }
}

/// Records what happens through a tap in front of a server.
pub async fn record<F: Future<Output = ()>>(server: u16, trace: &Path, traffic: impl FnOnce(u16) -> F) {
    let listen = "127.0.0.1:0".parse().unwrap();
    let options = TapOptions::new(Engine::Mysql, listen, format!("127.0.0.1:{server}"));
    let relay = Relay::start(options, Vec::new()).await.unwrap();
    traffic(relay.listen().port()).await;
    // A client that has gone may still be leaving.
    while relay.counters().open > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let stopped = relay.stop().await.unwrap();
    let mut writer = Writer::create(trace, Options::new(Engine::Mysql, "tap")).unwrap();
    // The tap's own address is no server: the recording is of the server behind it.
    for mut row in stopped.sink {
        row.server = Some(format!("127.0.0.1:{server}").into());
        writer.request(row);
    }
    assert_eq!(stopped.losses, Losses::default());
    writer.finish(&stopped.losses).unwrap();
}

/// A replay straight into the primary, with both nodes sampled.
fn direct(sandbox: &Sandbox, trace: &Path, run: &Path) -> Order {
    let router = format!("127.0.0.1:{}/", sandbox.ports().router);
    let text = sandbox.pair_toml().replace(&router, &format!("127.0.0.1:{}/", sandbox.ports().primary));
    let text = text.lines().filter(|line| !line.starts_with("tap =")).collect::<Vec<_>>().join("\n");
    let text = text.replace("evidence = \"tap\"", "evidence = \"none\"");
    let users = "[client]\nuser=ann\npassword=\"of ann\"\n[client_bob]\nuser=bob\npassword=\"of bob\"\n";
    Order {
        trace: trace.to_owned(),
        pair: Pair::parse(Path::new("pair.toml"), &text).unwrap(),
        passwords: Passwords { option_file: OptionFile::parse(users), ..Passwords::default() },
        run: run.to_owned(),
        existing: Existing::Refuse,
        speed: Speed::ORIGINAL,
        only: Only::All,
        allow_recorded_server: true,
        sample_every: Duration::from_millis(10),
    }
}

async fn run(order: &Order) -> Result<Summary, ReplayError> {
    let (_sender, stop) = Stop::new();
    replay(order, &std::sync::Arc::default(), stop).await
}

fn rows(trace: &Path) -> Vec<Request> {
    Reader::open(trace).unwrap().requests().map(|row| row.unwrap()).collect()
}

/// What two rows have in common when one repeats the other. Positions move on, and with them the bytes that tell them.
fn timeless(row: Request) -> Request {
    Request {
        session: 0,
        seq: 0,
        recorded_session: None,
        recorded_seq: None,
        start_ns: 0,
        due_ns: None,
        late_cause: None,
        first_row_ns: None,
        duration_ns: None,
        client: None,
        server: None,
        // The server counts statements over all its sessions.
        statement: None,
        position: None,
        result_bytes: None,
        ..row
    }
}
