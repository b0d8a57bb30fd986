//! What users get wrong with MySQL and MariaDB: a clear message, the documented exit code, and nothing lost that was recorded.

use std::path::Path;
use std::time::Duration;

use splitproof_capture::trace::{Loss, Reader, Request};
use splitproof_samples::sandbox::Stop;
use splitproof_samples::sandbox::state::Backends;

use crate::mysql_stage::{Stage, stage};
use crate::tools::{self, Ended};

/// The first packets of the sample capture, each with its record.
fn packets(count: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let bytes = std::fs::read(tools::sample("shop-mysql.pcap")).unwrap();
    let (header, mut rest) = bytes.split_at(24);
    let mut records = Vec::new();
    while records.len() < count {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, more) = rest.split_at(16 + length);
        records.push(record.to_vec());
        rest = more;
    }
    (header.to_vec(), records)
}

/// Decodes these bytes as a capture file; what the tool said, and the requests.
fn decode(home: &Path, bytes: &[u8]) -> (Ended, Option<(Vec<Request>, u64)>) {
    let (file, trace) = (home.join("window.pcap"), home.join("trace"));
    std::fs::write(&file, bytes).unwrap();
    let _ = std::fs::remove_dir_all(&trace);
    let arguments = ["packets", "--port", "3306=mysql", "-o"].iter().map(std::ffi::OsStr::new);
    let ended = tools::run("capture", arguments.chain([trace.as_os_str(), file.as_os_str()]));
    let read = trace.is_dir().then(|| {
        let reader = Reader::open(&trace).unwrap();
        let cut = reader.manifest().table.losses.get(Loss::TruncatedFile);
        (reader.requests().map(|row| row.unwrap()).collect(), cut)
    });
    (ended, read)
}

#[test]
fn files_that_are_no_captures_are_named() {
    let home = tempfile::tempdir().unwrap();
    for (bytes, part) in [
        (&b""[..], "it is empty"),
        (b"2026-11-30T08:00:00 5 Query SELECT 1\n", "it is text"),
        (b"\x4a\0\0\0\x0a5.5.5-10.11.19-MariaDB\0\x09\0\0\0", "none of a capture's"),
    ] {
        let (ended, read) = decode(home.path(), bytes);
        ended.expect(2, &["window.pcap", "not a capture file", part]);
        assert!(read.is_none(), "no trace was begun");
    }
}

#[test]
fn a_capture_cut_at_every_byte_of_its_last_packet_keeps_the_rest() {
    let home = tempfile::tempdir().unwrap();
    // The last packet is one with a command of a client, so that a row hangs on it.
    let (header, mut records) = packets(400);
    while !records.last().unwrap().windows(7).any(|part| part == b"\x03SELECT") {
        records.pop();
    }
    let last = records.pop().unwrap();
    let before: Vec<u8> = header.iter().chain(records.iter().flatten()).copied().collect();
    let (ended, kept) = decode(home.path(), &before);
    ended.expect(0, &[]);
    let (kept, _) = kept.unwrap();
    assert!(kept.len() > 50, "{}", kept.len());
    let (_, whole) = decode(home.path(), &[&before[..], &last].concat());
    assert_eq!(whole.unwrap().0.len(), kept.len() + 1);
    for length in 1..last.len() {
        let (ended, read) = decode(home.path(), &[&before[..], &last[..length]].concat());
        assert_eq!(ended.code, Some(1), "{length}: {ended:?}");
        let said = format!("window.pcap: ends inside a packet, at byte {}", before.len());
        assert!(ended.stdout.contains(&said), "{length}: {ended:?}");
        let (rows, cut) = read.unwrap();
        assert_eq!((rows, cut), (kept.clone(), length as u64), "{length}");
    }
}

#[test]
fn random_bytes_are_a_problem_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(11);
    let noise: Vec<u8> = (0..5000).map(|_| rng.u8(..)).collect();
    let (header, records) = packets(300);
    let (ended, read) = decode(home.path(), &[&header[..], &noise].concat());
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
    for part in ["window.pcap", "damaged at byte 24, after packet 0", "record again"] {
        assert!(ended.stdout.contains(part), "{part}: {ended:?}");
    }
    assert!(read.is_none_or(|(rows, _)| rows.is_empty()));

    // Behind sound packets: these are kept.
    let sound: Vec<u8> = header.iter().chain(records.iter().flatten()).copied().collect();
    let (_, kept) = decode(home.path(), &sound);
    let (ended, read) = decode(home.path(), &[&sound[..], &noise].concat());
    let said = format!("window.pcap: damaged at byte {}, after packet 300", sound.len());
    assert!(ended.code == Some(1) && ended.stdout.contains(&said), "{ended:?}");
    assert_eq!(read.unwrap().0, kept.unwrap().0);

    // Noise in the packets' contents: whatever it means, the file is read to its end and every byte is accounted for.
    for _ in 0..20 {
        let mut damaged = sound.clone();
        for _ in 0..200 {
            let record = rng.usize(..records.len());
            let start = header.len() + records[..record].iter().map(Vec::len).sum::<usize>();
            // Behind the record's head, and the Ethernet, IPv4 and TCP headers.
            let (from, to) = (start + 16 + 66, start + records[record].len());
            if from < to {
                damaged[rng.usize(from..to)] = rng.u8(..);
            }
        }
        let (ended, read) = decode(home.path(), &damaged);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        assert!(!read.unwrap().0.is_empty());
    }
}

/// Replays a small trace with another pair.toml.
fn replay(stage: &Stage, trace: &Path, pair: &str) -> Ended {
    stage.replay(pair, trace, &stage.path("wrong-run"), &[]).end()
}

