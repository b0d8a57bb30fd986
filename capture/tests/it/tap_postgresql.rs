//! The relay in front of a real PostgreSQL, with its own clients.

use splitproof_capture::tap::{Encryption, Options, Relay};
use splitproof_capture::trace::{Engine, Kind, Outcome, Request};

use crate::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql_and_pgbench_through_the_relay() {
    let Some(server) = Server::start() else {
        crate::skipped(1, "PostgreSQL is not installed");
        return;
    };
    let mut options =
        Options::new(Engine::Postgresql, "127.0.0.1:0".parse().unwrap(), format!("127.0.0.1:{}", server.port));
    options.encryption = Encryption::Refuse;
    let relay = Relay::start(options, Vec::new()).await.unwrap();
    let port = relay.listen().port().to_string();

    let run = |program: &'static str, args: &[&str]| {
        let at = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
        let output = server.client(program, &[&at, args].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program}: {text} {}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let shown = run(
        "psql",
        &[
            "-qAtX",
            "-c",
            "CREATE TABLE t (a int, b text)",
            "-c",
            "INSERT INTO t SELECT n, 'x' FROM generate_series(1, 1000) n",
            "-c",
            "COPY t TO STDOUT",
            "-c",
            "DO $$ BEGIN RAISE WARNING 'careful'; END $$",
            "-c",
            "SELECT count(*) FROM t; UPDATE t SET b = 'y' WHERE a <= 10",
        ],
    );
    assert_eq!(shown.lines().count(), 1_001);
    run("pgbench", &["-i", "-q", "postgres"]);
    run("pgbench", &["-n", "-M", "prepared", "-c", "4", "-t", "50", "postgres"]);
    run("pgbench", &["-n", "-M", "extended", "-S", "-c", "4", "-t", "50", "postgres"]);

    let stopped = relay.stop().await.unwrap();
    assert!(stopped.losses.is_empty(), "{:?}", stopped.losses);
    let rows = stopped.sink;
    let find =
        |sql: &str| rows.iter().find(|row| row.sql.as_deref().is_some_and(|text| text.starts_with(sql))).unwrap();
    let copy = find("COPY t TO STDOUT");
    assert_eq!((copy.kind, copy.rows, copy.outcome), (Kind::Copy, Some(1_000), Outcome::Ok));
    assert_eq!(find("INSERT INTO t SELECT").affected, Some(1_000));
    assert_eq!(find("DO $$").warnings, Some(1));
    let both = find("SELECT count(*)");
    assert_eq!((both.rows, both.affected), (Some(1), Some(10)));

    // pgbench -t 50 with 4 clients: each statement of its script 200 times.
    let executed = |sql: &str| {
        let of =
            |row: &&Request| row.kind == Kind::Execute && row.sql.as_deref().is_some_and(|text| text.starts_with(sql));
        rows.iter().filter(of).count()
    };
    assert_eq!(executed("INSERT INTO pgbench_history"), 200);
    assert_eq!(executed("UPDATE pgbench_accounts"), 200);
    assert_eq!(executed("SELECT abalance FROM pgbench_accounts"), 400);
    assert!(rows.iter().all(|row| row.outcome == Outcome::Ok && !row.truncated), "every request was answered");
    assert!(rows.iter().all(|row| row.application.is_some() && row.user.as_deref() == Some("postgres")));
}
