//! Damaged traces: a clear error that names the file and the remedy, and never a panic.

use std::path::Path;

use splitproof_capture::trace::{
    Engine, Error, Kind, Losses, Options, Position, Reader, Request, Role, Shape, Sink, Writer, rebuild,
};

use crate::trace_roundtrip::full;

const FILE: &str = "requests-00000.parquet";

fn trace(dir: &Path, requests: u32) {
    let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "packets")).expect("creates");
    (0..requests).for_each(|seq| {
        let sql = format!("SELECT {seq} FROM a_table WHERE id = {}", seq * 7919);
        writer.request(Request { sql: Some(sql.into()), ..full(1, seq, i64::from(seq)) });
    });
    writer.finish(&Losses::default()).expect("finishes");
}

/// Everything that can be read, or the first error.
fn read(dir: &Path) -> Result<u64, Error> {
    let reader = Reader::open(dir)?;
    let mut count = 0;
    for request in reader.requests() {
        request?;
        count += 1;
    }
    Ok(count)
}

/// The error of a damaged trace, which names `file` and each of `words`.
#[track_caller]
fn refused(dir: &Path, words: &[&str]) {
    let error = read(dir).expect_err("is refused").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn each_missing_part_is_named_with_a_remedy() {
    let parent = tempfile::tempdir().expect("directory");
    let dir = parent.path().join("trace");
    refused(&dir, &["no such directory"]);
    std::fs::write(parent.path().join("w.pcap"), "").expect("writes");
    refused(&parent.path().join("w.pcap"), &["is a file", "splitproof-capture packets"]);
    refused(parent.path(), &["not a trace"]);

    trace(&dir, 10);
    let manifest = std::fs::read_to_string(dir.join("trace.json")).expect("reads");
    std::fs::remove_file(dir.join("trace.json")).expect("removes");
    refused(&dir, &["no trace.json", "1 Parquet file", "--rebuild"]);
    assert_eq!(rebuild(&dir).expect("rebuilds").table.requests, 10);
    assert_eq!(read(&dir).expect("reads"), 10);

    let write = |text: &str| std::fs::write(dir.join("trace.json"), text).expect("writes");
    write(&manifest.replace("\"format\": 1", "\"format\": 2"));
    refused(&dir, &["trace.json", "format 2", "newer splitproof"]);
    write(&manifest[..manifest.len() / 2]);
    refused(&dir, &["trace.json", "line", "--rebuild"]);
    write(&manifest.replace(FILE, "../../etc/passwd"));
    refused(&dir, &["../../etc/passwd", "not a file of a trace"]);
    write(&manifest.replace("\"rows\": 10", "\"rows\": 11"));
    refused(&dir, &["trace.json", "counts 10 requests", "hold 11", "--rebuild"]);
    write(&manifest.replace("\"rows\": 10", "\"rows\": 11").replace("\"requests\": 10", "\"requests\": 11"));
    refused(&dir, &[FILE, "11 rows", "--rebuild"]);
    write(&manifest);
    std::fs::remove_file(dir.join(FILE)).expect("removes");
    refused(&dir, &[FILE, "10 rows", "restore"]);
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let dir = tempfile::tempdir().expect("directory");
    trace(dir.path(), 50);
    let whole = std::fs::read(dir.path().join(FILE)).expect("reads");
    for length in (0..whole.len()).step_by(whole.len() / 200) {
        std::fs::write(dir.path().join(FILE), &whole[..length]).expect("writes");
        refused(dir.path(), &[FILE, "50 rows are lost"]);
    }
}

/// Bytes changed at random: always noticed by the digest, and where the digest is made again, never a panic.
#[test]
fn random_bytes_are_noticed_and_never_panic() {
    let dir = tempfile::tempdir().expect("directory");
    trace(dir.path(), 1500);
    let path = dir.path().join(FILE);
    let whole = std::fs::read(&path).expect("reads");
    let manifest = std::fs::read(dir.path().join("trace.json")).expect("reads");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut unusable = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        // Half of the rounds aim at the footer, where the structure is.
        let from = if round % 2 == 0 { 0 } else { bytes.len().saturating_sub(12_000) };
        for _ in 0..1 + round % 8 {
            let at = from + random() % (bytes.len() - from);
            bytes[at] ^= 1 << (random() % 8);
        }
        std::fs::write(&path, &bytes).expect("writes");
        if bytes != whole {
            refused(dir.path(), &[FILE, "not those that were written", "1500 rows are lost"]);
        }
        unusable += u32::from(rebuild(dir.path()).is_err() || read(dir.path()).is_err());
        std::fs::write(dir.path().join("trace.json"), &manifest).expect("writes");
    }
    assert!(unusable > 100, "only {unusable} of 300 could not be read");
}

/// The unit of loss is the file: what other files hold is still read.
#[test]
fn a_damaged_file_moved_away_leaves_the_others_readable() {
    let dir = tempfile::tempdir().expect("directory");
    let options = Options { flush_rows: 100, ..Options::new(Engine::Postgresql, "packets") };
    let mut writer = Writer::create(dir.path(), options).expect("creates");
    (0..300_u32).for_each(|seq| writer.request(Request::new(1, seq, i64::from(seq), Kind::Query)));
    writer.finish(&Losses::default()).expect("finishes");
    std::fs::write(dir.path().join("requests-00001.parquet"), "not Parquet").expect("writes");
    refused(dir.path(), &["requests-00001.parquet", "100 rows", "move it away", "--rebuild"]);
    let error = rebuild(dir.path()).expect_err("names the file that is in the way").to_string();
    assert!(error.contains("requests-00001.parquet"), "{error}");
    std::fs::remove_file(dir.path().join("requests-00001.parquet")).expect("removes");
    rebuild(dir.path()).expect("rebuilds");
    assert_eq!(read(dir.path()).expect("reads"), 200);
}

