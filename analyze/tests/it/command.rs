//! The program itself: exit codes, reports, and clear errors.

use std::path::Path;
use std::process::{Command, Output};

use crate::scenario::scenario;

pub const RUN: &str = "@5 P lsn=100
@5 S replay=100 time=1
1 10..12 UPDATE stock SET n = 1 -> P1 | affected=1
1 20..22 SELECT 1 -> S1 | sum=1 rows=1
@30 P lsn=200
@30 S replay=200 time=12";

pub fn analyze(dir: &Path, arguments: &[&str]) -> Output {
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

/// Drops every line that begins with `@`: the samples of positions.
fn without_positions(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('@')).collect::<Vec<_>>().join("\n")
}

#[test]
fn staleness_that_cannot_be_judged_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    scenario(&without_positions(RUN)).write(&dir.path().join("blind"));
    let blind = analyze(dir.path(), &["compare", "today", "blind"]);
    assert_eq!(blind.status.code(), Some(2), "{}", text(&blind.stdout));
    assert!(text(&blind.stdout).contains("stale_answers could not be measured"), "{}", text(&blind.stdout));
}

#[test]
fn a_run_that_was_cut_short_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    scenario(RUN).write(&dir.path().join("stopped"));
    let manifest = dir.path().join("stopped/trace.json");
    let ended = std::fs::read_to_string(&manifest).unwrap();
    let stopped = ended.replace("\"complete\": true", "\"complete\": false");
    assert_ne!(ended, stopped);
    std::fs::write(&manifest, stopped).unwrap();
    let cut = analyze(dir.path(), &["compare", "today", "stopped"]);
    assert_eq!(cut.status.code(), Some(1), "{}", text(&cut.stdout));
    assert!(text(&cut.stdout).contains("cut_short is 1"), "{}", text(&cut.stdout));
}

#[test]
fn a_report_does_not_overwrite_what_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    for (arguments, says) in [
        (["--json", "today/trace.json", "--html", "r.html"], "lies in today"),
        (["--json", "r.out", "--html", "r.out"], "two reports cannot go to one file"),
    ] {
        let output = analyze(dir.path(), &[&["compare", "today", "today"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    scenario(&RUN.replace("-> P1 | affected=1", "-> S1 | error=25006")).write(&dir.path().join("candidate"));
    let program = env!("CARGO_BIN_EXE_splitproof-analyze");
    for (candidate, code) in [("today", "0"), ("candidate", "1")] {
        // `true` reads nothing, and is gone before the report is written.
        let line = format!("'{program}' compare today {candidate} --format json | true; echo ${{PIPESTATUS[0]}}");
        let output = Command::new("bash").current_dir(dir.path()).args(["-c", &line]).output().unwrap();
        assert_eq!(text(&output.stdout).trim(), code, "{}", text(&output.stderr));
    }
}

#[test]
fn runs_of_different_recordings_are_not_compared() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    scenario(RUN).write_recording(&path("window"));
    let id = splitproof_capture::trace::Reader::open(path("window")).unwrap().manifest().recording_id();
    for (name, recording) in [("today", id.as_str()), ("candidate", id.as_str()), ("other", "0123456789abcdef")] {
        let mut run = scenario(RUN);
        run.recording = Some(recording.to_owned());
        run.write(&path(name));
    }
    scenario(RUN).write(&path("earlier"));
    scenario(&RUN.replace("n = 1", "n = 2")).write_recording(&path("tuesday"));
    for (baseline, candidate) in [("today", "candidate"), ("today", "earlier"), ("earlier", "other")] {
        let output = analyze(dir.path(), &["compare", baseline, candidate]);
        assert_eq!(output.status.code(), Some(0), "{baseline} {candidate}: {}", text(&output.stderr));
    }
    let with_recording = analyze(dir.path(), &["compare", "window", "candidate"]);
    assert!(!text(&with_recording.stderr).contains("one recording"), "{}", text(&with_recording.stderr));
    for (baseline, candidate) in [("today", "other"), ("tuesday", "today"), ("window", "tuesday")] {
        let output = analyze(dir.path(), &["compare", baseline, candidate]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{baseline} {candidate}: {error}");
        for part in ["do not belong to one recording", baseline, candidate, "compare two replays of one recording"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn a_cause_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    let output = analyze(dir.path(), &["compare", "today", "today", "--gate", "missing.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(error.matches("No such file").count(), 1, "{error}");
}

#[test]
fn a_run_whose_manifest_was_made_again_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    scenario(RUN).write(&dir.path().join("rebuilt"));
    splitproof_capture::trace::rebuild(&dir.path().join("rebuilt")).unwrap();
    let output = analyze(dir.path(), &["compare", "today", "rebuilt"]);
    assert_eq!(output.status.code(), Some(1), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("trace.json was made again"), "{}", text(&output.stdout));

    std::fs::remove_file(dir.path().join("rebuilt/trace.json")).unwrap();
    let output = analyze(dir.path(), &["compare", "today", "rebuilt"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("restore it from a copy, or replay again"), "{}", text(&output.stderr));
}
