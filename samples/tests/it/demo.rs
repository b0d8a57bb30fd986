//! The demo in small: what today's configuration and the candidate show, against what is known of them.

use std::ffi::OsStr;

use crate::stage::stage;
use crate::tools;

#[test]
fn the_candidates_three_mistakes_are_found_with_the_shapes_that_show_them() {
    let mut stage = stage();
    let (today, candidate) = (stage.played("today", "today"), stage.played("candidate", "candidate"));
    let verdict = stage.compare(&today, &candidate);
    assert_eq!((verdict.code, verdict.report.verdict.decision.as_str()), (1, "fail"));
    let found = &verdict.report.comparison.candidate;

    // A volatile function declared read-only.
    let leaked: Vec<_> = found.write_leakage.iter().filter(|leak| leak.baseline == Some(0)).collect();
    assert!(!leaked.is_empty(), "{found:#?}");
    for leak in leaked {
        assert!(leak.shape.text.contains("audit_login"), "{leak:?}");
        assert_eq!(leak.errors, [("25006".to_owned(), leak.requests)], "{leak:?}");
        assert_eq!((leak.refused, leak.nodes.as_slice()), (leak.requests, ["standby".to_owned()].as_slice()));
    }
    assert!(verdict.metric("write_leakage") > 0.0 && !verdict.holds("write_leakage"));
    assert_eq!(verdict.metric("write_leakage_baseline"), 0.0);
    assert!(!verdict.holds("read_only_txn_errors"));

    // disable_load_balance_on_write = off: a transaction writes on the primary, and then reads on the standby.
    assert!(verdict.metric("split_transactions_delta") > 0.0 && !verdict.holds("split_transactions_delta"));
    let reads_after_writing = found.split_transactions.iter().filter(|split| {
        let write = split.statements.iter().position(|step| step.intent == "primary" && step.nodes == ["primary"]);
        let read = split
            .statements
            .iter()
            .rposition(|step| step.nodes == ["standby"] && step.shape.text.to_lowercase().starts_with("select"));
        write.is_some() && write < read && split.baseline == Some(0)
    });
    assert!(reads_after_writing.count() > 0, "{:#?}", found.split_transactions);

    // A pattern that catches every ORDER BY.
    let pinned: Vec<_> = found.accidental_primary_reads.iter().filter(|read| read.baseline == Some(0)).collect();
    assert!(pinned.iter().any(|read| read.shape.text.to_lowercase().contains("order by id desc")), "{pinned:#?}");
    for read in pinned {
        assert!(read.shape.text.to_lowercase().contains("order") && read.requests > 0, "{read:?}");
    }
    assert!(verdict.metric("replica_read_share_delta_pct") < -2.0 && !verdict.holds("replica_read_share_delta_pct"));

    assert_eq!(verdict.metric("unattributed"), 0.0);
    assert!(verdict.holds("mismatches"), "{:#?}", verdict.report.comparison.answers);
}

#[test]
fn today_against_itself_shows_nothing_that_is_not_real() {
    let mut stage = stage();
    let (today, again) = (stage.played("today", "today"), stage.played("today-again", "today"));
    let verdict = stage.compare(&today, &again);
    let comparison = &verdict.report.comparison;
    for run in ["", "_baseline"] {
        for metric in ["write_leakage", "unattributed", "duplicated_writes", "session_state_missed", "parse_errors"] {
            assert_eq!(verdict.metric(&format!("{metric}{run}")), 0.0, "{metric}{run}");
        }
    }
    for metric in ["mismatches", "answer_errors", "not_replayed", "split_transactions_delta"] {
        assert_eq!(verdict.metric(metric), 0.0, "{metric}: {:#?}", comparison.answers.shapes);
    }

    // What a run shows that the other does not, other than by chance: how far the standby was behind.
    for finding in verdict.report.findings.iter().filter(|finding| finding.name != "stale_reads") {
        let lines = finding.lines.iter().filter(|line| line.count > 0 && line.baseline == Some(0));
        let fresh: Vec<_> = lines.map(|line| &line.shape).collect();
        assert!(fresh.is_empty(), "{}: {fresh:#?}", finding.name);
    }
    for stale in comparison.baseline.stale_reads.iter().chain(&comparison.candidate.stale_reads) {
        assert!(stale.requests > 0 && stale.lag_ms[0] > 0.0, "{stale:?}");
    }
    // The one split that is there is real: pgpool forgets after ROLLBACK TO that the transaction has written.
    for split in &comparison.candidate.split_transactions {
        let steps = || split.statements.iter().map(|step| step.shape.text.to_lowercase());
        let first_read = steps().position(|text| text.starts_with("select"));
        let forgot = steps().any(|text| text.starts_with("rollback to"));
        let read_first = first_read < steps().position(|text| text.starts_with("update"));
        assert!(forgot || read_first, "{split:#?}");
    }

    let named = &comparison.answers.nondeterministic;
    for function in ["now()", "nextval"] {
        let shape = named.iter().find(|shape| shape.shape.text.contains(function));
        let shape = shape.unwrap_or_else(|| panic!("{function} is not named: {named:#?}"));
        assert!(!shape.why.is_empty());
    }
    assert!(named.iter().any(|shape| shape.shape.text.contains("now()") && shape.differ > 0), "{named:#?}");
}

#[test]
fn the_model_of_pgpool_sends_every_request_where_pgpool_sent_it() {
    let mut stage = stage();
    let common = tools::sample("pgpool/common.conf");
    for configuration in ["today", "candidate"] {
        let played = stage.played(configuration, configuration);
        let rules = tools::sample(&format!("pgpool/{configuration}.conf"));
        let predicted = stage.path(&format!("predicted-{configuration}"));
        let mut arguments: Vec<&OsStr> = ["simulate", "--format=json", "--router", "pgpool"].map(OsStr::new).to_vec();
        for file in [&common, &rules] {
            arguments.extend(["--rules".as_ref(), file.as_os_str()]);
        }
        arguments.extend([played.run.as_os_str(), "-o".as_ref(), predicted.as_os_str()]);
        let simulated = tools::run("analyze", arguments);
        assert_eq!(simulated.code, Some(0), "{simulated:?}");
        let agreement = &simulated.json()["agreement"];
        // The shop's window has more than two thousand requests that run on a node.
        assert!(agreement["compared"].as_u64() > Some(2000), "{agreement}");
        assert_eq!(agreement["agreed"], agreement["compared"], "{agreement}");
    }
}
