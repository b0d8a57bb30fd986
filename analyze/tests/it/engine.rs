//! The queries over judged rows.

use splitproof_analyze::answers::meaning;
use splitproof_analyze::comparison::{AnswerClass, Destination};
use splitproof_analyze::engine::{Engine, PairQueries, Row, RowWriter, RunQueries, Side};

const MEMORY: usize = 256 << 20;

fn row(session: i64, seq: i64) -> Row {
    Row {
        session,
        seq,
        recorded_session: session,
        recorded_seq: seq,
        start_ns: seq * 1_000_000,
        kind: Some("query"),
        shape: Some(-7),
        sql: Some("SELECT n FROM t".into()),
        intent: Some("replica"),
        reason: Some("a read".into()),
        needed: true,
        destination: Some("primary"),
        nodes: Some("primary".into()),
        outcome: Some("ok"),
        duration_ns: Some(1_000_000),
        row_count: Some(1),
        answer: Some([1; 16]),
        ..Row::default()
    }
}

fn engine(memory: usize, baseline: &[Row], candidate: &[Row]) -> (Engine, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::new(memory, dir.path()).unwrap();
    for (side, rows) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        let path = dir.path().join(format!("{}.parquet", side.table()));
        let mut writer = RowWriter::create(&path).unwrap();
        for row in rows {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        engine.register(side, &path).unwrap();
    }
    (engine, dir)
}

/// The class of one pair of answers.
fn class(baseline: Row, candidate: Row) -> (AnswerClass, Option<Side>) {
    let (engine, _dir) = engine(MEMORY, &[baseline], &[candidate]);
    let compared = PairQueries { engine: &engine }.answers().unwrap();
    assert_eq!(compared.len(), 1, "{compared:?}");
    let meaning = meaning(&compared[0]);
    (meaning.class, meaning.side)
}

fn other(change: impl Fn(&mut Row)) -> Row {
    let mut row = row(1, 1);
    row.answer = Some([2; 16]);
    change(&mut row);
    row
}

#[test]
fn every_class_of_answers_is_told() {
    use AnswerClass::*;
    let baseline = || row(1, 1);
    let candidate = Some(Side::Candidate);
    assert_eq!(class(baseline(), row(1, 1)), (Equal, None));
    assert_eq!(class(baseline(), other(|_| ())), (Mismatch, None));
    let behind = |row: &mut Row| {
        row.destination = Some("replica");
        row.staleness = Some("stale");
    };
    assert_eq!(class(baseline(), other(behind)), (Stale, candidate));
    let lacking = |row: &mut Row| {
        behind(row);
        row.row_count = Some(0);
    };
    assert_eq!(class(baseline(), other(lacking)), (Missing, candidate));
    assert_eq!(class(other(behind), baseline()), (Stale, Some(Side::Baseline)));
    let failed = |row: &mut Row| {
        row.outcome = Some("error");
        row.error_code = Some("25006".into());
        row.answer = None;
    };
    assert_eq!(class(baseline(), other(failed)), (Error, candidate));
    assert_eq!(class(other(failed), other(failed)), (Equal, None));
    assert_eq!(class(other(failed), baseline()), (Error, Some(Side::Baseline)));
    assert_eq!(class(baseline(), other(|row| row.varies = Some("now()".into()))), (Nondeterministic, None));
    assert_eq!(class(baseline(), other(|row| row.tainted = Some("now()".into()))), (Nondeterministic, None));
    assert_eq!(class(baseline(), other(|row| row.history = 5)), (Reordered, None));
    assert_eq!(class(baseline(), other(|row| row.concurrent = true)), (Reordered, None));
    let duplicate = |row: &mut Row| {
        row.outcome = Some("error");
        row.error_code = Some("23505".into());
        row.history = 5;
    };
    assert_eq!(class(baseline(), other(duplicate)), (Reordered, None));
    let undecided = |row: &mut Row| {
        row.destination = Some("replica");
        row.staleness = Some("unknown");
    };
    assert_eq!(class(baseline(), other(undecided)), (Unverified, None));
    assert_eq!(class(baseline(), other(|row| row.destination = Some("ambiguous"))), (Unverified, None));
    assert_eq!(class(baseline(), other(|row| row.destination = None)), (Unverified, None));
    assert_eq!(class(baseline(), other(|row| row.outcome = Some("lost"))), (Unverified, None));
    assert_eq!(class(baseline(), other(|row| row.answer = None)), (Unverified, None));
    assert_eq!(class(baseline(), other(|row| row.unknown_writes = true)), (Unverified, None));
    let lacking = |row: &mut Row| row.lacks_state = true;
    assert_eq!(class(other(lacking), baseline()), (LostState, Some(Side::Baseline)));
    assert_eq!(class(baseline(), other(lacking)), (Mismatch, candidate));
    let both = class(other(lacking), {
        let mut row = row(1, 1);
        row.lacks_state = true;
        row
    });
    assert_eq!(both, (Mismatch, candidate), "the candidate has the fault as well");
}

