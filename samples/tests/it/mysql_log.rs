//! Evidence by the nodes' general logs: the same destinations as the router's own log and as the taps have them, and every setting
//! as it was before.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use splitproof_capture::trace::{Engine, Kind, Losses, Outcome, Reader, Request};
use splitproof_samples::sandbox::state::Backends;

use crate::mysql_stage::{Stage, stage};
use crate::verdict::Verdict;

/// A router whose decisions do not depend on how far the replica is: two replays of a window go the same ways.
const STEADY: &str = "causal_reads: false";
const SETTINGS: &str =
    "SELECT @@GLOBAL.general_log, @@GLOBAL.log_output, @@GLOBAL.log_disabled_statements, @@GLOBAL.sql_log_off";

/// The settings of both nodes' logs.
fn settings(stage: &Stage) -> [String; 2] {
    [stage.sandbox.primary(), stage.sandbox.replica()].map(|node| node.sql("mysql", SETTINGS).unwrap())
}

/// How often a text went to these nodes.
type Ways = BTreeMap<(String, Vec<String>), usize>;

/// Where each statement ran, by its place in the recording; and the same as the router's log has it, in sum.
fn judged(run: &Path, place: &Path) -> (BTreeMap<(u64, u32), Vec<String>>, Ways, Verdict) {
    let rows: HashMap<(u64, u32), Request> = Reader::open(run)
        .unwrap()
        .requests()
        .map(|row| row.unwrap())
        .map(|row| ((row.session, row.seq), row))
        .collect();
    let verdict = Verdict::of(run, run, place);
    let (mut by_place, mut ways) = (BTreeMap::new(), Ways::new());
    for request in verdict.requests.iter().filter(|request| request.needed) {
        let row = &rows[&(request.session, request.seq)];
        // A log holds no COM_STMT_FETCH, and the router's says nothing of it either.
        if row.kind == Kind::Fetch {
            continue;
        }
        let mut nodes = request.nodes.clone();
        nodes.sort();
        *ways.entry((row.sql.as_deref().unwrap().to_owned(), nodes.clone())).or_default() += 1;
        by_place.insert((row.recorded_session.unwrap(), row.recorded_seq.unwrap()), nodes);
    }
    (by_place, ways, verdict)
}

fn decided(stage: &Stage) -> Ways {
    let mut ways = Ways::new();
    for entry in stage.decisions().into_iter().filter(|entry| !is_blank(&entry.sql)) {
        let mut nodes = entry.destinations;
        nodes.sort();
        *ways.entry((entry.sql, nodes)).or_default() += 1;
    }
    ways
}

fn is_blank(sql: &str) -> bool {
    sql.trim_end_matches([';', ' ']).is_empty()
}

fn different(ours: &Ways, routers: &Ways) -> Vec<String> {
    let all = ours.keys().chain(routers.keys()).collect::<std::collections::BTreeSet<_>>();
    let counts = |key| (ours.get(key).copied().unwrap_or(0), routers.get(key).copied().unwrap_or(0));
    let differ = all.into_iter().filter(|key| counts(key).0 != counts(key).1);
    differ.map(|key| format!("{:?}: {}: {:?}", key.1, key.0, counts(key))).collect()
}

