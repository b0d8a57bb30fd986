//! Traces of several hosts, merged: clocks, sessions that two saw, each request once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use splitproof_capture::merge::{Clock, Error, Merged, Plan, merge};
use splitproof_capture::sql::{Dialect, Shapes};
use splitproof_capture::trace::{
    Engine, Existing, Kind, Loss, Losses, Options, Outcome, Param, Reader, Request, Shape, Sink, Writer,
};

const MS: i64 = 1_000_000;
const BEGIN: i64 = 1_700_000_000_000 * MS;
/// How long a packet takes between the two hosts.
const ONE_WAY: i64 = 200_000;

/// A request as it happened: when the client sent it, on a clock that is right.
struct Event {
    session: u64,
    kind: Kind,
    sql: Option<String>,
    at: i64,
}

/// Sessions of ten requests each that run side by side.
fn events(sessions: std::ops::Range<u64>) -> Vec<Event> {
    let mut events = Vec::new();
    for session in sessions {
        for number in 0..10_i64 {
            let kind = match number {
                0 => Kind::Connect,
                9 => Kind::Disconnect,
                _ => Kind::Query,
            };
            let sql = (kind == Kind::Query).then(|| format!("SELECT {number} FROM table{session}"));
            events.push(Event { session, kind, sql, at: BEGIN + number * 100 * MS + session as i64 * 7 * MS });
        }
    }
    events
}

/// One capture: where it stands, how its clock is wrong, and what it saw.
struct Host {
    clock: i64,
    at_server: bool,
    /// Whether it saw request `number` of a session.
    saw: fn(u64, i64) -> bool,
}

impl Host {
    fn record(&self, dir: &Path, events: &[Event]) -> u64 {
        let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "live")).expect("creates");
        let mut shapes = Shapes::new(Dialect::Postgresql);
        let mut seqs: BTreeMap<u64, (u64, u32, i64)> = BTreeMap::new();
        let mut numbers: BTreeMap<u64, i64> = BTreeMap::new();
        let mut rows = 0;
        for event in events {
            let number = numbers.entry(event.session).or_default();
            let this = *number;
            *number += 1;
            if !(self.saw)(event.session, this) {
                continue;
            }
            let next = seqs.len() as u64 + 40;
            let (session, seq, first) = seqs.entry(event.session).or_insert((next, 0, this));
            let (late, early) = if self.at_server { (ONE_WAY, ONE_WAY) } else { (0, 0) };
            let row = Request {
                sql: event.sql.as_deref().map(Into::into),
                shape_id: event.sql.as_deref().map(|sql| shapes.id(sql)),
                messages: if event.kind == Kind::Query { "Q".into() } else { "".into() },
                outcome: Outcome::Ok,
                duration_ns: Some((5 * MS - late - early) as u64),
                pipeline_group: (event.kind == Kind::Query).then(|| (this - *first) as u32),
                client: Some(format!("10.0.0.1:{}", 40_000 + event.session).into()),
                server: Some("10.0.0.9:5432".into()),
                joined_midway: *first > 0,
                ..Request::new(*session, *seq, event.at + late + self.clock, event.kind)
            };
            *seq += 1;
            rows += 1;
            writer.request(row);
        }
        writer.shapes(Shape::collected(shapes.iter())).expect("writes");
        let mut losses = Losses::default();
        losses.add(Loss::Gap, 100);
        writer.finish(&losses).expect("finishes");
        rows
    }
}

fn merged(dir: &Path, traces: &[&str], offsets: BTreeMap<usize, i64>) -> (Merged, Vec<Request>, Vec<Shape>) {
    let plan = Plan {
        traces: traces.iter().map(|trace| dir.join(trace)).collect(),
        offsets,
        output: dir.join("merged"),
        existing: Existing::Replace,
    };
    let merged = merge(&plan).expect("merges");
    let reader = Reader::open(&plan.output).expect("opens");
    let rows = reader.requests().collect::<Result<_, _>>().expect("reads");
    (merged, rows, reader.shapes().expect("reads"))
}

