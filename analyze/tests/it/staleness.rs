//! Whether a replica had applied what came before a read.

use std::sync::Arc;

use splitproof_analyze::staleness::{Applied, Commit, Commits, Positions, Read, Scope, Staleness, judge};

use crate::scenario::{ms, scenario};

fn tables(names: &[&str]) -> Scope {
    Scope::Tables(names.iter().map(|&name| Arc::from(name)).collect())
}

fn positions(text: &str) -> Positions {
    let mut positions = Positions::default();
    for position in &scenario(text).positions {
        positions.push(position);
    }
    positions
}

/// The primary writes 10 bytes a millisecond, sampled every 10 ms; the standby's samples are given.
fn pair(standby: &str) -> Positions {
    let primary: String = (0..20).map(|n| format!("@{} P lsn={}\n", n * 10, n * 100)).collect();
    positions(&format!("{primary}{standby}"))
}

struct History {
    commits: Commits,
    positions: Positions,
    number: u32,
}

impl History {
    fn new(standby: &str) -> Self {
        History { commits: Commits::default(), positions: pair(standby), number: 0 }
    }

    fn commit(mut self, session: u64, names: &[&str], start: &str, end: &str) -> Self {
        self.number += 1;
        let scope = match names {
            [] => Scope::Any,
            names => tables(names),
        };
        let commit = Commit {
            place: self.positions.place("primary", ms(start), ms(end)),
            session: Some(session),
            client: None,
            writes: vec![(session, self.number)],
            changed: scope.clone(),
            any_table: names.is_empty(),
            sql: format!("write {}", self.number).into(),
        };
        self.commits.push(commit, &scope);
        self.commits.settle(ms(end) + 1);
        self
    }

    fn read(&self, session: u64, table: &str, start: &str, end: &str) -> Staleness {
        let scope = tables(&[table]);
        let (start_ns, end_ns) = (ms(start), ms(end));
        let read = Read { node: "standby", session, client: None, scope: &scope, sent_ns: start_ns, start_ns, end_ns };
        judge(&read, &self.commits, &self.positions)
    }
}

const PAUSED: &str = "@0 S replay=5\n@20 S replay=50\n@40 S replay=50\n@60 S replay=50\n@80 S replay=1000";

#[test]
fn a_commit_that_was_replayed_before_the_read_is_seen() {
    let history = History::new("@20 S replay=50\n@40 S replay=400\n@60 S replay=600").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Current);
}

#[test]
fn a_commit_that_was_not_replayed_after_the_read_makes_it_stale() {
    let history = History::new(PAUSED).commit(1, &["t"], "12", "13").commit(1, &["t"], "22", "23");
    let Staleness::Stale(missed) = history.read(2, "t", "45", "46") else { panic!("stale") };
    assert_eq!(missed.lag_ns, 32_000_000, "from the oldest commit that was missed");
    assert_eq!(missed.uncertainty_ns, 20_100_000, "the samples are 20 ms apart");
    assert!(!missed.own);
    assert_eq!(&*missed.sql, "write 1");
}

#[test]
fn a_read_that_began_before_the_commit_ended_is_not_stale() {
    let history = History::new(PAUSED).commit(1, &["t"], "44", "47");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Current);
}

#[test]
fn commits_on_other_tables_do_not_matter() {
    let history = History::new(PAUSED).commit(1, &["other"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Current);
}

#[test]
fn a_commit_on_unknown_tables_may_touch_any() {
    let history = History::new(PAUSED).commit(1, &[], "22", "23");
    let Staleness::Stale(missed) = history.read(2, "t", "45", "46") else { panic!("stale") };
    assert!(missed.any_table);
}

#[test]
fn a_missed_write_of_the_same_session_is_named() {
    let history = History::new(PAUSED).commit(1, &["t"], "12", "13").commit(2, &["t"], "22", "23");
    let Staleness::Stale(missed) = history.read(2, "t", "45", "46") else { panic!("stale") };
    assert!(missed.own);
    assert_eq!((&*missed.sql, missed.lag_ns), ("write 2", 32_000_000));
}

#[test]
fn samples_on_both_sides_of_the_commit_do_not_decide() {
    // Replayed at some time between 40 and 60 ms; the read was in between.
    let history = History::new("@40 S replay=50\n@60 S replay=900").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Unknown);
}

