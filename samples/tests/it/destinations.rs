//! Where each statement ran, in our eyes and in pgpool's.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use splitproof_capture::trace::{Kind, Reader, Request};

use crate::pgpool_log::{self, Sent};
use crate::stage::{Played, stage};
use crate::verdict::Verdict;

/// The nodes in the order of pgpool's configuration.
const NODES: [&str; 2] = ["primary", "standby"];

#[test]
fn pgpools_own_log_agrees_with_every_attribution() {
    let mut stage = stage();
    let (today, candidate) = (stage.played("today", "today"), stage.played("candidate", "candidate"));
    // A comparison keeps the judged requests of its candidate.
    for (run, verdict) in [(&today, stage.compare(&candidate, &today)), (&candidate, stage.compare(&today, &candidate))]
    {
        assert_eq!(verdict.metric("unattributed"), 0.0, "{}", run.run.display());
        agree(run, &verdict);
    }
}

#[test]
fn the_page_on_judged_requests_names_every_column() {
    let mut stage = stage();
    let today = stage.played("today", "today");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/judged.md");
    let page = std::fs::read_to_string(page).unwrap();
    let named: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(named, stage.compare(&today, &today).columns);
}

/// The same statements on the same nodes, as often.
fn agree(run: &Played, verdict: &Verdict) {
    let texts = texts(run);
    let mut ours = Sent::new();
    let mut needed = 0;
    for request in verdict.requests.iter().filter(|request| request.needed) {
        needed += 1;
        assert!(!request.nodes.is_empty(), "{request:?} ran nowhere");
        for name in &request.nodes {
            let node = NODES.iter().position(|known| known == name).unwrap();
            let text = texts[&(request.session, request.seq)].clone();
            *ours.entry((text, node)).or_default() += 1;
        }
    }
    assert!(needed > 2000, "the window holds more than {needed} statements");

    let log = pgpool_log::read(&run.log);
    let mut different = Vec::new();
    for key in ours.keys().chain(log.statements.keys()).collect::<BTreeSet<_>>() {
        let (ours, pgpools) = (ours.get(key).unwrap_or(&0), log.statements.get(key).unwrap_or(&0));
        if ours != pgpools {
            different.push(format!("{}: {}: ours {ours}, pgpool's {pgpools}", NODES[key.1], key.0));
        }
    }
    assert!(different.is_empty(), "{}:\n{}", run.run.display(), different.join("\n"));
    assert!(!log.own.is_empty(), "pgpool's look-ups are in its log");
}

/// The text of each request that executes something: one per line of pgpool's log.
fn texts(run: &Played) -> HashMap<(u64, u32), String> {
    let reader = Reader::open(&run.run).unwrap();
    let text = |request: Request| {
        let executes = matches!(request.kind, Kind::Query | Kind::Execute | Kind::Fetch | Kind::Copy);
        Some(((request.session, request.seq), request.sql.filter(|_| executes)?.to_string()))
    };
    reader.requests().filter_map(|request| text(request.unwrap())).collect()
}
