//! Replays into a real MariaDB pair: what was recorded is repeated, over every kind of command and authentication.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value, params};
use splitproof_capture::trace::{Engine, Existing, Kind, Outcome, Request};
use splitproof_replay::clock::Speed;
use splitproof_replay::pair::{OptionFile, Passwords};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;

use crate::replay::{assert_kinds, direct, record, repeated, run, timeless};

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
    runtime.block_on(record(&sandbox, &trace, |port| async move {
        tokio::join!(
            client(port, "shop", None),
            client(port, "ann", Some("of ann")),
            client(port, "bob", Some("of bob"))
        );
        tokio::task::spawn_blocking(move || command_line(port, &file)).await.unwrap();
    }));
    let mut order = direct(&sandbox, &trace, &home.path().join("run"));
    let users = "[client]\nuser=ann\npassword=\"of ann\"\n[client_bob]\nuser=bob\npassword=\"of bob\"\n";
    order.passwords.option_file = OptionFile::parse(users);
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!(summary.not_sent, BTreeMap::new(), "{summary}");
    assert_eq!((summary.recorded, summary.lost_sessions, summary.refused.len()), (summary.sent, 0, 0), "{summary}");

    let recorded = repeated(&order, &[Kind::Close, Kind::Disconnect], comparable);
    use Kind::*;
    assert_kinds(&recorded, &[Query, Prepare, Execute, Close, Copy, ChangeUser, Reset, Ping, InitDb]);
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

/// What two rows have in common when one repeats the other. Positions move on, and with them the bytes that tell them; and
/// the server counts statements over all its sessions.
fn comparable(row: Request) -> Request {
    Request { statement: None, position: None, result_bytes: None, ..timeless(row) }
}
