//! What `show` says of a trace, and of whether it can be replayed.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use splitproof_capture::redact::{Key, redact};
use splitproof_capture::sql::{Dialect, Shapes};
use splitproof_capture::trace::{Engine, Existing, Kind, Loss, Losses, Options, Outcome, Request, Shape, Sink, Writer};

fn show(args: &[&str], trace: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    let output = command.arg("show").args(args).arg(trace).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