/// Every session is numbered from 0 without holes, in the order of its time.
fn in_order(rows: &[Request]) {
    let mut next: BTreeMap<u64, u32> = BTreeMap::new();
    for row in rows {
        let seq = next.entry(row.session).or_default();
        assert_eq!(row.seq, *seq, "session {}", row.session);
        *seq += 1;
    }
    let sessions: Vec<u64> = next.into_keys().collect();
    assert_eq!(sessions, (0..sessions.len() as u64).collect::<Vec<_>>());
}

#[test]
fn two_hosts_saw_the_same_sessions_through_clocks_that_differ() {
    let dir = tempfile::tempdir().expect("directory");
    let events = events(0..8);
    // The server's host lost a part of session 4; the client's host has no sessions 6 and 7, and joined session 3 midway.
    let server = Host {
        clock: 0,
        at_server: true,
        saw: |session, number| session >= 2 && !(session == 4 && (3..5).contains(&number)),
    };
    let client = Host {
        clock: -2_500_000,
        at_server: false,
        saw: |session, number| session < 6 && (session != 3 || number >= 4),
    };
    let (one, two) =
        (server.record(&dir.path().join("server"), &events), client.record(&dir.path().join("client"), &events));
    let (merged, rows, shapes) = merged(dir.path(), &["server", "client"], BTreeMap::new());

    let Clock::Estimated { offset_ns, uncertainty_ns, requests, sessions } = merged.clocks[1] else {
        panic!("{:?}", merged.clocks)
    };
    assert!(offset_ns.abs_diff(2_500_000) <= uncertainty_ns, "{offset_ns} ± {uncertainty_ns}");
    // Session 4 lost requests in its middle, so that it is not compared: 10 requests of sessions 2 and 5, and 6 of session 3.
    assert!(uncertainty_ns <= 300_000 && (sessions, requests) == (3, 26), "{:?}", merged.clocks);
    assert_eq!(merged.clocks[0], Clock::Reference);

    // Counted by hand: every request of eight sessions was seen by one of them.
    assert_eq!(rows.len(), 80);
    assert_eq!(merged.read, one + two);
    assert_eq!(merged.duplicates, one + two - 80);
    let losses = &merged.manifest.table.losses;
    assert_eq!((losses.get(Loss::Duplicate), losses.get(Loss::Gap)), (merged.duplicates, 200));
    assert_eq!((merged.manifest.table.sessions, merged.joint_sessions), (8, 4));
    assert_eq!(merged.manifest.source, "merge");
    in_order(&rows);
    let texts: BTreeSet<&str> = rows.iter().filter_map(|row| row.sql.as_deref()).collect();
    assert_eq!(texts.len(), 64);
    assert!(rows.iter().all(|row| !row.joined_midway), "the other host saw how session 3 began");
    for row in rows.iter().filter(|row| row.kind == Kind::Query) {
        assert_eq!(row.pipeline_group, Some(row.seq), "groups go on as the whole session counts them");
        let truth = events.iter().find(|event| event.sql.as_deref() == row.sql.as_deref()).expect("an event");
        assert!(row.start_ns.abs_diff(truth.at) < 800_000, "{} ns off", row.start_ns - truth.at);
    }
    assert_eq!(shapes.iter().map(|shape| shape.count).sum::<u64>(), 64);
}

#[test]
fn offsets_can_be_given_and_a_port_that_is_used_again_names_another_session() {
    let dir = tempfile::tempdir().expect("directory");
    let all: fn(u64, i64) -> bool = |_, _| true;
    let events = events(0..2);
    let later: Vec<Event> =
        events.iter().map(|event| Event { sql: event.sql.clone(), at: event.at + 60_000 * MS, ..*event }).collect();
    Host { clock: 0, at_server: true, saw: all }.record(&dir.path().join("a"), &events);
    Host { clock: 7 * MS, at_server: true, saw: all }.record(&dir.path().join("b"), &events);
    Host { clock: 0, at_server: true, saw: all }.record(&dir.path().join("c"), &later);
    let (merged_, rows, _) = merged(dir.path(), &["a", "b"], [(1, -7 * MS)].into());
    assert_eq!((merged_.clocks[1], rows.len(), merged_.duplicates), (Clock::Given(-7 * MS), 20, 20));
    let (merged_, rows, _) = merged(dir.path(), &["a", "b", "c"], [(2, 0)].into());
    assert_eq!((rows.len(), merged_.manifest.table.sessions, merged_.duplicates), (40, 4, 20));
    assert!(
        matches!(merged_.clocks[1], Clock::Estimated { offset_ns, .. } if offset_ns == -7 * MS),
        "{:?}",
        merged_.clocks
    );
    in_order(&rows);
}

