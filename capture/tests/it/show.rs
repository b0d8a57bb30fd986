//! What `show` says of a trace, and of whether it can be replayed.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use splitproof_capture::merge::{Plan, merge};
use splitproof_capture::redact::{Key, redact};
use splitproof_capture::sql::{Dialect, Shapes};
use splitproof_capture::trace::{
    Encrypted, Engine, Existing, Kind, Loss, Losses, Options, Outcome, Request, Shape, Sink, Writer,
};

fn output(args: &[&str], trace: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    command.arg("show").args(args).arg(trace).output().expect("runs")
}

fn show(args: &[&str], trace: &Path) -> String {
    let output = output(args, trace);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The same of a trace that has a problem.
fn show_problem(args: &[&str], trace: &Path) -> String {
    let output = output(args, trace);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(trace: &Path) -> Value {
    serde_json::from_str(&show(&["--format", "json"], trace)).expect("JSON")
}

/// Two users of two applications; one statement is rare and slow.
fn write(dir: &Path, midway: bool, losses: &Losses) {
    let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "packets")).expect("creates");
    let mut shapes = Shapes::new(Dialect::Postgresql);
    for seq in 0..20_u32 {
        let sql = match seq {
            7 => "SELECT count(*) FROM a_table_with_a_name_that_is_as_long_as_names_of_tables_sometimes_are_and_longer, b".to_owned(),
            _ => format!("SELECT a FROM t WHERE b = {seq} /*controller='cart',action='show%2Fit',traceparent='00-{seq}'*/"),
        };
        writer.request(Request {
            shape_id: Some(shapes.id(&sql)),
            sql: Some(sql.into()),
            user: Some(if seq % 4 == 0 { "reports" } else { "shop" }.into()),
            database: Some("main".into()),
            application: Some(if seq % 4 == 0 { "nightly" } else { "web" }.into()),
            outcome: if seq == 3 { Outcome::Error } else { Outcome::Ok },
            duration_ns: Some(if seq == 7 { 900_000_000 } else { 1_000_000 }),
            joined_midway: midway,
            ..Request::new(1, seq, 1_700_000_000_000_000_000 + i64::from(seq), Kind::Query)
        });
    }
    writer.shapes(Shape::collected(shapes.iter())).expect("writes");
    writer.finish(losses).expect("finishes");
}

