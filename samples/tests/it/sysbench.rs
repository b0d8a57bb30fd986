//! sysbench on MariaDB, a workload that we did not write: recorded as packets, replayed twice through a router that is right,
//! and compared with itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use splitproof_capture::trace::{Engine, Kind, Reader};
use splitproof_samples::record::Recorder;
use splitproof_samples::sandbox::Plan;
use splitproof_samples::sysbench::{Done, Sysbench};
use splitproof_samples::{Error, Sandbox};

use crate::tools::{self, Ended};
use crate::verdict::Verdict;

/// A running pair with sysbench's tables, and a snapshot of it.
fn pair(bench: Sysbench) -> (tempfile::TempDir, Sandbox) {
    let home = crate::home();
    let mut sandbox = Sandbox::create_with(home.path().join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    sandbox.load_sysbench(bench).unwrap();
    sandbox.snapshot().unwrap();
    (home, sandbox)
}

/// Runs sysbench as often as there are ways, one after the other, and records its packets. `None`, and said so, where that is
/// not allowed.
fn record(sandbox: &mut Sandbox, recorder: &Recorder, output: &Path, ways: &[Sysbench]) -> Option<Vec<Done>> {
    let run = |sandbox: &Sandbox| ways.iter().map(|way| sandbox.run_sysbench(*way)).collect();
    match sandbox.record_while(recorder, output, run) {
        Ok(done) => Some(done),
        Err(Error::Tool { output, .. }) if output.contains("ermission") || output.contains("ermitted") => {
            assert!(std::env::var_os("CI").is_none(), "no right to capture packets: {output}");
            // Not `eprintln!`, which the test harness keeps to itself.
            std::io::stderr().write_all(b"skipped: 1 (no right to capture packets here)\n").unwrap();
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Checks that nothing was lost in making the trace.
fn is_whole(said: &Ended) {
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.json()["losses"], serde_json::json!([]), "{said:?}");
}

/// How often these bytes stand in a file.
fn count(file: &Path, bytes: &[u8]) -> u64 {
    let file = std::fs::read(file).unwrap();
    file.windows(bytes.len()).filter(|window| *window == bytes).count().try_into().unwrap()
}

#[test]
fn sysbench_is_recorded_as_text_and_prepared() {
    let bench = Sysbench { rows: 500, transactions: 40, threads: 2, ..Sysbench::default() };
    let (home, mut sandbox) = pair(bench);
    for prepared in [false, true] {
        sandbox.restore().unwrap();
        let pcap = home.path().join(format!("{prepared}.pcap"));
        let bench = Sysbench { prepared, ..bench };
        let Some(done) = record(&mut sandbox, &Recorder::Tcpdump, &pcap, &[bench]) else { return };
        assert_eq!(done[0].transactions, 40);
        // A deadlock's victim begins again.
        let statements = 40 * bench.statements();
        assert!(done[0].queries >= statements && (done[0].queries == statements || done[0].failed > 0), "{done:?}");
        // A packet's header (length, sequence number 0), the command, and the statement.
        let (texts, statements) = (count(&pcap, b"\x07\0\0\0\x03COMMIT"), count(&pcap, b"\x07\0\0\0\x16COMMIT"));
        assert_eq!((texts, statements), if prepared { (0, 2) } else { (40, 0) });
        // The clients' first writes must not reach the replica's old connection, which would then be recorded.
        let (port, trace) =
            (format!("{}=mysql", sandbox.ports().primary), home.path().join(format!("{prepared}.trace")));
        let options = ["packets", "--port", &port, "--format", "json", "-o"].map(OsStr::new);
        is_whole(&tools::run("capture", options.into_iter().chain([trace.as_os_str(), pcap.as_os_str()])));
        assert!(sandbox.replica().answers().unwrap());
        sandbox.wait_caught_up().unwrap();
    }
}

/// Four connections read and write the same few rows as fast as they can, in both protocols; in transactions, whose reads stay on
/// the primary, and without, so that reads go to the replica and wait there for the writes before them. No two runs serialise
/// that alike, and some end in deadlocks and duplicate keys. So nothing is expected of a single answer: whatever way the runs
/// went, there is no fault to be found in either.
#[test]
fn a_right_router_shows_no_fault_in_either_of_two_runs() {
    let bench = Sysbench { rows: 500, transactions: 75, threads: 4, ..Sysbench::default() };
    let (home, mut sandbox) = pair(bench);
    let ways: Vec<Sysbench> = [(false, false), (true, false), (false, true), (true, true)]
        .map(|(prepared, autocommit)| Sysbench { prepared, autocommit, ..bench })
        .to_vec();
    let window = home.path().join("window");
    let recorder = Recorder::Capture(tools::path("capture"));
    let Some(done) = record(&mut sandbox, &recorder, &window, &ways) else { return };
    is_whole(&tools::run("capture", ["show".as_ref(), "--format".as_ref(), "json".as_ref(), window.as_os_str()]));
    assert_eq!(kinds(&window), told(&ways, &done));

    sandbox.write_pair_toml(Some(&home.path().join("pair.toml"))).unwrap();
    sandbox.router("parsed").unwrap();
    let runs = ["once", "again"].map(|name| home.path().join(name));
    for run in &runs {
        sandbox.restore().unwrap();
        let ended = replay(&window, &home.path().join("pair.toml"), run);
        // On a busy machine the replay may be late (exit code 1); it has to be whole all the same.
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        let summary = ended.json();
        assert_eq!(summary["sent"], summary["recorded"], "{summary}");
        assert_eq!((&summary["stopped"], &summary["lost_sessions"]), (&false.into(), &0.into()), "{summary}");
    }
    let verdict = Verdict::of(&runs[0], &runs[1], &home.path().join("verdict"));
    for run in ["", "_baseline"] {
        for metric in [
            "write_leakage",
            "read_only_txn_errors",
            "accidental_primary_reads",
            "split_transactions",
            "session_state_missed",
            "duplicated_writes",
            "router_made_writes",
            "stale_reads",
            "unattributed",
            "unknown_functions",
            "parse_errors",
            "incomplete",
            "cut_short",
            "lost",
        ] {
            assert_eq!(
                verdict.metric(&format!("{metric}{run}")),
                0.0,
                "{metric}{run}: {:#?}",
                verdict.report.comparison
            );
        }
        assert_eq!(verdict.metric(&format!("replica_read_share_pct{run}")), 100.0);
    }
    let answers = &verdict.report.comparison.answers;
    for metric in [
        "mismatches",
        "stale_answers",
        "missing_answers",
        "answer_errors",
        "nondeterministic_answers",
        "unverified_answers",
        "not_replayed",
    ] {
        assert_eq!(verdict.metric(metric), 0.0, "{metric}: {answers:#?}");
    }
    // Everything was compared, and not just put down to the races.
    let executed: u64 = done.iter().map(|done| done.queries + done.failed).sum();
    assert_eq!(verdict.metric("compared"), executed as f64);
    assert!(verdict.metric("reordered_answers") < verdict.metric("compared") / 2.0, "{:?}", answers.counts);
}

fn replay(window: &Path, pair: &Path, run: &Path) -> Ended {
    let options = ["--allow-recorded-server", "--format", "json", "--pair"].map(OsStr::new);
    let paths = [pair.as_os_str(), "-o".as_ref(), run.as_os_str(), window.as_os_str()];
    tools::run("replay", options.into_iter().chain(paths))
}

/// The requests of a trace by kind.
fn kinds(trace: &Path) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for request in Reader::open(trace).unwrap().requests() {
        *kinds.entry(request.unwrap().kind.as_str()).or_default() += 1;
    }
    kinds
}

/// What sysbench said that it did, as requests by kind.
fn told(ways: &[Sysbench], done: &[Done]) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for (way, done) in ways.iter().zip(done) {
        let threads = u64::from(way.threads);
        let prepared = Sysbench::SHAPES * u64::from(way.tables) + if way.autocommit { 0 } else { 2 };
        let prepared = if way.prepared { threads * prepared } else { 0 };
        let executed = if way.prepared { Kind::Execute } else { Kind::Query };
        for (kind, requests) in [
            (Kind::Connect, threads),
            (executed, done.queries + done.failed),
            (Kind::Prepare, prepared),
            (Kind::Close, prepared),
            (Kind::Disconnect, threads),
        ] {
            *kinds.entry(kind.as_str()).or_default() += requests;
        }
    }
    kinds
}

#[test]
fn sysbench_is_for_mariadb() {
    let home = crate::home();
    let mut sandbox = Sandbox::create(home.path().join("pair")).unwrap();
    sandbox.up().unwrap();
    let error = sandbox.load_sysbench(Sysbench::default()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("create --engine mysql"), "{error}");
}