/// A run, with all that stands beside its requests.
fn run(dir: &Path) {
    let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "replay")).expect("creates");
    (0..3).for_each(|seq| writer.request(Request::new(1, seq, i64::from(seq) + 5, Kind::Query)));
    let mut node = writer.node("primary").expect("starts");
    node.request(Request::new(1, 0, 5, Kind::Query));
    node.finish(&Losses::default()).expect("finishes");
    let mut positions = writer.positions().expect("starts");
    let position = Position {
        node: "primary".into(),
        at_ns: 1,
        sample_ns: 2,
        role: Role::Primary,
        lsn: Some(3),
        replay_lsn: None,
        gtid: None,
        replay_timestamp_ns: None,
    };
    positions.push(&position).expect("takes");
    positions.finish().expect("finishes");
    let shape = Shape {
        shape_id: 1,
        text: "select ?".into(),
        sample: "SELECT 1".into(),
        count: 3,
        effects: None,
        tables: Vec::new(),
        functions: Vec::new(),
    };
    writer.shapes([shape]).expect("writes");
    writer.catalog(b"{}").expect("writes");
    writer.run(&serde_json::json!({ "nodes": [] })).expect("writes");
    writer.finish(&Losses::default()).expect("finishes");
}

#[test]
fn a_changed_byte_in_any_file_beside_the_requests_is_noticed() {
    let dir = tempfile::tempdir().expect("directory");
    run(dir.path());
    assert_eq!(read(dir.path()).expect("reads"), 3);
    for name in ["shapes.parquet", "positions.parquet", "catalog.json"] {
        let path = dir.path().join(name);
        let whole = std::fs::read(&path).expect("reads");
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        std::fs::write(&path, &changed).expect("writes");
        refused(dir.path(), &[name, "damaged", "not those that were written", "restore it"]);
        std::fs::write(&path, &whole[..whole.len() - 1]).expect("writes");
        refused(dir.path(), &[name, "damaged", "were written", "replay a run again"]);
        std::fs::remove_file(&path).expect("removes");
        refused(dir.path(), &[name, "it is not there", "restore it"]);
        std::fs::write(&path, &whole).expect("writes");
    }
    assert_eq!(read(dir.path()).expect("reads"), 3);
}

#[test]
fn a_run_of_an_earlier_program_is_read_though_nothing_seals_its_other_files() {
    let dir = tempfile::tempdir().expect("directory");
    run(dir.path());
    let path = dir.path().join("trace.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).expect("reads")).expect("JSON");
    assert!(manifest.as_object_mut().expect("an object").remove("sealed").is_some());
    std::fs::write(&path, manifest.to_string()).expect("writes");
    let reader = Reader::open(dir.path()).expect("opens");
    assert_eq!(reader.shapes().expect("shapes").len(), 1);
    assert_eq!(reader.catalog().expect("reads").as_deref(), Some(&b"{}"[..]));
    assert!(reader.leftovers().is_empty(), "{:?}", reader.leftovers());
    std::fs::remove_file(dir.path().join("shapes.parquet")).expect("removes");
    refused(dir.path(), &["shapes.parquet", "it is not there", "restore it"]);
}

#[test]
fn a_manifest_that_does_not_agree_with_itself_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    run(dir.path());
    let path = dir.path().join("trace.json");
    let whole = std::fs::read(&path).expect("reads");
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut manifest: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
        change(&mut manifest);
        std::fs::write(&path, manifest.to_string()).expect("writes");
    };
    changed(&|manifest| manifest["requests"] = 2.into());
    refused(dir.path(), &["trace.json", "counts 2 requests", "hold 3"]);
    changed(&|manifest| manifest["sessions"] = 4.into());
    refused(dir.path(), &["trace.json", "4 sessions", "3 requests"]);
    changed(&|manifest| manifest["window"]["first_start"] = "1970-01-01T00:00:00.000000001Z".into());
    refused(dir.path(), &["trace.json", "does not begin with the first request"]);
    changed(&|manifest| manifest["window"]["last_end"] = "1970-01-01T00:00:00.000000006Z".into());
    refused(dir.path(), &["trace.json", "ends before the last request"]);
    changed(&|manifest| manifest["nodes"]["primary"]["requests"] = 7.into());
    refused(dir.path(), &["trace.json", "of node primary", "counts 7 requests"]);
    changed(&|manifest| manifest["sealed"]["../x"] = manifest["sealed"]["catalog.json"].clone());
    refused(dir.path(), &["../x", "not a file of a trace"]);
}

#[test]
fn a_rebuilt_run_keeps_what_the_replayer_told_and_without_it_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    run(dir.path());
    std::fs::remove_file(dir.path().join("positions.parquet")).expect("removes");
    let manifest = rebuild(dir.path()).expect("rebuilds");
    assert_eq!(manifest.run, Some(serde_json::json!({ "nodes": [] })));
    assert!(manifest.rebuilt && !manifest.complete && manifest.positions.is_none());
    assert_eq!(read(dir.path()).expect("reads"), 3);

    std::fs::write(dir.path().join("trace.json"), "{").expect("writes");
    refused(dir.path(), &["trace.json", "not a valid manifest", "replay again"]);
    std::fs::remove_file(dir.path().join("trace.json")).expect("removes");
    refused(dir.path(), &["no trace.json", "replay again"]);
    let error = rebuild(dir.path()).expect_err("is refused").to_string();
    assert!(error.contains("this is a run") && error.contains("replay again"), "{error}");
    assert!(!dir.path().join("trace.json").exists());
}
