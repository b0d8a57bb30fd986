//! What was written is what is read, for every column.

use splitproof_capture::trace::{
    Columns, Engine, Existing, Kind, LateCause, Loss, Losses, Options, Outcome, Param, Position, Reader, Request, Role,
    Shape, Sink, TransactionStatus, Writer, rebuild,
};

/// A request with a value in every field.
pub fn full(session: u64, seq: u32, start_ns: i64) -> Request {
    Request {
        recorded_session: Some(u64::MAX),
        recorded_seq: Some(u32::MAX),
        due_ns: Some(start_ns - 1),
        late_cause: Some(LateCause::ServerSlow),
        first_row_ns: Some(5),
        duration_ns: Some(u64::MAX),
        messages: "BDES".into(),
        sql: Some("SELECT 'ü', $1".into()),
        sql_raw: Some([b'S', 0xff, 0].as_slice().into()),
        shape_id: Some(u64::MAX - 1),
        statement: Some("".into()),
        portal: Some("a portal with a name that does not fit into a pointer or two".into()),
        param_types: Some(vec![23, 0, u32::MAX]),
        params: vec![
            Param { type_id: 23, binary: true, value: Some([0, 0, 0, 1].as_slice().into()) },
            Param { type_id: 0, binary: false, value: Some([].as_slice().into()) },
            Param { type_id: 25, binary: false, value: None },
        ],
        param_names: vec!["traceparent".into(), "".into()],
        param_formats: vec![1, 0, 0],
        result_formats: vec![i16::MIN],
        row_limit: Some(0),
        pipeline_group: Some(7),
        copy_data: vec![[1, 2].as_slice().into(), [].as_slice().into()],
        copy_lengths: vec![1, 0, u32::MAX],
        copy_failure: Some("no more".into()),
        database: Some("shop".into()),
        user: Some("alice".into()),
        application: Some("".into()),
        client: Some("[::1]:4000".into()),
        server: Some("10.0.0.1:5432".into()),
        capabilities: Some(u64::MAX),
        collation: Some(u16::MAX),
        transaction: Some(TransactionStatus::Failed),
        autocommit: Some(false),
        outcome: Outcome::Error,
        error_code: Some("40001".into()),
        error_message: Some("could not serialize".into()),
        rows: Some(0),
        affected: Some(1),
        last_insert_id: Some(2),
        warnings: Some(3),
        result_bytes: Some(4),
        checksum_full: Some(u128::MAX),
        checksum_rows: Some(1),
        checksum_rowset: Some(1 << 127),
        node: Some("replica".into()),
        position: Some("0/16B3748".into()),
        truncated: true,
        gap_before: true,
        joined_midway: true,
        redacted: true,
        ..Request::new(session, seq, start_ns, Kind::Execute)
    }
}

fn options() -> Options {
    Options::new(Engine::Postgresql, "packets")
}

fn read(reader: &Reader) -> Vec<Request> {
    reader.requests().collect::<Result<_, _>>().expect("reads")
}

#[test]
fn every_field_comes_back_empty_or_full() {
    let dir = tempfile::tempdir().expect("directory");
    let dir = dir.path().join("trace");
    let mut writer = Writer::create(&dir, options()).expect("creates");
    let mut requests = vec![full(1, 0, 10), Request::new(2, 0, 11, Kind::Connect), full(1, 1, 12)];
    for (&kind, seq) in Kind::ALL.iter().zip(1..) {
        requests.push(Request::new(3, seq, 20 + i64::from(seq), kind));
    }
    for (&outcome, seq) in Outcome::ALL.iter().zip(100..) {
        requests.push(Request { outcome, ..Request::new(3, seq, 20 + i64::from(seq), Kind::Ping) });
    }
    requests.iter().cloned().for_each(|request| writer.request(request));
    let mut losses = Losses::default();
    losses.add(Loss::Gap, 12);
    let manifest = writer.finish(&losses).expect("finishes");

    let reader = Reader::open(&dir).expect("opens");
    assert_eq!(*reader.manifest(), manifest);
    assert_eq!(read(&reader), requests);
    assert!(manifest.complete);
    assert_eq!((manifest.table.sessions, manifest.table.requests), (3, requests.len() as u64));
    assert_eq!(manifest.table.losses.get(Loss::Gap), 12);
    assert_eq!(manifest.table.window.expect("window").first_start_ns, 10);
    assert!(reader.leftovers().is_empty());
}

#[test]
fn some_columns_can_be_read_alone() {
    let dir = tempfile::tempdir().expect("directory");
    let mut writer = Writer::create(dir.path(), options()).expect("creates");
    writer.request(full(1, 0, 10));
    writer.finish(&Losses::default()).expect("finishes");
    let reader = Reader::open(dir.path()).expect("opens");
    let columns = Columns::Only(vec!["sql", "rows"]);
    let requests: Vec<Request> = reader.requests_with(columns).collect::<Result<_, _>>().expect("reads");
    let expected = Request {
        sql: Some("SELECT 'ü', $1".into()),
        rows: Some(0),
        messages: "BDES".into(),
        outcome: Outcome::Error,
        ..Request::new(1, 0, 10, Kind::Execute)
    };
    assert_eq!(requests, [expected]);
}

