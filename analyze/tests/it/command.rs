//! The program itself: exit codes, reports, and clear errors.

use std::path::Path;
use std::process::{Command, Output};

use crate::scenario::scenario;

const RUN: &str = "1 10..12 UPDATE stock SET n = 1 -> P1 | affected=1\n1 20..22 SELECT 1 -> S1 | sum=1 rows=1";

fn analyze(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-analyze"));
    command.current_dir(dir).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn compare_passes_fails_and_writes_its_reports() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    let leaking = RUN.replace("-> P1 | affected=1", "-> S1 | error=25006");
    scenario(&leaking).write(&dir.path().join("candidate"));
    let same = analyze(dir.path(), &["compare", "today", "today"]);
    assert_eq!(same.status.code(), Some(0), "{}{}", text(&same.stdout), text(&same.stderr));
    let reports = ["--html", "r.html", "--json", "r.json", "--junit", "r.xml", "--format", "json"];
    let worse = analyze(dir.path(), &[&["compare", "today", "candidate"][..], &reports].concat());
    assert_eq!(worse.status.code(), Some(1), "{}{}", text(&worse.stdout), text(&worse.stderr));
    let printed: serde_json::Value = serde_json::from_slice(&worse.stdout).unwrap();
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(printed, written);
    for file in ["r.html", "r.xml"] {
        assert!(std::fs::metadata(dir.path().join(file)).unwrap().len() > 100, "{file}");
    }
}

#[test]
fn inputs_that_cannot_be_used_give_exit_code_2_and_say_why() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    std::fs::write(dir.path().join("file.pcap"), "").unwrap();
    scenario(RUN).write(&dir.path().join("two"));
    let manifest = dir.path().join("two/trace.json");
    let swapped = std::fs::read_to_string(&manifest).unwrap().replace("\"replica\"", "\"primary\"");
    std::fs::write(&manifest, swapped).unwrap();
    scenario(RUN).write(&dir.path().join("torn"));
    std::fs::write(dir.path().join("torn/catalog.json"), "{").unwrap();
    for (arguments, says) in [
        (&["compare", "today", "nowhere"][..], "nowhere: no such directory"),
        (&["compare", "file.pcap", "today"], "a trace is a directory"),
        (&["compare", "today", "two"], "exactly one is needed"),
        (&["compare", "today", "torn"], "catalog.json"),
        (&["compare", "today", "today", "--memory", "1MB"], "at least 64MB"),
        (&["compare", "today", "today", "--html", "no/such/r.html"], "no directory no/such"),
        (&["compare", "today", "today", "--gate", "missing.yaml"], "missing.yaml"),
        (&["compare", "today"], "Usage"),
    ] {
        let output = analyze(dir.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    let program = env!("CARGO_BIN_EXE_splitproof-analyze");
    let line = format!("'{program}' compare today today --format json | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").current_dir(dir.path()).args(["-c", &line]).output().unwrap();
    assert_eq!(text(&output.stdout).trim(), "0", "{}", text(&output.stderr));
}