#[test]
fn the_replay_timestamp_decides_where_the_positions_do_not() {
    // The primary's samples put the commit between 200 and 300; the standby stands at 250.
    let history = History::new("@40 S replay=250 time=24\n@60 S replay=250 time=24").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Current);
    let history = History::new("@40 S replay=250 time=20\n@60 S replay=250 time=20").commit(1, &["t"], "22", "23");
    assert!(matches!(history.read(2, "t", "45", "46"), Staleness::Stale(_)));
    // Commits a moment apart may stand in the log in the other order.
    let history = History::new("@40 S replay=250 time=21.5\n@60 S replay=250 time=21.5").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Unknown);
}

#[test]
fn a_node_that_was_promoted_tells_nothing() {
    let history =
        History::new("@40 S replay=50 role=primary\n@60 S replay=50 role=primary").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Unknown);
}

#[test]
fn without_samples_a_read_after_a_commit_is_undecided() {
    let history = History::new("").commit(1, &["t"], "22", "23");
    assert_eq!(history.read(2, "t", "45", "46"), Staleness::Unknown);
    assert_eq!(history.read(2, "other", "45", "46"), Staleness::Current);
}

#[test]
fn history_tells_the_order_of_commits_on_the_tables_of_a_read() {
    let scope = tables(&["t"]);
    let digest = |history: &History, at: &str| history.commits.history(&scope, ms(at));
    let one = History::new("").commit(1, &["t"], "10", "11").commit(2, &["other"], "12", "13");
    let mut other = History::new("");
    other = other.commit(1, &["t"], "20", "25");
    assert_eq!(digest(&one, "50"), digest(&other, "50"), "times and other tables do not matter");
    assert_ne!(digest(&one, "10"), digest(&one, "50"), "what was committed later does not count");
    let reversed = |first, second| {
        let mut history = History::new("");
        for (session, start, end) in [first, second] {
            history.number = 0;
            history = history.commit(session, &["t"], start, end);
        }
        digest(&history, "90")
    };
    assert_ne!(reversed((1, "10", "11"), (2, "20", "21")), reversed((2, "10", "11"), (1, "20", "21")));
}

#[test]
fn concurrent_commits_are_those_of_other_sessions_at_the_same_time() {
    let history = History::new("").commit(1, &["t"], "10", "20");
    let scope = tables(&["t"]);
    assert!(history.commits.concurrent(&scope, ms("15"), ms("16"), 2));
    assert!(history.commits.concurrent(&scope, ms("5"), ms("12"), 2));
    assert!(!history.commits.concurrent(&scope, ms("15"), ms("16"), 1));
    assert!(!history.commits.concurrent(&scope, ms("21"), ms("22"), 2));
    assert!(!history.commits.concurrent(&tables(&["other"]), ms("15"), ms("16"), 2));
}

#[test]
fn forgetting_applied_commits_keeps_the_history() {
    let mut history = History::new(PAUSED).commit(1, &["t"], "1", "2").commit(1, &["t"], "22", "23");
    let scope = tables(&["t"]);
    let before = history.commits.history(&scope, ms("50"));
    let positions = history.positions.clone();
    history.commits.forget(ms("50"), ms("50"), |commit| {
        positions.applied("standby", &commit.place, ms("50"), ms("50")) == Applied::Yes
    });
    assert_eq!(history.commits.history(&scope, ms("50")), before);
    assert!(matches!(history.read(2, "t", "45", "46"), Staleness::Stale(_)), "the unapplied one is kept");
    history.commits.forget(ms("50"), ms("50"), |_| true);
    assert_eq!(history.commits.history(&scope, ms("50")), before);
}

#[test]
fn a_state_before_an_applied_commit_can_still_be_asked_for() {
    let history =
        || History::new("").commit(1, &["t"], "1", "2").commit(1, &["t"], "22", "23").commit(1, &["t"], "32", "33");
    let (whole, mut forgetful) = (history(), history());
    forgetful.commits.forget(ms("50"), ms("20"), |_| true);
    let forgetful = forgetful.commit(1, &["t"], "52", "53");
    let (whole, scope) = (whole.commit(1, &["t"], "52", "53"), tables(&["t"]));
    for at in ["20", "30", "40", "60"] {
        let digest = |history: &History| history.commits.history(&scope, ms(at));
        assert_eq!(digest(&forgetful), digest(&whole), "{at}");
    }
    for (start, end, expected) in [("21", "24", true), ("24", "31", false), ("30", "40", true), ("34", "40", false)] {
        assert_eq!(forgetful.commits.concurrent(&scope, ms(start), ms(end), 2), expected, "{start}..{end}");
    }
    assert!(!forgetful.commits.concurrent(&scope, ms("21"), ms("24"), 1), "its own");
}
