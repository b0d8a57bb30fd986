//! Control runs: what differs between two runs of today's router is noise.

use crate::command::analyze;
use crate::scenario::scenario;

/// So many reads of one shape, of which the first `differ` answer otherwise; all on a replica that is current.
fn run(differ: u32, other: u32) -> String {
    let reads = (0..20).map(|n| {
        let sum = if n < differ { other } else { 1 };
        format!("1 {}..{} SELECT odd FROM t WHERE id = {n} -> S1 | sum={sum} rows=1\n", 20 + n * 2, 21 + n * 2)
    });
    format!("@5 P lsn=100\n@5 S replay=100 time=1\n{}@95 P lsn=100\n@95 S replay=100 time=1", reads.collect::<String>())
}

fn mismatches(dir: &std::path::Path, candidate: &str, more: &[&str]) -> (u64, u64) {
    let output = analyze(dir, &[&["compare", "today", candidate, "--format", "json"], more].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let counts = &json["comparison"]["answers"]["counts"];
    (counts["mismatch"].as_u64().unwrap(), counts["nondeterministic"].as_u64().unwrap())
}

#[test]
fn what_differs_in_the_control_runs_is_noise_unless_it_differs_much_more_often() {
    let dir = tempfile::tempdir().unwrap();
    for (name, differ, sum) in [("today", 0, 1), ("again", 2, 2), ("candidate", 4, 3), ("worse", 10, 3)] {
        scenario(&run(differ, sum)).write(&dir.path().join(name));
    }
    assert_eq!(mismatches(dir.path(), "candidate", &[]), (4, 0));
    let control = analyze(dir.path(), &["compare", "today", "again", "--json", "control.json"]);
    assert_eq!(control.status.code(), Some(1), "two of them differ");
    // Two in twenty: four are as many as noise may give, ten are not.
    assert_eq!(mismatches(dir.path(), "candidate", &["--noise", "control.json"]), (0, 4));
    assert_eq!(mismatches(dir.path(), "worse", &["--noise", "control.json"]), (10, 0));
}

#[test]
fn a_control_report_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    scenario(&run(0, 1)).write(&dir.path().join("today"));
    std::fs::write(dir.path().join("odd.json"), "{}").unwrap();
    analyze(dir.path(), &["compare", "today", "today", "--json", "same.json"]);
    for (file, says) in [
        ("odd.json", "odd.json: not a report of compare: missing field `comparison`"),
        ("same.json", "same.json: compares today with itself"),
        ("none.json", "none.json: cannot read the control report"),
    ] {
        let output = analyze(dir.path(), &["compare", "today", "today", "--noise", file]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains(says), "{error}");
    }
}
