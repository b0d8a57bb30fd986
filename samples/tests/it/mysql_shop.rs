//! The sample workload on MariaDB: what it leaves behind, and that it uses what it says.

use std::collections::BTreeSet;
use std::time::Duration;

use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::{Plan, StatementLog};
use splitproof_samples::shop::{Summary, Workload};

/// A running pair in a directory of its own.
fn pair() -> (tempfile::TempDir, Sandbox) {
    let home = crate::home();
    let mut sandbox = Sandbox::create_with(home.path().join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    (home, sandbox)
}

fn run(sandbox: &Sandbox) -> Summary {
    let workload = Workload {
        clients: 3,
        requests: 1800,
        pace: Duration::from_millis(2),
        ..Workload::on(Engine::Mysql, sandbox.ports().primary)
    };
    tokio::runtime::Runtime::new().unwrap().block_on(workload.run()).unwrap()
}

/// Every table whose rows hold no time of day.
fn checksums(node: splitproof_samples::sandbox::node::Node) -> String {
    node.sql("shop", "CHECKSUM TABLE users, stock, order_lines, imports, summary, sales").unwrap()
}

#[test]
fn the_shop_on_mariadb_speaks_both_protocols_and_repeats_itself() {
    let (_home, mut sandbox) = pair();
    sandbox.load_shop().unwrap();
    sandbox.snapshot().unwrap();
    let seed = checksums(sandbox.primary());
    assert_eq!(checksums(sandbox.replica()), seed);

    sandbox.log_statements(Some(StatementLog::Table)).unwrap();
    let summary = run(&sandbox);
    sandbox.log_statements(None).unwrap();
    // Duplicate key, and a CHECK constraint: the clients' own mistakes.
    let codes: Vec<_> = summary.errors.keys().map(String::as_str).collect();
    assert_eq!(codes, ["1062", "4025"]);
    assert!(summary.requests >= 1800 && summary.sessions > 7, "{summary:?}");

    // The server's own names for what it was sent, and its counts of what it does not log.
    let logged = sandbox.primary().sql("mysql", "SELECT DISTINCT command_type FROM general_log").unwrap();
    let logged: BTreeSet<&str> = logged.lines().collect();
    for command in
        ["Connect", "Query", "Prepare", "Execute", "Long Data", "Reset stmt", "Close stmt", "Init DB", "Quit"]
    {
        assert!(logged.contains(command), "{command} is not among {logged:?}");
    }
    let counted = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = ";
    for (command, counter) in
        [("fetch", "COM_STMT_FETCH"), ("ping or reset", "COM_ADMIN_COMMANDS"), ("local file", "COM_LOAD")]
    {
        let count = sandbox.primary().sql("mysql", &format!("{counted}'{counter}'")).unwrap();
        assert!(count.parse::<u64>().unwrap() > 0, "{command}");
    }

    sandbox.wait_caught_up().unwrap();
    let after = checksums(sandbox.primary());
    assert_ne!(after, seed);
    assert_eq!(checksums(sandbox.replica()), after, "the replica has the same rows");

    sandbox.restore().unwrap();
    assert_eq!(checksums(sandbox.primary()), seed);
    let again = run(&sandbox);
    assert_eq!((again.requests, again.errors), (summary.requests, summary.errors), "the same seed, the same requests");
    assert_eq!(checksums(sandbox.primary()), after, "and the same rows");
}

#[test]
fn a_write_through_a_function_does_not_pass_a_read_only_replica() {
    let (_home, sandbox) = pair();
    sandbox.load_shop().unwrap();
    let on_replica = |sql: &str| {
        let output = std::process::Command::new("mariadb")
            .args(["--no-defaults", "--protocol=TCP", "--host=127.0.0.1", "--user=shop", "--database=shop"])
            .args([&format!("--port={}", sandbox.ports().replica), "--execute", sql])
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    for write in ["SELECT audit_login(7)", "SELECT NEXTVAL(user_id_seq)", "CALL rebuild_summary()"] {
        assert!(on_replica(write).contains("ERROR 1290"), "{write}: {}", on_replica(write));
    }
    assert_eq!(on_replica("SELECT order_total(7)"), "");
}
