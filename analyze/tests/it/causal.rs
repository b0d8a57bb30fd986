//! What MaxScale's causal_reads would have cost and prevented, and whose writes were missed.

use splitproof_analyze::compare;
use splitproof_analyze::comparison::{CausalMode, Comparison, Writer};

use crate::scenario::{Scenario, compared, options, scenario};

/// The standby stands still from 10 ms on, and has everything from 70 ms on. The primary's samples are 10 ms apart.
fn run() -> Scenario {
    let primary: String = (0..15).map(|n| format!("@{} P lsn={}\n", n * 10, n * 100)).collect();
    scenario(&format!(
        "{primary}
        @10 S replay=50\n@30 S replay=50\n@50 S replay=50\n@70 S replay=650\n@95 S replay=900\n@140 S replay=1400
        1 22..24 UPDATE stock SET n = 1 /*user='7'*/ -> P1:22.5..23 | affected=1
        1 40..41 SELECT n FROM stock -> S1 | sum=1 rows=1
        2 42..43 SELECT n FROM stock /*user='7'*/ -> S2 | sum=1 rows=1
        3 44..45 SELECT n FROM other -> S3 | sum=1 rows=1
        1 90..91 SELECT n FROM stock -> S1 | sum=1 rows=1"
    ))
}

fn mode<'a>(modes: &'a [CausalMode], name: &str) -> &'a CausalMode {
    modes.iter().find(|mode| mode.mode == name).unwrap()
}

/// Every figure is counted by hand: the update ends at 23 ms; the standby shows it at 70.1 ms, when the sample of 70 ms was answered.
#[test]
fn every_mode_is_reckoned_by_its_rules() {
    let comparison = compared(&run(), &run()).unwrap();
    let modes = &comparison.candidate.causal_reads;
    let names: Vec<&str> = modes.iter().map(|mode| mode.mode.as_str()).collect();
    assert_eq!(names, ["none", "local", "global", "fast", "fast_global", "universal", "fast_universal"]);
    // Two reads of the run are stale: at 40 (its own write) and at 42 (another's).
    for (name, bound, waits, to_primary, round_trips, prevented, own) in [
        ("none", 0, &[][..], 0, 0, 0, 0),
        // Session 1 at 40 and 90; the standby has it by 90.
        ("local", 2, &[30.1], 0, 0, 1, 1),
        ("global", 4, &[30.1, 28.1, 26.1], 0, 0, 2, 1),
        // What the monitor knew at 40 ms, when the first read came, is all that it knows for two seconds.
        ("fast", 2, &[], 2, 0, 1, 1),
        ("fast_global", 4, &[], 4, 0, 2, 1),
        ("universal", 4, &[30.1, 28.1, 26.1], 0, 4, 2, 1),
        ("fast_universal", 4, &[], 4, 4, 2, 1),
    ] {
        let mode = mode(modes, name);
        assert_eq!((mode.reads, mode.bound, mode.waited), (4, bound, waits.len() as u64), "{mode:?}");
        assert!((mode.wait_ms - waits.iter().sum::<f64>()).abs() < 1e-6, "{mode:?}");
        let largest = waits.iter().copied().fold(0.0, f64::max);
        assert!((mode.wait_quantiles_ms[2] - largest).abs() < 1e-6, "{mode:?}");
        assert_eq!((mode.to_primary, mode.round_trips, mode.timeouts), (to_primary, round_trips, 0), "{mode:?}");
        assert_eq!((mode.prevented, mode.own_prevented, mode.left), (prevented, own, 2 - prevented), "{mode:?}");
        assert_eq!(mode.undecided, 0, "{mode:?}");
    }
}

#[test]
fn without_positions_nothing_is_reckoned() {
    let mut blind = run();
    blind.positions.clear();
    assert!(compared(&blind, &blind).unwrap().candidate.causal_reads.is_empty());
}

fn stale(tag: Option<&str>) -> Comparison {
    let dir = tempfile::tempdir().unwrap();
    let options = compare::Options {
        client_tag: tag.map(String::from),
        ..options(dir.path().join("baseline"), dir.path().join("candidate"))
    };
    run().write(&options.baseline);
    run().write(&options.candidate);
    compare::compare(&options).unwrap()
}

/// A page after a form that was sent comes over another connection.
#[test]
fn the_same_users_write_in_another_session_is_told_by_a_tag() {
    let writers = |comparison: &Comparison| {
        let mut writers: Vec<Writer> = comparison.candidate.stale_reads.iter().map(|stale| stale.writer).collect();
        writers.sort();
        writers
    };
    let told = stale(Some("user"));
    assert_eq!(writers(&told), [Writer::Own, Writer::SameClient]);
    assert_eq!(told.metrics["client_writes_missed"], 1.0);
    let untold = stale(None);
    assert_eq!(writers(&untold), [Writer::Own, Writer::Other]);
    assert_eq!(untold.metrics["client_writes_missed"], 0.0);
}
