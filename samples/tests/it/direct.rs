//! The catalogues against the replicas themselves: every statement is carried out on a replica, whatever its case says.
//!
//! What a replica refuses must belong to the primary or to all servers. What belongs to the primary and is not refused is a
//! fault that no error tells; its case says why (`silent`).

use serde::Deserialize;
use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;

use crate::tools;

/// Sends everything to the replica. What a router must keep together, it does not: only transactions stay where they began.
const ALL_TO_REPLICA: &str =
    "mode: regex\ncausal_reads: false\nrules: [{ name: all, match: text, pattern: '(?s).*', destination: replica }]\n";

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    session: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    silent: Option<String>,
    error: Option<String>,
}

/// What `check` tells of a case.
#[derive(Deserialize)]
struct Told {
    id: String,
    statements: Vec<Statement>,
    broken: Option<String>,
}

#[derive(Deserialize)]
struct Statement {
    sql: String,
    intent: String,
    nodes: Vec<String>,
    error: Option<String>,
}

/// Runs the catalogue with everything on the replica, and returns how many statements were refused, and how many belong to the
/// primary and were not.
fn check(sandbox: &mut Sandbox, home: &std::path::Path) -> (u32, u32) {
    let engine = sandbox.engine();
    let (rules, pair) = (home.join("all-to-replica.yaml"), home.join("direct.toml"));
    std::fs::write(&rules, ALL_TO_REPLICA).unwrap();
    sandbox.restore().unwrap();
    sandbox.router(rules.to_str().unwrap()).unwrap();
    std::fs::write(&pair, sandbox.pair_toml()).unwrap();

    let path = tools::sample(&format!("fixtures/{engine}.yaml"));
    let fixture: Fixture = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let arguments = ["check".as_ref(), "--fixture".as_ref(), path.as_os_str(), "--pair".as_ref(), pair.as_os_str()];
    let ended = tools::run("analyze", arguments.into_iter().chain(["--format".as_ref(), "json".as_ref()]));
    ended.expect(1, &[]);
    let told: Vec<Told> = serde_json::from_value(ended.json()["cases"].clone()).unwrap();
    assert_eq!(told.len(), fixture.cases.len());

    let (mut refused, mut silent) = (0, 0);
    for (case, told) in fixture.cases.iter().zip(&told) {
        assert_eq!((&case.id, &told.broken), (&told.id, &None));
        // What comes after a statement that was refused may fail for that reason, or find nothing to do.
        let mut whole = true;
        for (step, statement) in case.session.iter().zip(&told.statements) {
            let what = format!("{}: {}: {:?}", case.id, statement.sql, statement.error);
            if statement.nodes.iter().any(|node| node == "primary") || !whole {
                continue;
            }
            if statement.error.is_some() && statement.error != step.error {
                assert!(
                    ["primary", "all"].contains(&statement.intent.as_str()),
                    "refused, but {}: {what}",
                    statement.intent
                );
                assert_eq!(step.silent, None, "refused: {what}");
                (refused, whole) = (refused + 1, false);
            } else if statement.intent == "primary" {
                assert!(step.silent.is_some(), "not refused, and the case does not say why: {what}");
                silent += 1;
            }
        }
    }
    (refused, silent)
}

#[test]
fn what_a_standby_refuses_is_the_primarys() {
    let mut stage = crate::stage::stage();
    let home = stage.path("");
    let (refused, silent) = check(&mut stage.sandbox, &home);
    assert!(refused > 50 && silent > 5, "{refused} refused, {silent} silent");
}

#[test]
fn what_a_read_only_server_refuses_is_the_primarys() {
    let mut stage = crate::mysql_stage::stage();
    let home = stage.path("");
    let (refused, silent) = check(&mut stage.sandbox, &home);
    assert_eq!(stage.sandbox.engine(), Engine::Mysql);
    assert!(refused > 30 && silent > 10, "{refused} refused, {silent} silent");
}