#[test]
fn logs_taps_and_the_routers_own_log_agree_on_every_destination() {
    let mut stage = stage();
    let window = stage.path("window");
    stage.fresh(STEADY, Backends::Nodes);
    let before = settings(&stage);
    let logged = stage.path("logged");
    let summary = stage.replayed(&stage.by_logs(), &window, &logged, &["--speed", "2"]);
    assert_eq!(summary["sent"], summary["recorded"], "{summary}");
    assert_eq!(settings(&stage), before);
    let (by_log, ways, verdict) = judged(&logged, &stage.path("verdict"));
    assert_eq!(different(&ways, &decided(&stage)), [""; 0]);
    assert!(by_log.len() > 1000 && by_log.values().all(|nodes| !nodes.is_empty()), "{}", by_log.len());
    let fetches = verdict.requests.iter().filter(|request| request.needed).count() - by_log.len();
    assert_eq!(verdict.metric("unattributed"), fetches as f64);

    // What the log tells, and what not.
    let run = Reader::open(&logged).unwrap();
    for name in ["primary", "replica"] {
        assert_eq!(run.manifest().nodes[name].losses, Losses::default(), "{name}");
        let rows: Vec<Request> = run.node(name).unwrap().map(|row| row.unwrap()).collect();
        assert!(rows.iter().any(|row| row.kind == Kind::Execute) && rows.iter().any(|row| row.kind == Kind::Query));
        assert!(rows.iter().all(|row| row.outcome == Outcome::Unfinished && row.duration_ns.is_none()));
        let ours = |row: &&Request| row.sql.as_deref().is_some_and(|sql| sql.contains("splitproof"));
        assert_eq!(rows.iter().find(ours), None, "statements of ours");
        // A second is the time that SLEEP() takes at most; the rest of a statement is shorter.
        let window = run.manifest().table.window.unwrap();
        let during = window.first_start_ns - 2_000_000_000..window.last_end_ns + 2_000_000_000;
        assert!(rows.iter().all(|row| during.contains(&row.start_ns)), "{name}: times of another clock");
    }

    stage.fresh(STEADY, Backends::Taps);
    let tapped = stage.path("tapped");
    stage.replayed(&stage.sandbox.pair_toml(), &window, &tapped, &["--speed", "2"]);
    let (by_tap, ways, verdict) = judged(&tapped, &stage.path("verdict"));
    assert_eq!(verdict.metric("unattributed"), 0.0);
    assert_eq!(different(&ways, &decided(&stage)), [""; 0]);
    let differ: Vec<_> = by_log.iter().filter(|(place, nodes)| by_tap.get(place) != Some(nodes)).take(5).collect();
    assert!(differ.is_empty() && by_log.len() == by_tap.len(), "{differ:?}");
}

#[test]
fn texts_parameters_and_statements_inside_statements_are_matched() {
    let mut stage = stage();
    stage.fresh(STEADY, Backends::Nodes);
    let port = stage.sandbox.ports().router;
    let trace = stage.path("odd");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(crate::replay::record_at(Engine::Mysql, port, &trace, odd));
    let before = stage.decisions().len();
    let run = stage.path("odd-run");
    let summary = stage.replayed(&stage.by_logs(), &trace, &run, &["--allow-recorded-server"]);
    assert_eq!(summary["sent"], summary["recorded"], "{summary}");
    let (by_log, ways, verdict) = judged(&run, &stage.path("verdict"));
    let mut decided = Ways::new();
    for mut entry in stage.decisions().split_off(before) {
        entry.destinations.sort();
        *decided.entry((entry.sql, entry.destinations)).or_default() += 1;
    }
    assert_eq!(different(&ways, &decided), [""; 0]);
    assert_eq!(verdict.metric("unattributed"), 0.0);
    assert!(by_log.len() > 15, "{}", by_log.len());
}

/// Statements whose text in the log differs from what was sent.
async fn odd(port: u16) {
    use mysql_async::prelude::Queryable;
    use mysql_async::{Conn, OptsBuilder, Value};
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(port).user(Some("shop"));
    let mut conn = Conn::new(options.db_name(Some("shop")).prefer_socket(false)).await.unwrap();
    for sql in [
        "SELECT 'caf\u{e9} \u{1f600}' /* \u{1f600} */ ;  ",
        "  SELECT 1.50, 1e3, 0x61; SELECT 2 ; ",
        "PREPARE s FROM 'SELECT ?, name FROM users WHERE id = ?'",
        "SET @a = 1, @b = 'it''s'",
        "EXECUTE s USING @b, @a",
        "EXECUTE IMMEDIATE 'SELECT 7'",
        "DEALLOCATE PREPARE s",
        // The log has the time of day in the session's time zone.
        "SET time_zone = '+05:45'",
        "SELECT 'far in the east'",
        "SET time_zone = '-12:00'",
        "SELECT 'far in the west'",
        "SELECT \"a \\\" b\", 'back\\\\slash\\n', N'n'",
    ] {
        conn.query_drop(sql).await.unwrap();
    }
    conn.query_drop("EXECUTE nobody").await.unwrap_err();
    let date = Value::Date(2024, 2, 29, 12, 30, 5, 123_456);
    let day = Value::Date(2024, 2, 29, 0, 0, 0, 0);
    let time = Value::Time(true, 1, 2, 3, 4, 500_000);
    for value in [
        Value::Int(-5),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Double(1.5e300),
        Value::Double(1e15),
        Value::Double(0.1),
        Value::Float(0.1),
        Value::NULL,
        Value::Bytes(b"it's \"q\" \\ \n \0 \xc3\xa9 \xf0\x9f\x98\x80".to_vec()),
        Value::Bytes(b"\x00\xff\xfe".to_vec()),
        Value::Bytes(b"12.50".to_vec()),
        Value::Bytes(vec![b'x'; 70_000]),
        date,
        day,
        time,
    ] {
        conn.exec_drop("SELECT ?, 'q' FROM users WHERE id = 1  -- c", (value,)).await.unwrap();
    }
    conn.disconnect().await.unwrap();
}

