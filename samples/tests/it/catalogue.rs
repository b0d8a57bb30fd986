//! The catalogue of known statements through both configurations, as CI would run it.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};

use crate::stage::{Stage, stage};
use crate::tools;

/// What a case shows.
#[derive(serde::Deserialize)]
struct Case {
    id: String,
    statements: Vec<Statement>,
    findings: Vec<Finding>,
    broken: Option<String>,
}

#[derive(serde::Deserialize)]
struct Statement {
    sql: String,
    nodes: Vec<String>,
    error: Option<String>,
}

#[derive(serde::Deserialize)]
struct Finding {
    kind: String,
}

/// The cases by name, and the JUnit report.
fn check(stage: &mut Stage, configuration: &str) -> (BTreeMap<String, Case>, Report) {
    stage.fresh(configuration);
    let (fixture, pair) = (tools::sample("fixtures/postgresql.yaml"), stage.path("pair.toml"));
    let junit = stage.path(&format!("check-{configuration}.xml"));
    let mut arguments = vec!["check".as_ref(), "--fixture".as_ref(), fixture.as_os_str(), "--pair".as_ref()];
    arguments.extend([pair.as_os_str(), "--junit".as_ref(), junit.as_os_str(), "--format".as_ref(), "json".as_ref()]);
    let ended = tools::run("analyze", arguments);
    ended.expect(1, &[]);
    let cases: Vec<Case> = serde_json::from_value(ended.json()["cases"].clone()).unwrap();
    let junit = Report::deserialize_from_str(&std::fs::read_to_string(junit).unwrap()).unwrap();
    (cases.into_iter().map(|case| (case.id.clone(), case)).collect(), junit)
}

fn leaks(case: &Case) -> bool {
    case.findings.iter().any(|finding| finding.kind == "write_leakage")
}

#[test]
fn the_fixture_tells_both_configurations_apart() {
    let mut stage = stage();
    let (today, junit) = check(&mut stage, "today");
    assert!(today.len() > 50, "{} cases", today.len());
    // Destinations come from evidence, and each statement has one; what follows in a failed transaction runs nowhere.
    for case in today.values() {
        assert!(case.broken.is_none(), "{}: {:?}", case.id, case.broken);
        for statement in &case.statements {
            let nowhere = statement.nodes.is_empty();
            assert!(!nowhere || statement.error.as_deref() == Some("25P02"), "{}: {}", case.id, statement.sql);
        }
    }
    let places: Vec<_> = ["baseline-read", "baseline-write"].map(|id| today[id].statements[0].nodes.join("+")).into();
    assert_eq!(places, ["standby", "primary"]);
    // A volatile function, FOR UPDATE, and a write in a WITH go where they belong today.
    for id in ["volatile-function", "for-update", "baseline-write", "transaction-does-not-split"] {
        assert!(today[id].findings.is_empty(), "{id}");
    }
    // What pgpool really does wrong: declared stable, and forgets that the transaction has written.
    assert!(leaks(&today["txid-current"]));
    assert!(today["savepoint"].findings.iter().any(|finding| finding.kind == "split_transaction"));

    let failed = junit
        .test_suites
        .iter()
        .flat_map(|suite| &suite.test_cases)
        .filter(|case| matches!(&case.status, TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, .. }));
    let mut failed: Vec<_> = failed.map(|case| case.name.to_string()).collect();
    failed.sort();
    let wrong: Vec<_> = today.values().filter(|case| !case.findings.is_empty()).map(|case| case.id.clone()).collect();
    assert_eq!(failed, wrong, "JUnit names the cases that the JSON has findings for");
    assert_eq!(junit.test_suites.iter().map(|suite| suite.test_cases.len()).sum::<usize>(), today.len());

    let (candidate, _) = check(&mut stage, "candidate");
    let audit = &candidate["volatile-function"];
    assert!(audit.statements.iter().any(|statement| statement.sql.contains("audit_login")));
    assert!(leaks(audit), "the candidate declares it read-only");
    assert!(candidate["transaction-does-not-split"].findings.iter().any(|found| found.kind == "split_transaction"));
}
