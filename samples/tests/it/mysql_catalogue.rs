//! The catalogue of known statements for MySQL, as CI would run it, through the sample router into a real MariaDB pair.

use serde::Deserialize;
use splitproof_samples::sandbox::state::Backends;

use crate::mysql_stage::{Stage, stage};
use crate::tools;

/// What a case shows.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    statements: Vec<Statement>,
    findings: Vec<Finding>,
    broken: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Statement {
    sql: String,
    nodes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    kind: String,
}

fn check(stage: &Stage, pair: &str) -> tools::Ended {
    let (fixture, file) = (tools::sample("fixtures/mysql.yaml"), stage.path("check.toml"));
    std::fs::write(&file, pair).unwrap();
    let arguments = ["check".as_ref(), "--fixture".as_ref(), fixture.as_os_str(), "--pair".as_ref(), file.as_os_str()];
    tools::run("analyze", arguments.into_iter().chain(["--format".as_ref(), "json".as_ref()]))
}

fn cases(ended: &tools::Ended) -> Vec<Case> {
    serde_json::from_value(ended.json()["cases"].clone()).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn a_router_that_is_right_passes_every_case_and_one_with_a_fault_does_not() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let ended = check(&stage, &stage.sandbox.pair_toml());
    let right = cases(&ended);
    assert!(right.len() > 80, "{}", right.len());
    for case in &right {
        assert_eq!(case.broken, None, "{case:?}");
        assert!(case.findings.is_empty(), "{case:#?}");
        // Destinations come from evidence, and each statement has one.
        for statement in &case.statements {
            assert!(!statement.nodes.is_empty(), "{}: {}", case.id, statement.sql);
        }
    }
    ended.expect(0, &[]);

    stage.router_with_fault("for-update-to-replica");
    let ended = check(&stage, &stage.sandbox.pair_toml());
    ended.expect(1, &[]);
    let wrong = cases(&ended);
    let wrong: Vec<&str> = wrong.iter().filter(|case| !case.findings.is_empty()).map(|case| case.id.as_str()).collect();
    assert!(wrong.contains(&"for-update") && !wrong.contains(&"baseline-write"), "{wrong:?}");
    let leak = cases(&ended).into_iter().find(|case| case.id == "for-update").unwrap();
    assert_eq!(leak.findings[0].kind, "write_leakage");
}

#[test]
fn a_check_needs_taps_and_says_so() {
    let stage = stage();
    check(&stage, &stage.by_logs()).expect(2, &["evidence = \"log\"", "give every node a tap"]);
}