#[test]
fn settings_are_put_back_whatever_happens() {
    let mut stage = stage();
    stage.fresh(STEADY, Backends::Nodes);
    let window = stage.path("window");
    // As a user may have them: a log into a file, and statements inside stored programs as well.
    let unusual = "SET GLOBAL log_output = 'FILE', general_log = 1, log_disabled_statements = ''";
    stage.sandbox.primary().sql("mysql", unusual).unwrap();
    let before = settings(&stage);
    assert_eq!(before[0], "1\tFILE\t\t0");
    assert_eq!(before[1], "0\tFILE\tsp\t0");

    // Ctrl-C.
    let replay = stage.replay(&stage.by_logs(), &window, &stage.path("stopped"), &[]);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(settings(&stage)[0], "1\tFILE,TABLE\tslave,sp\t0");
    assert_eq!(settings(&stage)[1], "1\tTABLE\tslave,sp\t0");
    replay.interrupt();
    let ended = replay.end();
    ended.expect(1, &["stopping"]);
    assert_eq!(settings(&stage), before);
    let summary = ended.json();
    assert!(summary["stopped"].as_bool().unwrap() && summary["sent"].as_u64() > Some(0), "{summary}");
    let run = Reader::open(stage.path("stopped")).unwrap();
    assert!(run.manifest().nodes.values().all(|node| node.requests > 0), "what was logged is there");

    // The second node cannot be watched: the first one is as before, and it is said why.
    stage
        .sandbox
        .primary()
        .sql("mysql", "CREATE USER IF NOT EXISTS low; GRANT ALL ON *.* TO low; REVOKE SUPER ON *.* FROM low")
        .unwrap();
    stage.sandbox.wait_caught_up().unwrap();
    let port = stage.sandbox.ports().replica;
    let low = stage.by_logs().replace(&format!("root@127.0.0.1:{port}"), &format!("low@127.0.0.1:{port}"));
    assert!(low.contains("low@"), "{low}");
    let ended = stage.replay(&low, &window, &stage.path("refused"), &[]).end();
    ended.expect(2, &["node \"replica\"", "general log cannot be used", "SUPER", "(1227)", "evidence = \"tap\""]);
    assert_eq!(settings(&stage), before);
    stage
        .sandbox
        .primary()
        .sql("mysql", "REVOKE ALL ON *.* FROM low; GRANT SUPER, SLAVE MONITOR, EXECUTE ON *.* TO low")
        .unwrap();
    stage.sandbox.wait_caught_up().unwrap();
    let low = low.replace("/shop\"", "/\"");
    let ended = stage.replay(&low, &window, &stage.path("refused"), &[]).end();
    ended.expect(2, &["node \"replica\"", "SELECT on mysql.general_log", "(1142)"]);
    assert_eq!(settings(&stage), before);
    let back = "SET GLOBAL general_log = 0, log_disabled_statements = 'sp'";
    stage.sandbox.primary().sql("mysql", back).unwrap();
}

#[test]
fn a_log_that_is_switched_off_or_emptied_meanwhile_is_reported() {
    let mut stage = stage();
    stage.fresh(STEADY, Backends::Nodes);
    let window = stage.path("window");
    for (sql, said) in [("SET GLOBAL general_log = 0", "switched off"), ("TRUNCATE TABLE mysql.general_log", "emptied")]
    {
        let run = stage.path("meddled");
        let replay = stage.replay(&stage.by_logs(), &window, &run, &[]);
        std::thread::sleep(Duration::from_secs(3));
        stage.sandbox.replica().sql("mysql", sql).unwrap();
        replay.interrupt();
        let ended = replay.end();
        ended.expect(1, &[]);
        let summary = ended.json();
        let problem = summary["nodes"][1]["problem"].as_str().unwrap_or_default();
        assert!(problem.contains(said), "{summary}");
        assert_eq!(summary["nodes"][0].get("problem"), None, "{summary}");
        let run = Reader::open(&run).unwrap();
        assert_eq!(run.manifest().nodes["replica"].losses.get(splitproof_capture::trace::Loss::LogGap), 1);
    }
}
