//! A real server writes all three formats at once, while the tap records what passes: all of them tell the same.

use splitproof_capture::tap::{Encryption, Options, Relay};
use splitproof_capture::trace::{Engine, Kind, Outcome, Request};

use super::scene::{Log, in_order};
use crate::server::Server;

const SETTINGS: &str = "-c logging_collector=on -c log_destination=stderr,csvlog,jsonlog -c log_directory=log \
                        -c log_filename=server.log -c log_connections=on -c log_disconnections=on -c log_timezone=UTC";

const SCRIPT: &str = r#"CREATE TABLE t (a int, b text);
INSERT INTO t
	SELECT n, 'it''s é

  	"quoted"'
FROM generate_series(1, 10) n;
SELECT * FROM missing;
COPY t TO STDOUT;
SELECT 1 / (a - a) FROM t;
BEGIN; SELECT 1\; SELECT 2; ROLLBACK;
PREPARE p (int) AS SELECT $1 + 1; EXECUTE p (2);
"#;

/// What a session asked: text, parameters as text, how it ended, the error.
type Asked = (String, Vec<Option<String>>, Outcome, Option<String>);

/// The statements of each session that asked any, in an order that does not depend on the sessions' numbers.
fn asked(rows: &[Request]) -> Vec<Vec<Asked>> {
    let mut sessions = std::collections::BTreeMap::<u64, Vec<Asked>>::new();
    for row in rows.iter().filter(|row| matches!(row.kind, Kind::Query | Kind::Execute | Kind::Copy)) {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let params = row.params.iter().map(|param| param.value.as_deref().map(text)).collect();
        // The text log does not tell of SQLSTATE with the usual prefix.
        let message = row.error_message.as_deref().map(str::to_owned);
        let sql = row.sql.as_deref().unwrap_or_default().to_owned();
        sessions.entry(row.session).or_default().push((sql, params, row.outcome, message));
    }
    let mut sessions: Vec<_> = sessions.into_values().collect();
    sessions.sort_by_key(|session| format!("{session:?}"));
    sessions
}

/// Runs clients through a tap in front of a server that logs as told. Returns what the tap recorded, and the three logs.
async fn record(settings: &str) -> Option<(Vec<Request>, [Log; 3])> {
    let server = Server::start_with(&format!("{SETTINGS} {settings}"), &[])?;
    let upstream = format!("127.0.0.1:{}", server.port);
    let mut options = Options::new(Engine::Postgresql, "127.0.0.1:0".parse().unwrap(), upstream);
    options.encryption = Encryption::Refuse;
    let relay = Relay::start(options, Vec::new()).await.unwrap();
    let port = relay.listen().port().to_string();
    let run = |program: &'static str, args: &[&str]| {
        let at = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
        server.client(program, &[&at, args].concat())
    };
    let scripts = tempfile::tempdir().unwrap();
    std::fs::set_permissions(scripts.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = |name: &str, text: &str| {
        let path = scripts.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    run("psql", &["-qAtX", "-f", &script("all.sql", SCRIPT)]);
    let values = script("values.sql", "SELECT :quoted::text, :blank::text;\n");
    let quoted = "quoted=it's, $2 = 'x'";
    for args in [
        &["-i", "-q"][..],
        &["-n", "-M", "simple", "-c", "3", "-t", "20"],
        &["-n", "-M", "extended", "-c", "3", "-t", "20"],
        &["-n", "-M", "prepared", "-c", "3", "-t", "20"],
        &["-n", "-M", "extended", "-t", "3", "-D", quoted, "-D", "blank= ", "-f", &values],
    ] {
        let output = run("pgbench", &[args, &["postgres"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut tapped = relay.stop().await.unwrap().sink;
    in_order(&mut tapped);
    server.stop();
    let logs = [("stderr", "log"), ("csv", "csv"), ("json", "json")];
    let logs = logs.map(|(format, extension)| {
        Log::read(&format!("postgresql-{format}"), server.file(&format!("log/server.{extension}")))
    });
    Some((tapped, logs))
}

fn compare(tapped: &[Request], logs: &[Log; 3]) {
    let theirs = asked(tapped);
    assert!(theirs.iter().map(Vec::len).sum::<usize>() > 500, "{theirs:?}");
    for log in logs {
        let ours = asked(&log.rows);
        assert_eq!(ours.len(), theirs.len(), "sessions");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert_eq!(ours, theirs);
            }
            assert_eq!(ours.len(), theirs.len());
        }
        let connects = |rows: &[Request]| rows.iter().filter(|row| row.kind == Kind::Connect).count();
        // pg_ctl connects itself, to see whether the server is there.
        assert!(connects(&log.rows) >= connects(tapped));
        assert!(log.rows.iter().all(|row| !row.joined_midway));
    }
    let [stderr, csv, json] = logs;
    assert_eq!(told(csv, true), told(json, true));
    assert_eq!(told(stderr, false), told(csv, false));
}

/// What a log tells, session by session. The usual prefix of the text log does not hold SQLSTATE. Processes write to each log at
/// once, so that their entries of one millisecond can be in another order there.
fn told(log: &Log, with_code: bool) -> Vec<Vec<String>> {
    let mut sessions = std::collections::BTreeMap::<u64, Vec<String>>::new();
    for row in &log.rows {
        let (code, duration_ns) = (row.error_code.as_ref().filter(|_| with_code), row.duration_ns);
        let duration_ns = duration_ns.filter(|_| row.kind != Kind::Connect);
        let (start_us, params) = (row.start_ns / 1000, &row.params);
        let asked = (row.seq, row.kind, &row.messages, &row.statement, &row.sql, params);
        sessions
            .entry(row.session)
            .or_default()
            .push(format!("{start_us} {duration_ns:?} {asked:?} {} {code:?}", row.outcome));
    }
    let mut sessions: Vec<_> = sessions.into_values().collect();
    sessions.sort();
    sessions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_logged_when_they_end_are_those_that_passed() {
    match record("-c log_min_duration_statement=0").await {
        Some((tapped, logs)) => compare(&tapped, &logs),
        None => println!("skipped: 1 (PostgreSQL is not installed)"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_logged_before_they_run_are_those_that_passed() {
    match record("-c log_statement=all -c log_duration=on").await {
        Some((tapped, logs)) => compare(&tapped, &logs),
        None => println!("skipped: 1 (PostgreSQL is not installed)"),
    }
}
