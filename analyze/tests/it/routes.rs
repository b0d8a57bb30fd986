//! The application's routes: what they ask of the primary, and whether they could move.

use splitproof_analyze::comparison::{OlderAt, RouteSummary, Routes, Served};

use crate::command::analyze;
use crate::scenario::scenario;

/// A statement runs on its node during the middle half of its time.
const RUN: &str = "@5 P lsn=100
@5 S replay=100 time=1
1 10..12 UPDATE stock SET n = 1 /*method='POST',route='%2Fbuy'*/ -> P1 | affected=1
1 20..22 SELECT n FROM stock /*method='GET',route='%2Fshow'*/ -> S1 | sum=1 rows=1
1 30..34 SELECT n FROM stock /*method='GET',route='%2Fshow'*/ -> P1 | sum=1 rows=1
1 40..42 UPDATE users SET seen = 1 /*method='GET',route='%2Fprofile'*/ -> P1 | affected=1
1 50..52 BEGIN -> P1
1 52..54 SELECT a FROM b /*controller='tx',action='read'*/ -> P1 | sum=1 rows=1
1 54..56 COMMIT -> P1
1 60..62 SELECT n FROM stock /*method='GET',route='%2Fshow'*/ -> S1 P1 | sum=1 rows=1
1 70..72 SELECT n FROM stock /*method='GET',route='%2Fshow'*/ -> S1 | error=57P03
1 80..82 SELECT 1 -> P1 | sum=1 rows=1
@95 P lsn=200
@95 S replay=200 time=50";

fn routes(recording: bool) -> Routes {
    let dir = tempfile::tempdir().unwrap();
    let run = scenario(RUN);
    match recording {
        true => run.write_recording(&dir.path().join("run")),
        false => run.write(&dir.path().join("run")),
    }
    let output = analyze(dir.path(), &["routes", "run", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn find<'a>(routes: &'a Routes, name: &str) -> &'a RouteSummary {
    routes.list.iter().find(|route| route.route.to_string() == name).unwrap_or_else(|| panic!("{name}: {routes:#?}"))
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, and {expected} was expected");
}

#[test]
fn a_route_of_reads_could_move_and_relieves_the_primary() {
    let routes = routes(false);
    let show = find(&routes, "GET /show");
    assert_eq!((show.calls, show.eligible, show.movable, show.held), (4, 4, true, 0));
    // On the primary: half of 4 ms, and of 2 ms. All that it did: 1 + 2 + 1 + 3 + 1 + 1 ms.
    assert_eq!(show.primary_calls, 2);
    near(show.primary_ms, 3.0);
    near(routes.primary_ms, 9.0);
    near(show.relief, 3.0 / 9.0);
    assert_eq!(show.served, Served { old: 1, new: 1, fallback: 1, refused: 1, unknown: 0 });
    assert_eq!(show.hidden_writes, Some(0));
    // stock was last written at 11.5 ms: 8.5, 18.5, 48.5 and 58.5 ms before the reads, all by their own session.
    let older = |lag_ms, reads| OlderAt { lag_ms, reads, own: reads };
    assert_eq!(show.older_at, [older(10, 1), older(100, 4), older(1_000, 4), older(10_000, 4)]);
    assert_eq!(show.untouched, 0);
    // Everything is in one second: 9 ms of work, and 3 that the replica did for this route.
    near(routes.primary_peak, 0.009);
    near(show.peak_with_it, 0.012);
    assert_eq!(routes.without_route, 1);
}

#[test]
fn writes_hold_a_route_and_are_named_where_they_hide_behind_get() {
    let routes = routes(false);
    let profile = find(&routes, "GET /profile");
    assert_eq!((profile.hidden_writes, profile.movable, profile.held), (Some(1), false, 1));
    assert_eq!((profile.held_by[0].reason.as_str(), profile.held_by[0].writes), ("it writes", true));
    near(profile.relief, 0.0);
    let buy = find(&routes, "POST /buy");
    assert_eq!((buy.hidden_writes, buy.movable), (Some(0), false));
    // BEGIN and COMMIT belong to the route of their transaction, which only reads.
    let tx = find(&routes, "tx#read");
    assert_eq!((tx.calls, tx.movable, tx.hidden_writes, tx.eligible), (3, true, None, 0));
    near(tx.primary_ms, 3.0);
}

#[test]
fn a_recording_tells_what_clients_waited() {
    let routes = routes(true);
    let show = find(&routes, "GET /show");
    assert!(!routes.measured);
    near(show.primary_ms, 10.0);
    assert_eq!((show.primary_calls, show.served.unknown, show.served.refused), (4, 3, 1));
    assert_eq!(show.older_at[0].reads, 1, "the write ended at 12 ms, 8 before the first read");
}

#[test]
fn the_command_says_what_the_primary_could_take_back() {
    let dir = tempfile::tempdir().unwrap();
    scenario(RUN).write(&dir.path().join("run"));
    let text = |arguments: &[&str]| {
        let output = analyze(dir.path(), &[&["routes", "run"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let plain = text(&[]);
    for part in [
        "GET /show\n  4 calls",
        "1 writes behind GET",
        "could move to a replica: relief 33.3 %",
        "old 1, new 1, fallback 1, refused 1",
        "10.0 ms 25.0 % (1 own writes)",
        "whether the primary could take that is not known",
    ] {
        assert!(plain.contains(part), "{part}\n{plain}");
    }
    assert!(text(&["--capacity", "1"]).contains("the primary could take it back"));
    assert!(text(&["--capacity", "0.01"]).contains("could NOT take it back"));
    let output = analyze(dir.path(), &["routes", "run", "--capacity", "-1"]);
    assert_eq!(output.status.code(), Some(2));
}