#[test]
fn it_names_what_costs_most_and_who_asks() {
    let dir = tempfile::tempdir().expect("directory");
    let trace = dir.path().join("trace");
    write(&trace, false, &Losses::default());
    let shown = json(&trace);
    assert_eq!(shown["shapes"][0]["requests"], 19);
    assert_eq!(shown["shapes"][0]["errors"], 1);
    assert_eq!(shown["shapes_by_time"][0]["requests"], 1);
    assert_eq!(shown["shapes_by_time"][0]["total_ns"], 900_000_000);
    assert_eq!((&shown["users"][0]["name"], &shown["users"][0]["requests"]), (&"shop".into(), &15.into()));
    assert_eq!(shown["databases"][0]["name"], "main");
    assert_eq!(
        (&shown["applications"][1]["name"], &shown["applications"][1]["requests"]),
        (&"nightly".into(), &5.into())
    );
    assert_eq!(shown["tags"]["controller"][0]["name"], "cart");
    assert_eq!(shown["tags"]["action"][0]["name"], "show/it");
    assert!(shown["tags"].get("traceparent").is_none(), "it names one request");
    assert_eq!(shown["replay"]["verdict"], "fit");
    let text = show(&[], &trace);
    for line in text.lines().filter(|line| !line.contains(&dir.path().display().to_string())) {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    for part in ["by requests", "by time", "users", "tag controller", "replay    fit", "lost      nothing"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn it_says_which_sessions_were_encrypted() {
    let dir = tempfile::tempdir().expect("directory");
    let trace = dir.path().join("trace");
    let writer = Writer::create(&trace, Options::new(Engine::Postgresql, "packets")).expect("creates");
    let [server, encryption, reason] =
        ["10.0.0.2:5432", "TLS 1.3, TLS_AES_256_GCM_SHA384, server name db.example.com", "there is no key log"];
    let [server, encryption, reason] = [server, encryption, reason].map(str::to_owned);
    writer.encrypted(vec![Encrypted { server, sessions: 3, encryption, reason }]);
    writer.finish(&Losses::default()).expect("finishes");
    let shown = json(&trace);
    assert_eq!((&shown["encrypted"][0]["sessions"], &shown["stopped"]), (&3.into(), &Value::Null));
    assert!(shown["encrypted"][0]["encryption"].as_str().is_some_and(|how| how.contains("db.example.com")));
    let told = "3 to 10.0.0.2:5432 (TLS 1.3, TLS_AES_256_GCM_SHA384, server name db.example.com)";
    assert!(show_problem(&[], &trace).contains(told));
    // What is made of it says so, too.
    let redacted = dir.path().join("redacted");
    let manifest = redact(&trace, &redacted, Existing::Refuse, Key::from_bytes([1; 16])).expect("redacts");
    assert_eq!(manifest.encrypted[0].sessions, 3);
    let copy = dir.path().join("copy");
    redact(&trace, &copy, Existing::Refuse, Key::from_bytes([1; 16])).expect("redacts");
    let plan = Plan {
        traces: vec![redacted, copy],
        offsets: Default::default(),
        output: dir.path().join("merged"),
        existing: Existing::Refuse,
    };
    assert_eq!(merge(&plan).expect("merges").manifest.encrypted[0].sessions, 6);
}

#[test]
fn it_says_that_a_recording_or_a_replay_was_stopped_and_not_that_it_was_killed() {
    let dir = tempfile::tempdir().expect("directory");
    for (run, complete, word) in [(false, true, "the recording was stopped"), (true, false, "the replay was stopped")] {
        let trace = dir.path().join(format!("{run}"));
        let writer = Writer::create(&trace, Options::new(Engine::Postgresql, "packets")).expect("creates");
        if run {
            writer.run(&serde_json::json!({})).expect("writes");
        }
        writer.stopped();
        writer.finish_like(&Losses::default(), complete, false).expect("finishes");
        let text = show_problem(&[], &trace);
        assert!(text.contains(word) && !text.contains("killed"), "{text}");
    }
    let trace = dir.path().join("killed");
    drop(Writer::create(&trace, Options::new(Engine::Postgresql, "packets")).expect("creates"));
    assert!(show_problem(&[], &trace).contains("killed"));
}

#[test]
fn it_says_why_a_trace_cannot_be_replayed() {
    let dir = tempfile::tempdir().expect("directory");
    let mut losses = Losses::default();
    Loss::ALL.iter().for_each(|&loss| losses.add(loss, 3));
    let trace = dir.path().join("trace");
    write(&trace, true, &losses);
    let shown = json(&trace);
    assert_eq!(shown["replay"]["verdict"], "in_part");
    assert_eq!(shown["losses"].as_array().map(Vec::len), Some(Loss::ALL.len()));
    let text = show(&[], &trace);
    for line in text.lines().filter(|line| !line.contains(&dir.path().display().to_string())) {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
    for loss in Loss::ALL {
        assert!(text.contains(loss.name()), "{}", loss.name());
    }
    assert!(text.contains("1 sessions began before the recording") && text.contains("encrypted"), "{text}");

    let redacted = dir.path().join("redacted");
    redact(&trace, &redacted, Existing::Refuse, Key::from_bytes([1; 16])).expect("redacts");
    let shown = json(&redacted);
    assert_eq!((&shown["replay"]["verdict"], &shown["redacted"]), (&"not_fit".into(), &true.into()));
    assert_eq!(shown["tags"].as_object().map(|tags| tags.len()), Some(2), "their keys stay");
    assert_ne!(shown["tags"]["controller"][0]["name"], "cart");
    assert_eq!(shown["tags"]["controller"][0]["requests"], 19);
    assert!(show(&[], &redacted).contains("20 requests are redacted"));
}