#[test]
fn a_pair_that_is_not_as_described_is_refused_before_anything_is_sent() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let trace = stage.trace("small", "shop", &["SELECT 1", "UPDATE users SET credit = -1 WHERE id = 1"]);
    let right = stage.sandbox.pair_toml();
    let swapped = right
        .replace("role = \"primary\"", "role = \"?\"")
        .replace("role = \"replica\"", "role = \"primary\"")
        .replace("role = \"?\"", "role = \"replica\"");
    replay(&stage, &trace, &swapped)
        .expect(2, &["node \"primary\"", "is a primary", "role = \"replica\"", "swap the roles"]);
    let twice = right.replace(
        &format!("127.0.0.1:{}/", stage.sandbox.ports().replica),
        &format!("localhost:{}/", stage.sandbox.ports().primary),
    );
    replay(&stage, &trace, &twice).expect(2, &["pair.toml"]);
    let misspelt = right.replace("evidence = ", "evidense = ");
    replay(&stage, &trace, &misspelt).expect(2, &["pair.toml:", "unknown field `evidense`", "use one of"]);
    let engine = right.replace("engine = \"mysql\"", "engine = \"postgresql\"");
    replay(&stage, &trace, &engine).expect(2, &["pair.toml", "a URL of mysql, and the pair's engine is postgresql"]);
    let password = right.replace("root@", "root:topsecret@");
    let ended = replay(&stage, &trace, &password);
    ended.expect(2, &["Access denied", "MYSQL_PWD"]);
    assert!(!ended.stderr.contains("topsecret") && !ended.stdout.contains("topsecret"), "{ended:?}");

    stage.sandbox.replica().stop(Stop::Fast).unwrap();
    for pair in [&right, &stage.by_logs()] {
        replay(&stage, &trace, pair).expect(2, &["node \"replica\"", "cannot connect", "check that the server runs"]);
    }
    stage.sandbox.up().unwrap();

    assert!(!stage.path("wrong-run").exists(), "no run was begun");
    let credit = stage.sandbox.primary().sql("shop", "SELECT MIN(credit) FROM users").unwrap();
    assert!(!credit.starts_with('-'), "nothing was sent: {credit}");
}

#[test]
fn a_router_that_refuses_the_user_or_is_not_there_is_named() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let pair = stage.sandbox.pair_toml();
    let trace = stage.trace("stranger", "stranger", &["SELECT 1"]);
    let text = |stage: &Stage, trace: &Path, pair: &str| {
        let file = stage.path("pair.toml");
        std::fs::write(&file, pair).unwrap();
        let run = stage.path("refused-run");
        let arguments = [trace.as_os_str(), "--pair".as_ref(), file.as_os_str(), "-o".as_ref(), run.as_os_str()];
        tools::run("replay", arguments.into_iter().chain(["--force".as_ref()]))
    };
    let ended = text(&stage, &trace, &pair);
    ended.expect(2, &[]);
    for part in ["refused", "user \"stranger\"", "Access denied", "REFUSED", "MYSQL_PWD"] {
        assert!(ended.stdout.contains(part), "{part}: {ended:?}");
    }
    let port = format!("127.0.0.1:{}/", stage.sandbox.ports().router);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let trace = stage.trace("small-again", "shop", &["SELECT 1"]);
    let ended = text(&stage, &trace, &pair.replace(&port, &format!("127.0.0.1:{nobody}/")));
    ended.expect(2, &["the router at ", "cannot connect", "see that it runs and listens there"]);
}

#[test]
fn a_node_that_dies_during_the_replay_is_told_and_the_run_not_judged() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let run = stage.path("bereaved");
    let replay = stage.replay(&stage.sandbox.pair_toml(), &stage.path("window"), &run, &[]);
    std::thread::sleep(Duration::from_secs(4));
    stage.sandbox.replica().stop(Stop::Fast).unwrap();
    let ended = replay.end();
    ended.expect(1, &[]);
    let summary = ended.json();
    let since = summary["nodes"][1]["outage"]["since_ns"].as_i64().unwrap() - summary["run_start_ns"].as_i64().unwrap();
    assert!((1_000_000_000..12_000_000_000).contains(&since), "{summary}");
    assert!(summary["nodes"][0].get("outage").is_none(), "{summary}");
    let compared = tools::run("analyze", ["compare".as_ref(), run.as_os_str(), run.as_os_str()]);
    compared.expect(2, &[]);
    for part in ["COULD NOT JUDGE", "nodes_gone is 1", "node replica stopped answering", "did not come back"] {
        assert!(compared.stdout.contains(part), "{part}: {compared:?}");
    }
    stage.sandbox.up().unwrap();
}

#[test]
fn a_replay_that_is_interrupted_leaves_a_readable_run() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let run = stage.path("interrupted");
    let mut replay = stage.replay(&stage.sandbox.pair_toml(), &stage.path("window"), &run, &[]);
    std::thread::sleep(Duration::from_secs(4));
    replay.interrupt();
    replay.says("stopping");
    let ended = replay.end();
    ended.expect(1, &[]);
    let summary = ended.json();
    let number = |name: &str| summary[name].as_u64().unwrap();
    assert!(summary["stopped"].as_bool().unwrap() && number("sent") > 0, "{summary}");
    let not_sent: u64 = summary["not_sent"].as_object().unwrap().values().filter_map(|count| count.as_u64()).sum();
    assert_eq!(number("sent") + not_sent, number("recorded"), "every request is accounted for: {summary}");
    let read = Reader::open(&run).unwrap();
    assert!(!read.manifest().complete && read.manifest().table.requests >= number("sent"));
    assert!(read.manifest().nodes["primary"].requests > 0 && read.manifest().nodes["replica"].requests > 0);
}
