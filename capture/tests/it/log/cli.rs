//! `splitproof-capture log`, as a user meets it.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use splitproof_capture::log::{Control, Format, Settings, Source};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Kind, Request};

use super::scene::stderr;
use crate::cli::{Scene, Told};

fn sample() -> String {
    stderr(&[
        (1000, "", "LOG:  checkpoint starting: time"),
        (2000, "aaaa.1", "LOG:  duration: 1.000 ms  statement: SELECT 1"),
        (9000, "bbbb.2", "LOG:  duration: 8000.000 ms  statement: SELECT 'slow'"),
    ])
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).expect("packs");
    packed.finish().expect("packs")
}

#[test]
fn a_log_becomes_a_trace_in_the_order_in_which_statements_began() {
    let scene = Scene::new();
    scene.write("a.log", sample().as_bytes());
    let told = scene.run("log --format postgresql-stderr --summary json -o trace a.log", 0);
    let summary = told.json();
    assert_eq!(summary["requests"], 4);
    assert_eq!(summary["entries"]["read"], 3);
    assert_eq!(summary["entries"]["used"], 2);
    assert_eq!(summary["entries"]["made_up_requests"], 2);
    assert_eq!(summary["losses"][0]["reason"], "log_server");
    let queries: Vec<_> = scene.requests("trace").into_iter().filter(|row| row.kind == Kind::Query).collect();
    let texts: Vec<_> = queries.iter().filter_map(|row| row.sql.as_deref()).collect();
    assert_eq!(texts, ["SELECT 'slow'", "SELECT 1"]);

    let shown = scene.run("show --format json trace", 0).json();
    assert_eq!((&shown["source"], &shown["engine"]), (&"log".into(), &"postgresql".into()));
    assert_eq!((&shown["losses"][0]["reason"], &shown["losses"][0]["unit"]), (&"log_server".into(), &"entries".into()));
    scene.run("show trace", 0);
}

#[test]
fn a_file_that_is_not_read_to_its_end_is_told() {
    let scene = Scene::new();
    scene.write("a.log", sample().as_bytes());
    let files = vec![scene.path("a.log")];
    let source = Source { format: Format::PostgresqlStderr, settings: Settings::default(), files };
    for stopped in [false, true] {
        let mut rows: Vec<Request> = Vec::new();
        let control = Control { stop: Some(Arc::new(AtomicBool::new(stopped))), ..Control::default() };
        let ended = source.run(&Shared::new(Engine::Postgresql), &mut rows, control).expect("reads");
        assert_eq!((ended.stopped, rows.is_empty()), (stopped, stopped));
    }
}

#[test]
fn a_pipe_is_read_until_a_signal() {
    let scene = Scene::new();
    let mut child = scene.command("log --format postgresql-stderr --summary json -o trace -");
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    // The trace is begun once it minds signals.
    while !scene.path("trace/trace.json").exists() {
        assert_eq!(child.try_wait().expect("waits"), None);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    input.write_all(sample().as_bytes()).expect("reads");
    let signal = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.expect("runs").success());
    // It looks at the signal when there is more to read, and this log never ends.
    while input.write_all(sample().as_bytes()).is_ok() && child.try_wait().expect("waits").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("ends");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &summary["problems"]), (Some(0), &serde_json::json!([])), "{summary}");
    let shown = scene.run("show --format json trace", 0).json();
    assert_eq!((&shown["complete"], &shown["stopped"]), (&true.into(), &serde_json::Value::Null));
}

#[test]
fn packed_files_and_standard_input_are_read_directly() {
    let scene = Scene::new();
    scene.write("plain", sample().as_bytes());
    // By what is in it, not by its name.
    scene.write("packed.log", &gzip(&sample()));
    scene.write("packed.csv", &zstd::encode_all(sample().as_bytes(), 1).expect("packs"));
    scene.run("log --format postgresql-stderr -o plain.trace plain", 0);
    let expected = scene.requests("plain.trace");
    assert_eq!(expected.len(), 4);
    for (number, file) in ["packed.log", "packed.csv"].into_iter().enumerate() {
        scene.run(&format!("log --format postgresql-stderr -o {number}.trace {file}"), 0);
        assert_eq!(scene.requests(&format!("{number}.trace")), expected, "{file}");
    }
    let line = "log --format postgresql-stderr -o stdin.trace -";
    let mut program = scene.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    program.stdin.take().expect("its input").write_all(&gzip(&sample())).expect("writes");
    Told::new(program.wait_with_output().expect("ends"), 0, line);
    assert_eq!(scene.requests("stdin.trace"), expected);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_written() {
    let scene = Scene::new();
    scene.write("a.log", sample().as_bytes());
    scene.write("b.log", sample().as_bytes());
    scene.write("c.log", b"BZh91AY&SY");
    std::fs::create_dir(scene.path("dir")).expect("creates");
    for (line, words) in [
        ("log --format oracle -o t a.log", &["oracle", "postgresql-csv", "postgresql-json"][..]),
        ("log --format postgresql-stderr -o t nowhere.log", &["nowhere.log", "cannot be read"]),
        ("log --format postgresql-stderr -o t dir", &["dir", "a directory", "in the order"]),
        ("log --format postgresql-stderr -o t a.log c.log", &["c.log", "bzip2", "bzcat"]),
        ("log --format postgresql-stderr -o t a.log b.log", &["b.log", "the same log as a.log"]),
        ("log --format postgresql-stderr --log-line-prefix %y -o t a.log", &["%y", "log_line_prefix"]),
        ("log --format postgresql-stderr --timezone Mars/Olympus -o t a.log", &["Mars/Olympus", "Europe/Berlin"]),
        ("log --format postgresql-stderr -o t", &["FILE"]),
    ] {
        scene.run(line, 2).names(words);
        assert!(!scene.path("t").exists(), "{line}");
    }
}

#[test]
fn problems_are_told_and_the_rest_is_used() {
    let scene = Scene::new();
    scene.write("noise.log", b"nothing\nof interest\n");
    let told = scene.run("log --format postgresql-stderr -o noise noise.log", 1);
    assert!(told.out.contains("none of the 2 entries is a statement"), "{}", told.out);
    assert!(told.out.contains("log_malformed"), "{}", told.out);
    assert!(told.out.contains("noise.log: log_malformed at line 1-2\n"), "{}", told.out);

    let packed = gzip(&sample().repeat(2000));
    scene.write("cut.gz", &packed[..packed.len() / 2]);
    let told = scene.run("log --format postgresql-stderr -o cut cut.gz", 1);
    assert!(told.out.contains("cut.gz: damaged after"), "{}", told.out);
    assert!(scene.requests("cut").len() > 100);

    let late = sample().replace("2021-01-22", "2021-01-23");
    scene.write("1.log", late.as_bytes());
    scene.write("2.log", sample().as_bytes());
    let told = scene.run("log --format postgresql-stderr -o overlap 1.log 2.log", 1);
    assert!(told.out.contains("2.log: begins at"), "{}", told.out);
}
