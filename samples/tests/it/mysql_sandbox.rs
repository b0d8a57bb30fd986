//! The MariaDB pair's life: GTID replication, delay, pausing, logs, the same data and position after a restore, and what
//! users get wrong.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use splitproof_capture::trace::Engine;
use splitproof_samples::sandbox::{Plan, StatementLog};
use splitproof_samples::{Error, Sandbox};

use crate::tools;

const COUNT: &str = "SELECT COUNT(*) FROM t";

fn on(node: splitproof_samples::sandbox::node::Node, sql: &str) -> String {
    node.sql("shop", sql).unwrap()
}

/// The statement as a client without special rights sends it, over TCP: what it printed, or its error.
fn as_shop(port: u16, sql: &str) -> Result<String, String> {
    let output = std::process::Command::new("mariadb")
        .args(["--no-defaults", "--protocol=TCP", "--host=127.0.0.1", "--user=shop", "--skip-column-names", "--batch"])
        .args([&format!("--port={port}"), "--database=shop", "--execute", sql])
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// What both servers hold and how far they are. A checksum of every table, and the GTID state.
fn contents(sandbox: &Sandbox) -> [String; 2] {
    [sandbox.primary(), sandbox.replica()].map(|node| {
        let state = "SELECT @@gtid_current_pos, @@gtid_binlog_state, @@gtid_slave_pos";
        format!("{}\n{}", on(node, "CHECKSUM TABLE t"), on(node, state))
    })
}

#[test]
fn a_mariadb_pair_replicates_waits_and_comes_back_as_it_was() {
    let home = crate::home();
    let dir = home.path().join("pair");
    let mut sandbox = Sandbox::create_with(&dir, Plan::new(Engine::Mysql).unwrap()).unwrap();
    assert!(matches!(sandbox.delay(1), Err(Error::Precondition { .. })), "nothing runs yet");
    sandbox.up().unwrap();
    let (primary, replica) = (sandbox.ports().primary, sandbox.ports().replica);

    as_shop(primary, "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    sandbox.wait_caught_up().unwrap();
    assert_eq!(as_shop(replica, COUNT).unwrap(), "1");
    let position = on(sandbox.primary(), "SELECT @@gtid_binlog_pos");
    assert!(position.starts_with("0-1-"), "{position}");
    assert_eq!(on(sandbox.replica(), "SELECT @@gtid_slave_pos"), position);
    let settings = "SELECT @@gtid_strict_mode, @@log_slave_updates, @@binlog_format, @@read_only, @@log_bin";
    assert_eq!(on(sandbox.primary(), settings), "1\t1\tROW\t0\t1");
    assert_eq!(on(sandbox.replica(), settings), "1\t1\tROW\t1\t1");
    let refused = as_shop(replica, "INSERT INTO t VALUES (2)").unwrap_err();
    assert!(refused.contains("ERROR 1290"), "{refused}");

    sandbox.snapshot().unwrap();
    let before = contents(&sandbox);

    // Delayed: not there before its time, there after it.
    sandbox.delay(2).unwrap();
    let written = Instant::now();
    as_shop(primary, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(as_shop(replica, COUNT).unwrap(), "1");
    assert!(written.elapsed() < Duration::from_secs(1), "too slow to see the delay");
    sandbox.wait_caught_up().unwrap();
    // The server counts whole seconds.
    assert!(written.elapsed() >= Duration::from_secs(1), "{:?}", written.elapsed());
    assert_eq!(as_shop(replica, COUNT).unwrap(), "2");
    sandbox.delay(0).unwrap();

    // Paused, for as long as it takes; a delay set meanwhile does not wake it.
    sandbox.pause_replay().unwrap();
    as_shop(primary, "INSERT INTO t VALUES (3)").unwrap();
    sandbox.delay(0).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(as_shop(replica, COUNT).unwrap(), "2");
    sandbox.resume_replay().unwrap();
    sandbox.wait_caught_up().unwrap();
    assert_eq!(as_shop(replica, COUNT).unwrap(), "3");
    assert_ne!(contents(&sandbox), before);

    sandbox.restore().unwrap();
    assert_eq!(contents(&sandbox), before, "a restore gives the same data and position");
    as_shop(primary, "INSERT INTO t VALUES (9)").unwrap();
    sandbox.wait_caught_up().unwrap();
    assert_eq!(on(sandbox.replica(), "SELECT MAX(a) FROM t"), "9", "the restored pair replicates");

    // Every statement in a log; a restart keeps the choice.
    sandbox.log_statements(Some(StatementLog::File)).unwrap();
    sandbox.down().unwrap();
    sandbox.up().unwrap();
    for (port, node) in [(primary, sandbox.primary()), (replica, sandbox.replica())] {
        as_shop(port, &format!("SELECT 'said at {port}'")).unwrap();
        let log = std::fs::read_to_string(node.statement_log().unwrap()).unwrap();
        assert!(log.contains(&format!("SELECT 'said at {port}'")), "{log}");
    }
    sandbox.log_statements(Some(StatementLog::Table)).unwrap();
    as_shop(replica, "SELECT 'in a table'").unwrap();
    let logged = on(sandbox.replica(), "SELECT argument FROM mysql.general_log WHERE argument LIKE '%in a table%'");
    assert!(logged.contains("SELECT 'in a table'"), "{logged}");
    sandbox.log_statements(None).unwrap();

    // Another process carries on.
    drop(sandbox);
    let mut sandbox = Sandbox::open(&dir).unwrap();
    sandbox.up().unwrap();
    assert_eq!(as_shop(replica, "SELECT MAX(a) FROM t").unwrap(), "9");
    let pid = sandbox.primary().pid().unwrap();
    drop(sandbox);
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(command.is_empty(), "dropping stops the servers");
    Sandbox::open(&dir).unwrap().destroy().unwrap();
    assert!(!dir.exists());
}

#[test]
fn a_replica_that_cannot_apply_says_why() {
    let home = crate::home();
    let mut sandbox = Sandbox::create_with(home.path().join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    // A row that only the replica has, and then the same key from the primary.
    on(sandbox.primary(), "CREATE TABLE t (a INT PRIMARY KEY)");
    sandbox.wait_caught_up().unwrap();
    on(sandbox.replica(), "SET sql_log_bin = 0; INSERT INTO t VALUES (1)");
    on(sandbox.primary(), "INSERT INTO t VALUES (1)");
    let asked = Instant::now();
    let error = sandbox.wait_caught_up().unwrap_err().to_string();
    assert!(asked.elapsed() < Duration::from_secs(20), "it waited for what will not come");
    assert!(error.contains("Duplicate entry '1' for key 'PRIMARY'"), "{error}");
}

#[test]
fn mistakes_with_the_sandbox_are_named() {
    let home = crate::home();
    let dir = home.path().join("my");
    let mut sandbox = Sandbox::create_with(&dir, Plan::new(Engine::Mysql).unwrap()).unwrap();
    let taken = TcpListener::bind(("127.0.0.1", sandbox.ports().primary)).unwrap();
    let error = sandbox.up().unwrap_err();
    assert!(matches!(error, Error::PortTaken { node: "primary", .. }), "{error}");
    let port = taken.local_addr().unwrap().port().to_string();
    assert!(error.to_string().contains(&port) && error.to_string().contains("in use"), "{error}");
    drop(taken);

    // A server that cannot start says so at once, with the end of its log.
    let settings = dir.join("primary/my.cnf");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("local-infile = ON", "local-infiel = ON")).unwrap();
    let error = sandbox.up().unwrap_err();
    assert!(matches!(error, Error::Ended { program: "mariadbd", .. }), "{error}");
    assert!(error.to_string().contains("local-infiel"), "{error}");

    let pg = home.path().join("pg");
    let plan = Plan { performance_schema: true, ..Plan::new(Engine::Postgresql).unwrap() };
    let error = Sandbox::create_with(&pg, plan).unwrap_err().to_string();
    assert!(error.contains("PostgreSQL, which has no performance_schema"), "{error}");
    let mut other = Sandbox::create(&pg).unwrap();
    other.up().unwrap();
    let error = other.log_statements(None).unwrap_err().to_string();
    assert!(error.contains("is for PostgreSQL") && error.contains("create --engine mysql"), "{error}");

    let unknown = tools::run("sandbox", ["create", "--engine", "oracle"]);
    unknown.expect(2, &["oracle", "postgresql, mysql"]);
}