#[test]
fn a_series_becomes_one_trace_again() {
    let dir = tempfile::tempdir().expect("directory");
    let events = events(0..3);
    // A rotation after the fourth request: what follows stands in the next trace, joined midway.
    let parts: [fn(u64, i64) -> bool; 2] = [|_, number| number < 4, |_, number| number >= 4];
    for (saw, name) in parts.into_iter().zip(["00000", "00001"]) {
        Host { clock: 0, at_server: true, saw }.record(&dir.path().join(name), &events);
    }
    let (merged, rows, _) = merged(dir.path(), &["00000", "00001"], BTreeMap::new());
    assert_eq!((rows.len(), merged.manifest.table.sessions, merged.duplicates, merged.joint_sessions), (30, 3, 0, 3));
    assert!(rows.iter().all(|row| !row.joined_midway));
    in_order(&rows);
}

#[test]
fn cancel_requests_are_aimed_at_the_new_numbers() {
    let dir = tempfile::tempdir().expect("directory");
    for (name, first) in [("a", 0), ("b", 0)] {
        let mut writer =
            Writer::create(dir.path().join(name), Options::new(Engine::Postgresql, "tap")).expect("creates");
        writer.request(Request::new(first, 0, BEGIN, Kind::Connect));
        let param = Param { type_id: 20, binary: false, value: Some(first.to_string().into_bytes().into()) };
        writer.request(Request { params: vec![param], ..Request::new(first + 1, 0, BEGIN + 5, Kind::Cancel) });
        writer.finish(&Losses::default()).expect("finishes");
    }
    let (_, rows, _) = merged(dir.path(), &["a", "b"], BTreeMap::new());
    assert_eq!(rows.len(), 4, "sessions without addresses are never the same");
    let connects: BTreeSet<u64> = rows.iter().filter(|row| row.kind == Kind::Connect).map(|row| row.session).collect();
    let aims =
        rows.iter().filter(|row| row.kind == Kind::Cancel).map(|row| row.params[0].value.clone().expect("a target"));
    let aims: BTreeSet<u64> = aims.map(|value| String::from_utf8_lossy(&value).parse().expect("a number")).collect();
    assert_eq!(aims, connects);
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    for (name, engine) in [("a", Engine::Postgresql), ("b", Engine::Mysql)] {
        let writer = Writer::create(dir.path().join(name), Options::new(engine, "tap")).expect("creates");
        writer.finish(&Losses::default()).expect("finishes");
    }
    let run = Writer::create(dir.path().join("run"), Options::new(Engine::Postgresql, "replay")).expect("creates");
    run.run(&"a run").expect("writes");
    run.finish(&Losses::default()).expect("finishes");
    let plan = |traces: &[&str], output: &str| Plan {
        traces: traces.iter().map(|trace| dir.path().join(trace)).collect::<Vec<PathBuf>>(),
        offsets: BTreeMap::new(),
        output: dir.path().join(output),
        existing: Existing::Replace,
    };
    assert!(matches!(merge(&plan(&["a", "b"], "m")), Err(Error::Engines { .. })));
    assert!(matches!(merge(&plan(&["a", "run"], "m")), Err(Error::Run { .. })));
    assert!(matches!(merge(&plan(&["a", "a"], "m")), Err(Error::Twice { .. })));
    assert!(matches!(merge(&plan(&["a", "b"], "a")), Err(Error::Twice { .. })));
    assert!(matches!(merge(&plan(&["a", "nowhere"], "m")), Err(Error::Trace(_))));
    assert!(!dir.path().join("m").exists(), "nothing was begun");
}
