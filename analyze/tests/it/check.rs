//! The catalogue of known statements through a real pgpool-II into a real pair.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use splitproof_analyze::check::{self, CheckReport, FindingKind, Fixture, Plan};
use splitproof_replay::pair::{Pair, Passwords};
use splitproof_samples::Sandbox;

/// A pair with pgpool in front, in a temporary directory that the servers' user may pass through.
fn pair(router: &str) -> (tempfile::TempDir, Sandbox, Pair) {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let mut sandbox = Sandbox::create(home.path().join("pair")).expect("a sandbox");
    sandbox.up().expect("the nodes start");
    sandbox.router(router).expect("the router starts");
    let file = sandbox.write_pair_toml(None).expect("pair.toml");
    let pair = Pair::read(&file).expect("pair.toml is right");
    (home, sandbox, pair)
}

fn fixture() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/fixtures/postgresql.yaml");
    Fixture::read(&path).expect("the catalogue is right")
}

fn check(pair: Pair, fixture: Fixture, tries: u32) -> CheckReport {
    let plan = Plan { fixture, pair, passwords: Passwords::default(), tries };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(check::run(&plan, |_| ())).expect("the check runs")
}

/// The cases that are wrong, each with its first finding.
fn wrong(report: &CheckReport) -> BTreeMap<&str, FindingKind> {
    let first = |case: &'_ check::CaseReport| case.findings.first().map(|finding| finding.kind);
    report.cases.iter().filter_map(|case| Some((case.id.as_str(), first(case)?))).collect()
}

/// Executions by node and text, as pgpool itself logs them.
fn logged(sandbox: &Sandbox) -> BTreeMap<(usize, String), usize> {
    let log = std::fs::read_to_string(sandbox.router_log()).expect("pgpool's log");
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let Some((_, line)) = line.split_once("DB node id: ") else { continue };
        let (node, line) = line.split_once(' ').expect("a node");
        let Some((_, text)) = line.split_once("statement: ") else { continue };
        if text.starts_with("Parse: ") || text.starts_with("Bind: ") {
            continue;
        }
        let text = text.strip_prefix("Execute: ").unwrap_or(text);
        *counts.entry((node.parse().expect("a number"), text.to_owned())).or_default() += 1;
    }
    counts
}

#[test]
fn what_pgpool_gets_wrong_is_found_and_where_it_sent_each_statement() {
    let (_home, sandbox, pair) = pair("today");
    let names: Vec<_> = pair.nodes.iter().map(|node| node.name.clone()).collect();
    let report = check(pair, fixture(), 1);
    println!("{}", check::text::render(&report));
    assert!(report.seconds < 60.0);
    assert!(report.cases.iter().all(|case| case.broken.is_none()));
    assert!(report.cases.iter().flat_map(|case| &case.statements).all(|statement| statement.disputed.is_none()));

    // pgpool's own log is the second opinion. DISCARD ALL is what it sends itself when a client leaves; a text over
    // several lines is cut there.
    let log = logged(&sandbox);
    let mut ours = BTreeMap::new();
    for statement in report.cases.iter().flat_map(|case| &case.statements) {
        if statement.sql == "DISCARD ALL" || statement.sql.contains('\n') {
            continue;
        }
        for name in &statement.nodes {
            let node = names.iter().position(|known| known == name).expect("a known node");
            *ours.entry((node, statement.sql.clone())).or_insert(0) += 1;
        }
    }
    let differences: Vec<_> = ours
        .iter()
        .map(|(execution, &count)| (execution, count, log.get(execution).copied().unwrap_or(0)))
        .filter(|(_, count, logged)| count != logged)
        .collect();
    // BEGIN and START TRANSACTION with ISOLATION LEVEL SERIALIZABLE reach the standby as a BEGIN that no client sent.
    let begun = ours.get(&(1, "BEGIN".to_owned())).copied().unwrap_or(0);
    assert_eq!(differences, [(&(1, "BEGIN".to_owned()), begun, begun + 2)]);

    use FindingKind::{AccidentalPrimaryRead, LostState, MissedSetting, SplitTransaction, WriteLeakage};
    let expected = BTreeMap::from([
        // Declared stable, so that pgpool takes it for a read.
        ("txid-current", WriteLeakage),
        // Its transaction begins on the standby with the read, and goes on at the primary.
        ("transaction-read-first", SplitTransaction),
        ("transaction-read-first-extended", SplitTransaction),
        // After ROLLBACK TO pgpool forgets that the transaction has written.
        ("savepoint", SplitTransaction),
        // Sent to the primary only, and the read after it is balanced.
        ("default-serializable", WriteLeakage),
        ("set-config", MissedSetting),
        // Catalogues have no temporary tables of its memory.
        ("catalogue-shows-temporary-tables", LostState),
        // It remembers that the table of this name is not temporary.
        ("temporary-table-hides-another", LostState),
        ("leading-comment", AccidentalPrimaryRead),
        ("leading-line-comment", AccidentalPrimaryRead),
        ("values-command", AccidentalPrimaryRead),
        ("catalog-table", AccidentalPrimaryRead),
        ("multi-statement-reads", AccidentalPrimaryRead),
        ("explain-analyze-read", AccidentalPrimaryRead),
    ]);
    assert_eq!(wrong(&report), expected);
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn the_mistakes_of_a_candidate_are_found() {
    let (_home, _sandbox, pair) = pair("candidate");
    let report = check(pair, fixture(), 1);
    let wrong = wrong(&report);
    assert_eq!(wrong.get("volatile-function"), Some(&FindingKind::WriteLeakage));
    assert_eq!(wrong.get("transaction-does-not-split"), Some(&FindingKind::SplitTransaction));
    assert_eq!(wrong.get("stable-function"), Some(&FindingKind::AccidentalPrimaryRead));
    assert!(!wrong.contains_key("baseline-read") && !wrong.contains_key("baseline-write"));
}

#[test]
fn a_router_that_is_not_there_and_a_setup_that_fails_are_named() {
    let (_home, mut sandbox, pair) = pair("today");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let problem = |pair: Pair, fixture: Fixture| {
        let plan = Plan { fixture, pair, passwords: Passwords::default(), tries: 1 };
        runtime.block_on(check::run(&plan, |_| ())).expect_err("cannot be done").to_string()
    };
    let broken = Fixture { setup: "CREATE TABLE (".to_owned(), ..fixture() };
    let error = problem(pair.clone(), broken);
    assert!(error.contains("splitproof_check") && error.contains("syntax error"), "{error}");
    sandbox.down().expect("everything stops");
    let error = problem(pair, fixture());
    assert!(error.contains("primary"), "{error}");
}
