//! When a session sends, by a clock that the test moves.

use splitproof_capture::trace::LateCause;
use splitproof_replay::clock::{Speed, VirtualClock};

use crate::play::{MS, RUN_START_NS, Recorded, begin, scene};
use crate::server::Server;

#[tokio::test]
async fn nothing_is_sent_before_it_is_due() {
    let server = Server::start().await;
    let clock = VirtualClock::at(RUN_START_NS - 5 * MS);
    let scene = scene(&server, clock.clone(), Speed::Factor(2.0));
    let mut recorded = Recorded::session(1, "app");
    recorded.query(10, "update a");
    recorded.query(20, "update b");
    let running = begin(&scene, recorded.goodbye(30));

    waits_until(&clock, RUN_START_NS).await;
    assert_eq!(server.lines(), 0);
    clock.advance_to(RUN_START_NS);
    // Twice as fast: 10 ms become 5.
    waits_until(&clock, RUN_START_NS + 5 * MS).await;
    assert_eq!(server.lines(), 1);
    clock.advance_to(RUN_START_NS + 5 * MS);
    waits_until(&clock, RUN_START_NS + 10 * MS).await;
    assert_eq!(server.lines(), 2);
    clock.advance_to(RUN_START_NS + 10 * MS);
    waits_until(&clock, RUN_START_NS + 15 * MS).await;
    clock.advance_to(RUN_START_NS + 15 * MS);

    let (rows, _) = running.await.unwrap();
    let times: Vec<_> = rows.iter().map(|row| (row.due_ns, row.start_ns, row.late_cause)).collect();
    let due = [0, 5, 10, 15].map(|ms| RUN_START_NS + ms * MS);
    assert_eq!(times, due.map(|due| (Some(due), due, None)));
}

#[tokio::test]
async fn a_late_clock_is_our_own_fault() {
    let server = Server::start().await;
    let clock = VirtualClock::at(RUN_START_NS);
    let scene = scene(&server, clock.clone(), Speed::ORIGINAL);
    let mut recorded = Recorded::session(1, "app");
    recorded.query(10, "update a");
    let running = begin(&scene, recorded.goodbye(100));
    waits_until(&clock, RUN_START_NS + 10 * MS).await;
    clock.advance_to(RUN_START_NS + 12 * MS);
    waits_until(&clock, RUN_START_NS + 100 * MS).await;
    clock.advance_to(RUN_START_NS + 100 * MS);
    let (rows, _) = running.await.unwrap();
    let causes: Vec<_> = rows.iter().map(|row| row.late_cause).collect();
    assert_eq!(causes, [None, Some(LateCause::ReplayerLate), None]);
}

#[tokio::test]
async fn a_slow_answer_is_the_servers_fault() {
    let server = Server::start().await;
    let clock = VirtualClock::at(RUN_START_NS);
    let scene = scene(&server, clock.clone(), Speed::ORIGINAL);
    let mut recorded = Recorded::session(1, "app");
    // The server waits for data that was not recorded, and time passes before it gets the end of it.
    recorded.query(10, "hold");
    recorded.query(20, "update b");
    let running = begin(&scene, recorded.goodbye(100));
    waits_until(&clock, RUN_START_NS + 10 * MS).await;
    clock.advance_to(RUN_START_NS + 10 * MS);
    server.wait_for(2).await;
    clock.advance_to(RUN_START_NS + 40 * MS);
    server.release();
    waits_until(&clock, RUN_START_NS + 100 * MS).await;
    clock.advance_to(RUN_START_NS + 100 * MS);
    let (rows, _) = running.await.unwrap();
    let causes: Vec<_> = rows.iter().map(|row| row.late_cause).collect();
    assert_eq!(causes, [None, None, Some(LateCause::ServerSlow), None]);
}

async fn waits_until(clock: &VirtualClock, at_ns: i64) {
    while clock.next_wait() != Some(at_ns) {
        tokio::task::yield_now().await;
    }
}
