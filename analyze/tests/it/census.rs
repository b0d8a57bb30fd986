//! Production's census on the command line.

use crate::command::{RUN, analyze};
use crate::scenario::scenario;

const CENSUS: &str = "userid,dbid,queryid,query,calls,total_exec_time
10,5,1,UPDATE stock SET n = $1,10,500
10,5,2,SELECT $1,80,100
10,5,3,SELECT n FROM stock WHERE id = $1,6,300
10,5,4,DELETE FROM stock,4,100
";

const FIXTURE: &str = "version: 1
engine: postgresql
cases:
  - {id: a, why: reads, session: [{sql: \"SELECT n FROM stock WHERE id = 7\", safe: replica}]}
";

#[test]
fn coverage_tells_what_of_production_is_where() {
    let dir = tempfile::tempdir().unwrap();
    // A run whose read was seen on no node.
    scenario(&RUN.replace("SELECT 1 -> S1", "SELECT 1")).write(&dir.path().join("today"));
    std::fs::write(dir.path().join("pg.csv"), CENSUS).unwrap();
    std::fs::write(dir.path().join("fixture.yaml"), FIXTURE).unwrap();
    let arguments = ["coverage", "--census", "pg.csv", "--fixture", "fixture.yaml", "today"];
    let output = analyze(dir.path(), &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
        line.split_once(name).unwrap().1.split('%').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(row("the window")[..3], ["50.0", "90.0", "60.0"]);
    assert_eq!(row("the run, with their place known")[..3], ["25.0", "10.0", "50.0"]);
    assert_eq!(row("the fixture")[..3], ["25.0", "6.0", "30.0"]);
    assert_eq!(row("window or fixture")[..3], ["75.0", "96.0", "90.0"]);
    let (_, never) = text.split_once("Neither in the window nor in the fixture").unwrap();
    assert!(never.contains("DELETE FROM stock") && never.contains("primary") && !never.contains("WHERE id"), "{text}");

    let json = analyze(dir.path(), &[&arguments[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["census"]["window"]["calls"], 90);
    assert_eq!(json["fixture"]["window_shapes"], 2);
}

#[test]
fn the_audit_reads_an_export_of_the_primary() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pg.csv"), CENSUS.replace("SELECT $1", "SELECT audit_login($1)")).unwrap();
    scenario(RUN).write(&dir.path().join("today"));
    scenario(RUN).write_recording(&dir.path().join("window"));
    let undecided = analyze(dir.path(), &["audit", "pg.csv"]);
    let text = String::from_utf8_lossy(&undecided.stdout);
    assert!(text.contains("audit_login() is not known") && text.contains("--catalog"), "{text}");
    let output = analyze(dir.path(), &["audit", "pg.csv", "--catalog", "today"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("Not decided:"), "the catalogue knows what it does: {text}");
    let (_, work) = text.split_once("Reads on the primary").unwrap();
    assert!(work.contains("SELECT n FROM stock") && !work.contains("audit_login"), "{text}");
    for (arguments, says) in [
        (&["audit", "pg.csv", "pg.csv"][..], "pg.csv and pg.csv are the same export"),
        (&["audit", "none.csv"], "none.csv: cannot read the export"),
        (&["audit", "pg.csv", "--catalog", "window"], "has no catalog.json"),
        (&["coverage", "today"], "--census"),
    ] {
        let output = analyze(dir.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(error.contains(says), "{error}");
    }
}
