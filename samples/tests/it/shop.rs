//! The sample workload and the shipped router configurations: each of the candidate's mistakes shows, and
//! nothing else does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::state::Backends;
use splitproof_samples::shop::{Summary, Workload};

/// Nodes that each statement went to, by statement text with its literals removed.
type Routes = BTreeMap<String, BTreeSet<char>>;

/// Runs the same clients through a configuration, from the snapshot on.
fn run(sandbox: &mut Sandbox, config: &str) -> (Summary, Routes) {
    sandbox.restore().unwrap();
    sandbox.router_with(config, Backends::Nodes, &[]).unwrap();
    let _ = std::fs::remove_file(sandbox.router_log());
    sandbox.router_with(config, Backends::Nodes, &[]).unwrap();
    let workload = Workload {
        clients: 3,
        requests: 1500,
        pace: Duration::from_millis(5),
        ..Workload::on(Engine::Postgresql, sandbox.ports().router)
    };
    let summary = tokio::runtime::Runtime::new().unwrap().block_on(workload.run()).unwrap();
    let log = std::fs::read_to_string(sandbox.router_log()).unwrap();
    (summary, routes(&log))
}

/// Reads pgpool's lines `DB node id: 1 backend pid: 7 statement: SELECT …`.
fn routes(log: &str) -> Routes {
    let mut routes = Routes::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once("DB node id: ") else { continue };
        let Some((_, statement)) = rest.split_once("statement: ") else { continue };
        if statement.contains("pg_catalog") {
            continue;
        }
        let digits = |c: char| c.is_ascii_digit();
        let text = statement.replace(digits, "").replace("''", "");
        let node = if rest.starts_with('0') { 'P' } else { 'R' };
        routes.entry(text).or_default().insert(node);
    }
    routes
}

fn only(nodes: &str) -> BTreeSet<char> {
    nodes.chars().collect()
}

#[test]
fn the_candidate_differs_by_its_three_mistakes_alone() {
    let home = crate::home();
    let mut sandbox = Sandbox::create(home.path().join("pair")).unwrap();
    sandbox.up().unwrap();
    sandbox.load_shop().unwrap();
    sandbox.snapshot().unwrap();

    let (today, routes_today) = run(&mut sandbox, "today");
    let (candidate, routes_candidate) = run(&mut sandbox, "candidate");

    let codes = |summary: &Summary| summary.errors.keys().cloned().collect::<Vec<_>>();
    assert_eq!(codes(&today), ["23505", "23514"], "the clients' own mistakes, and nothing from the router");
    assert_eq!(codes(&candidate), ["23505", "23514", "25006"], "a write reached the standby");

    for (statement, candidate) in &routes_candidate {
        let Some(today) = routes_today.get(statement) else { continue };
        if today == candidate {
            continue;
        }
        let lower = statement.to_lowercase();
        let reason = if lower.contains("audit_login") {
            (only("P"), only("R"))
        } else if lower.contains("order") {
            (only("R"), only("P"))
        } else {
            // A read inside a transaction after its write, and maybe the same read elsewhere.
            assert!(lower.starts_with("select"), "{statement}: {today:?} became {candidate:?}");
            assert!(today.contains(&'P'), "{statement}: {today:?} became {candidate:?}");
            (today.clone(), only("R"))
        };
        assert_eq!((today.clone(), candidate.clone()), reason, "{statement}");
    }
    let went =
        |routes: &Routes, text: &str| routes.iter().find(|(s, _)| s.contains(text)).map(|(_, nodes)| nodes.clone());
    assert_eq!(went(&routes_candidate, "SELECT audit_login"), Some(only("R")));
    assert_eq!(went(&routes_candidate, "ORDER BY id DESC"), Some(only("P")));
    assert_eq!(went(&routes_today, "ORDER BY id DESC"), Some(only("R")));
    let quantity = "SELECT quantity FROM stock WHERE sku = ";
    let exact = |routes: &Routes| routes.get(quantity).cloned();
    assert_eq!((exact(&routes_today), exact(&routes_candidate)), (Some(only("P")), Some(only("R"))));
}
