//! What users get wrong, and a Ctrl-C: a clear message, the documented exit code, and nothing lost that was recorded.

use std::path::Path;
use std::time::Duration;

use splitproof_samples::sandbox::Stop;

use crate::stage::{Stage, stage};
use crate::tools::{self, Ended};

/// Replays a small trace with another pair.toml.
fn replay(stage: &Stage, trace: &Path, pair: &str) -> Ended {
    let file = stage.path("wrong.toml");
    std::fs::write(&file, pair).unwrap();
    stage.replay_into(&file, trace, &stage.path("wrong-run"), &["--force"]).end()
}

#[test]
fn a_pair_that_is_not_as_described_is_refused_before_anything_is_sent() {
    let mut stage = stage();
    stage.fresh("today");
    let trace = stage.trace("small", "shop", &["SELECT 1", "UPDATE users SET credit = -1 WHERE id = 1"]);
    let right = stage.sandbox.pair_toml();
    let swapped = right
        .replace("role = \"primary\"", "role = \"?\"")
        .replace("role = \"replica\"", "role = \"primary\"")
        .replace("role = \"?\"", "role = \"replica\"");
    replay(&stage, &trace, &swapped)
        .expect(2, &["node \"primary\"", "is a primary", "role = \"replica\"", "swap the roles"]);

    let misspelt = right.replace("evidence = ", "evidense = ");
    replay(&stage, &trace, &misspelt).expect(2, &["wrong.toml:", "unknown field `evidense`", "use one of"]);

    let engine = right.replace("engine = \"postgresql\"", "engine = \"oracle\"");
    replay(&stage, &trace, &engine).expect(2, &["wrong.toml:2:", "oracle"]);

    replay(&stage, &trace, "").expect(2, &["wrong.toml:1:1", "missing field"]);
    let missing = stage.replay_into(&stage.path("no-pair.toml"), &trace, &stage.path("wrong-run"), &[]).end();
    missing.expect(2, &["no-pair.toml", "No such file"]);

    stage.sandbox.replica().stop(Stop::Fast).unwrap();
    replay(&stage, &trace, &right).expect(2, &["node \"standby\"", "cannot connect", "check that the server runs"]);
    stage.sandbox.up().unwrap();

    assert!(!stage.path("wrong-run").exists(), "no run was begun");
    let credit = stage.sandbox.primary().sql("shop", "SELECT credit FROM users WHERE id = 1").unwrap();
    assert_ne!(credit, "-1.00", "nothing was sent");
}

#[test]
fn a_router_that_refuses_the_user_or_is_not_there_is_named() {
    let mut stage = stage();
    stage.fresh("today");
    let pair = stage.sandbox.pair_toml();
    let trace = stage.trace("stranger", "stranger", &["SELECT 1"]);
    let ended = replay(&stage, &trace, &pair);
    ended.expect(2, &[]);
    for part in ["refused", "user \"stranger\"", "REFUSED", "passwords"] {
        assert!(ended.stdout.contains(part), "{part}: {ended:?}");
    }

    let port = format!("127.0.0.1:{}/", stage.sandbox.ports().router);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let trace = stage.trace("small-again", "shop", &["SELECT 1"]);
    let ended = replay(&stage, &trace, &pair.replace(&port, &format!("127.0.0.1:{nobody}/")));
    ended.expect(2, &["the router at ", "cannot connect", "see that it runs and listens there"]);
}

#[test]
fn a_trace_that_cannot_be_read_is_named_with_the_remedy() {
    let stage = stage();
    let pair = stage.sandbox.pair_toml();
    let headless = stage.trace("headless", "shop", &["SELECT 1"]);
    std::fs::remove_file(headless.join("trace.json")).unwrap();
    replay(&stage, &headless, &pair).expect(2, &["headless", "there is no trace.json", "show --rebuild"]);
    // The remedy works.
    let arguments = ["show".as_ref(), "--rebuild".as_ref(), headless.as_os_str()];
    let shown = tools::run("capture", arguments);
    shown.expect(1, &[]);
    assert!(shown.stdout.contains("made again from the files"), "{shown:?}");

    let cut = stage.trace("cut", "shop", &["SELECT 1"]);
    let file = cut.join("requests-00000.parquet");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    replay(&stage, &cut, &pair).expect(2, &["requests-00000.parquet", "cut short", "restore the file"]);

    let pcap = tools::sample("shop-postgresql.pcap");
    replay(&stage, &pcap, &pair)
        .expect(2, &["shop-postgresql.pcap", "a trace is a directory", "splitproof-capture packets"]);
    replay(&stage, &stage.path("nowhere"), &pair).expect(2, &["nowhere", "no such directory"]);
}

#[test]
fn a_replay_that_is_interrupted_leaves_a_readable_run() {
    let mut stage = stage();
    stage.fresh("today");
    let run = stage.path("interrupted");
    let mut replay = stage.replay(&stage.path("window"), &run, &["--format", "json"]);
    std::thread::sleep(Duration::from_secs(4));
    replay.interrupt();
    replay.says("stopping");
    let ended = replay.end();
    ended.expect(1, &[]);
    let summary = ended.json();
    let number = |name: &str| summary[name].as_u64().unwrap();
    assert!(summary["stopped"].as_bool().unwrap(), "{summary}");
    assert!(number("sent") > 0 && number("sent") < number("recorded"), "{summary}");
    // Every request is accounted for, whatever the reason.
    let not_sent: u64 = summary["not_sent"].as_object().unwrap().values().filter_map(|count| count.as_u64()).sum();
    assert_eq!(number("sent") + not_sent, number("recorded"), "{summary}");

    let shown = tools::run("capture", ["show".as_ref(), "--format".as_ref(), "json".as_ref(), run.as_os_str()]);
    shown.expect(1, &[]);
    let shown = shown.json();
    assert_eq!(shown["complete"], false, "{shown}");
    assert!(shown["requests"].as_u64() >= Some(number("sent")), "{shown}");
    let nodes: Vec<_> = shown["nodes"].as_object().unwrap().keys().collect();
    assert_eq!(nodes, ["primary", "standby"]);
    assert!(shown["nodes"]["primary"]["requests"].as_u64().unwrap() > 0, "{shown}");
    assert!(!shown["problems"].as_array().unwrap().is_empty());
}