#[test]
fn affected_rows_are_part_of_an_answer() {
    let write = |affected| {
        let mut row = row(1, 1);
        (row.answer, row.row_count, row.affected) = (None, None, Some(affected));
        row
    };
    assert_eq!(class(write(1), write(1)).0, AnswerClass::Equal);
    assert_eq!(class(write(1), write(0)).0, AnswerClass::Mismatch);
}

/// A run of many rows: what the queries return must not depend on the memory limit.
#[test]
fn a_small_memory_limit_changes_nothing() {
    let rows: Vec<Row> = (0..200_000)
        .map(|n| {
            let mut row = row(n % 97, n / 97);
            row.shape = Some(n % 31);
            row.duration_ns = Some(1_000 * (n % 1_000));
            row.sql = Some(format!("SELECT n FROM t WHERE id = {n}").into());
            row
        })
        .collect();
    let shuffled: Vec<Row> = rows.iter().rev().cloned().collect();
    let mut found = Vec::new();
    for memory in [512 << 20, 64 << 20] {
        let (engine, _dir) = engine(memory, &rows, &shuffled);
        let run = RunQueries { engine: &engine, side: Side::Candidate };
        let answers = PairQueries { engine: &engine }.answers().unwrap();
        assert_eq!(answers.iter().map(|compared| compared.requests).sum::<u64>(), 200_000);
        found.push((answers, run.grid().unwrap(), run.totals().unwrap()));
    }
    assert_eq!(found[0], found[1]);
}

#[test]
fn shape_ids_keep_all_their_bits() {
    let (engine, _dir) = engine(MEMORY, &[row(1, 1)], &[row(1, 1)]);
    let cells = RunQueries { engine: &engine, side: Side::Baseline }.grid().unwrap();
    assert_eq!(cells.len(), 1);
    assert_eq!((cells[0].shape, cells[0].destination), (-7_i64 as u64, Destination::Primary));
}

#[test]
fn latency_is_told_by_shape_node_and_for_all_reads() {
    let rows: Vec<Row> = (1..=100)
        .map(|n| {
            let mut row = row(1, n);
            row.duration_ns = Some(n * 1_000_000);
            row
        })
        .collect();
    let (engine, _dir) = engine(MEMORY, &rows, &rows);
    let latency = RunQueries { engine: &engine, side: Side::Baseline }.latency().unwrap();
    let parts: Vec<&str> = latency.iter().map(|row| row.part.as_str()).collect();
    assert_eq!(parts.len(), 3, "{parts:?}");
    for row in &latency {
        assert_eq!(row.requests, 100);
        assert!((row.p50_ns / 1e6 - 50.0).abs() < 2.0, "{row:?}");
        assert!((row.p99_ns / 1e6 - 99.0).abs() < 2.0, "{row:?}");
        assert_eq!((row.max_ns, row.total_ns), (100e6, 5050e6));
    }
}
