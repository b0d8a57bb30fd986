//! Runs that are no sound test of a router, and what the verdict makes of them.

use std::path::Path;

use serde_json::{Value, json};
use splitproof_analyze::compare::compare;
use splitproof_analyze::comparison::Comparison;
use splitproof_analyze::gate::{Decision, Gate, Status, Verdict};

use crate::compare::with_positions;
use crate::scenario::{BASE_NS, Scenario, compared, options, scenario};

/// Reads of a replica; in the slow one they take ten times as long.
fn reads(slow: bool) -> String {
    let read = |n: u32| {
        let at = 10 + n * 15;
        format!("1 {at}..{} SELECT n FROM stock WHERE id = 1 -> S1 | sum=1 rows=1\n", at + if slow { 10 } else { 1 })
    };
    with_positions(&(0..10).map(read).collect::<String>())
}

fn with(text: &str, summary: Value) -> Scenario {
    let mut run = scenario(text);
    run.summary = summary.as_object().unwrap().clone();
    run
}

fn verdict(found: &Comparison, conditions: &str) -> Verdict {
    let gate = Gate::parse(&format!("promote_if: {{{conditions}}}"), Path::new("gate.yaml")).unwrap();
    Verdict::of(&gate, &found.metrics, &found.unmeasured)
}

/// How late the replayer was: `late` of 1000 requests.
fn late(late: u32) -> Value {
    json!({ "timed": 1000, "lateness": { "session_busy": 0, "server_slow": 50, "replayer_late": late } })
}

#[test]
fn latencies_of_a_replayer_that_was_late_are_nobodys_fault() {
    let latency = "p99_read_latency_delta_pct: '< 10'";
    let judge = |baseline, candidate| compared(&with(&reads(false), baseline), &with(&reads(true), candidate)).unwrap();
    let sound = judge(late(10), late(10));
    assert_eq!(verdict(&sound, latency).decision, Decision::Fail, "one percent is still sound");
    for (baseline, candidate, whose) in [(late(11), late(0), "baseline"), (late(0), late(32), "candidate")] {
        let found = judge(baseline, candidate);
        let verdict = verdict(&found, latency);
        assert_eq!((verdict.decision, verdict.decision.exit_code()), (Decision::CouldNotJudge, 2));
        let sentence = verdict.with_status(Status::Unmeasured).next().unwrap().to_string();
        let why = format!("because the replayer itself was late too often in the {whose}'s run");
        assert!(sentence.contains(&why), "{sentence}");
    }
    let found = judge(late(0), late(32));
    let notes = &found.candidate.unknowns.notes;
    assert!(notes.iter().any(|note| note.contains("late for 3.2 % of the requests (more than 1 %)")), "{notes:?}");
    assert!(found.baseline.unknowns.notes.is_empty());
    // What is no matter of time is judged all the same.
    assert_eq!(verdict(&found, "write_leakage: 0").decision, Decision::Pass);
    assert_eq!(verdict(&found, "requests: 0").decision, Decision::Fail);
    assert_eq!(verdict(&found, "unsound: 0").decision, Decision::Fail);
}

#[test]
fn latencies_do_not_compare_with_those_of_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let (baseline, candidate) = (dir.path().join("window"), dir.path().join("run"));
    scenario(&reads(false)).write_recording(&baseline);
    scenario(&reads(true)).write(&candidate);
    let found = compare(&options(baseline, candidate)).unwrap();
    assert!(!found.metrics.keys().any(|name| name.contains("latency_delta") || name.ends_with("latency_ms_delta")));
    let verdict = verdict(&found, "p99_read_latency_delta_pct: '< 10'");
    assert_eq!(verdict.decision, Decision::CouldNotJudge);
    let sentence = verdict.with_status(Status::Unmeasured).next().unwrap().to_string();
    assert!(sentence.contains("because the baseline is the recording itself"), "{sentence}");
}

#[test]
fn a_run_in_which_a_node_died_is_not_judged() {
    let outage = |until: Value| json!({ "run_start_ns": BASE_NS, "outage": { "since_ns": BASE_NS + 6_000_000_000_i64, "until_ns": until } });
    for (until, told) in [
        (Value::Null, "node standby stopped answering 6.0 s after the start, and did not come back"),
        (json!(BASE_NS + 9_000_000_000_i64), "node standby stopped answering 6.0 s after the start, for 3.0 s"),
    ] {
        let dead = with(&reads(false).replace("-> S1", "-> P1"), outage(until));
        let whole = scenario(&reads(false));
        for (found, unknowns) in [
            compared(&whole, &dead).map(|found| (found.clone(), found.candidate.unknowns)).unwrap(),
            compared(&dead, &whole).map(|found| (found.clone(), found.baseline.unknowns)).unwrap(),
        ] {
            assert!(unknowns.notes[0].starts_with(told), "{:?}", unknowns.notes);
            let verdict = verdict(&found, "accidental_primary_reads: 0, write_leakage: 0");
            assert_eq!(verdict.decision, Decision::CouldNotJudge, "the router is not to blame");
        }
    }
}

#[test]
fn a_replay_that_was_given_up_says_so() {
    let given_up = with(&reads(false), json!({ "stopped": true, "gave_up_after_ns": 60_000_000_000_u64 }));
    let found = compared(&scenario(&reads(false)), &given_up).unwrap();
    let notes = &found.candidate.unknowns.notes;
    assert_eq!(notes[0], "the replay was given up: the router had not answered for 60 s, though sessions waited");
    assert_eq!(verdict(&found, "write_leakage: 0").decision, Decision::Fail, "it is cut short");
}