#[test]
fn nodes_positions_shapes_and_the_run_section_stand_beside_the_requests() {
    let dir = tempfile::tempdir().expect("directory");
    let mut writer = Writer::create(dir.path(), Options { source: "replay".into(), ..options() }).expect("creates");
    let mut node = writer.node("replica-1").expect("node");
    let mut positions = writer.positions().expect("positions");
    assert!(writer.node("../x").is_err(), "a node's name cannot lead out of the directory");
    writer.request(full(1, 0, 10));
    node.request(full(9, 0, 11));
    node.request(full(9, 1, 12));
    let sample = |at_ns| Position {
        node: "replica-1".into(),
        at_ns,
        sample_ns: 90_000,
        role: Role::Replica,
        lsn: Some(1 << 40),
        replay_lsn: None,
        replay_timestamp_ns: Some(at_ns - 5),
        gtid: (at_ns % 2 == 0).then(|| format!("0-1-{at_ns}").into()),
    };
    let samples: Vec<Position> = (0..3000).map(sample).collect();
    samples.iter().for_each(|sample| positions.push(sample).expect("writes"));
    let shape = Shape {
        shape_id: 1,
        text: "SELECT $1".into(),
        sample: "SELECT 5".into(),
        count: 4,
        effects: Some(vec!["read".into()]),
        tables: vec![],
        functions: vec!["now".into()],
    };
    writer.shapes([shape.clone()]).expect("shapes");
    writer.run(&serde_json::json!({"speed": 1.0})).expect("run");
    positions.finish().expect("positions end");
    node.finish(&Losses::default()).expect("node ends");
    writer.finish(&Losses::default()).expect("finishes");

    let reader = Reader::open(dir.path()).expect("opens");
    assert_eq!(read(&reader), [full(1, 0, 10)]);
    let node: Vec<Request> = reader.node("replica-1").expect("node").collect::<Result<_, _>>().expect("reads");
    assert_eq!(node, [full(9, 0, 11), full(9, 1, 12)]);
    let error = reader.node("primary").map(|_| ()).expect_err("no such node");
    assert!(error.to_string().contains("replica-1"), "{error}");
    let read: Vec<Position> = reader.positions().expect("positions").collect::<Result<_, _>>().expect("reads");
    assert_eq!(read, samples);
    assert_eq!(reader.shapes().expect("shapes"), [shape]);
    let run: serde_json::Value = reader.manifest().run().expect("decodes").expect("is a run");
    assert_eq!(run["speed"], 1.0);
    assert!(reader.leftovers().is_empty(), "{:?}", reader.leftovers());

    let mut rebuilt = rebuild(dir.path()).expect("rebuilds");
    assert!(rebuilt.rebuilt && !rebuilt.complete);
    assert_eq!(rebuilt.source, "replay");
    rebuilt.run = reader.manifest().run.clone();
    (rebuilt.rebuilt, rebuilt.complete) = (false, true);
    assert_eq!(rebuilt, *reader.manifest());
}

#[test]
fn an_existing_trace_is_replaced_only_when_asked_and_other_directories_never() {
    let parent = tempfile::tempdir().expect("directory");
    let dir = parent.path().join("trace");
    let mut writer = Writer::create(&dir, Options { flush_rows: 1, ..options() }).expect("creates");
    (0..300).for_each(|seq| writer.request(full(1, seq, i64::from(seq))));
    writer.finish(&Losses::default()).expect("finishes");

    let error = Writer::create(&dir, options()).map(|_| ()).expect_err("refuses");
    assert!(error.to_string().contains("--force"), "{error}");
    std::fs::write(dir.join("notes.txt"), "mine").expect("writes");
    let replace = || Options { existing: Existing::Replace, ..options() };
    let mut writer = Writer::create(&dir, replace()).expect("replaces");
    writer.request(full(5, 0, 1));
    writer.finish(&Losses::default()).expect("finishes");
    let reader = Reader::open(&dir).expect("opens");
    assert_eq!(read(&reader), [full(5, 0, 1)]);
    assert!(reader.leftovers().is_empty());
    assert!(dir.join("notes.txt").exists(), "files that are not a trace's stay");

    let error = Writer::create(parent.path(), replace()).map(|_| ()).expect_err("refuses");
    assert!(error.to_string().contains("not a trace"), "{error}");
}

#[test]
fn what_was_flushed_is_readable_while_the_recording_runs_and_after_it_was_killed() {
    let dir = tempfile::tempdir().expect("directory");
    let every = std::time::Duration::from_millis(20);
    let mut writer = Writer::create(dir.path(), Options { flush_every: Some(every), ..options() }).expect("creates");
    writer.request(full(1, 0, 10));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let reader = loop {
        let reader = Reader::open(dir.path()).expect("opens");
        if reader.manifest().table.requests == 1 {
            break reader;
        }
        assert!(std::time::Instant::now() < deadline, "a row that waits is flushed by time");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert!(!reader.manifest().complete);
    assert_eq!(read(&reader), [full(1, 0, 10)]);

    // A kill in the middle of a file leaves its unfinished name behind.
    std::fs::write(dir.path().join("requests-00001.parquet.tmp"), "PAR1").expect("writes");
    std::fs::copy(dir.path().join("requests-00000.parquet"), dir.path().join("requests-00009.parquet"))
        .expect("copies");
    let reader = Reader::open(dir.path()).expect("opens");
    let told: Vec<String> = reader.leftovers().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("never finished") && told[1].contains("--rebuild"), "{told:?}");
    drop(writer);
}

#[test]
fn losses_are_written_down_while_the_recording_runs_even_when_no_row_is() {
    let dir = tempfile::tempdir().expect("directory");
    let every = std::time::Duration::from_millis(20);
    let mut writer = Writer::create(dir.path(), Options { flush_every: Some(every), ..options() }).expect("creates");
    let mut losses = Losses::default();
    losses.add(Loss::KernelDropped, 7);
    Sink::losses(&mut writer, &losses);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while Reader::open(dir.path()).expect("opens").manifest().table.losses.get(Loss::KernelDropped) != 7 {
        assert!(std::time::Instant::now() < deadline, "losses are flushed by time");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // As a kill would leave it.
    assert!(!Reader::open(dir.path()).expect("opens").manifest().complete);
    drop(writer);
}
