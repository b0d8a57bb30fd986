//! What a session sends, and what it makes of the answers.

use std::collections::BTreeMap;

use splitproof_capture::trace::{Kind, Outcome, Param};
use splitproof_replay::clock::{Speed, VirtualClock};
use splitproof_replay::session::NotSent;
use splitproof_replay::wire::Refused;
use splitproof_replay::wire::postgresql::handshake::{self, CancelKey};

use crate::play::{MS, RUN_START_NS, Recorded, begin, begin_to_stop, play, scene};
use crate::server::Server;

fn clock() -> VirtualClock {
    VirtualClock::at(RUN_START_NS)
}

#[tokio::test]
async fn the_server_sees_what_was_recorded_and_the_rows_name_it() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(5, "app");
    recorded.query(1, "update a");
    recorded.prepare(2, 2, "PDS", "update b");
    recorded.execute(3, 3, "BDES");
    recorded.query(4, "fail");
    let (rows, ended) = play(&scene, recorded.goodbye(5)).await;
    let sent = ["Q update a", "P s update b", "D", "S", "B s", "D", "E", "S", "Q fail", "X"];
    let seen = server.seen(11).await;
    assert_eq!(seen[0], "start user=app database=shop");
    assert_eq!(seen[1..], sent);
    let of: Vec<_> = rows.iter().map(|row| (row.kind, row.recorded_session, row.recorded_seq)).collect();
    let kinds = [Kind::Connect, Kind::Query, Kind::Prepare, Kind::Execute, Kind::Query, Kind::Disconnect];
    assert_eq!(of, (0..).zip(kinds).map(|(seq, kind)| (kind, Some(5), Some(seq))).collect::<Vec<_>>());
    assert_eq!(rows[4].outcome, Outcome::Error);
    assert_eq!(rows[4].error_code.as_deref(), Some("42P01"));
    assert!(rows.iter().enumerate().all(|(index, row)| index == 4 || row.outcome == Outcome::Ok), "{rows:?}");
    assert!(ended.not_sent.is_empty() && !ended.lost, "{ended:?}");
}

#[tokio::test]
async fn a_group_is_sent_without_waiting_for_its_answers() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    // No Flush and no Sync: the server need not answer before the group ends.
    recorded.prepare(1, 1, "P", "update a");
    recorded.execute(1, 1, "BE");
    recorded.execute(1, 1, "BES");
    let (rows, _) = play(&scene, recorded.goodbye(2)).await;
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row.outcome == Outcome::Ok), "{rows:?}");
}

#[tokio::test]
async fn a_goodbye_waits_for_an_answer_of_which_a_log_does_not_tell_the_time() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    recorded.query(1, "hold").duration_ns = None;
    let running = begin(&scene, recorded.goodbye(1));
    server.wait_for(2).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.lines(), 2, "it has not left");
    server.release();
    let (rows, _) = running.await.unwrap();
    assert!(rows.iter().all(|row| row.outcome == Outcome::Ok), "{rows:?}");
    assert_eq!(server.seen(3).await[2], "X");
}

#[tokio::test]
async fn what_follows_an_error_in_its_group_is_skipped() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    recorded.prepare(1, 1, "P", "fail");
    recorded.execute(1, 1, "BE");
    recorded.execute(1, 1, "BES");
    let (rows, _) = play(&scene, recorded.goodbye(2)).await;
    let outcomes: Vec<_> = rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Error, Outcome::Skipped, Outcome::Ok]);
}

#[tokio::test]
async fn a_write_in_flight_is_lost_and_never_sent_again() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    recorded.query(1, "update a");
    recorded.query(2, "commit and vanish");
    recorded.query(3, "update b");
    recorded.query(4, "update c");
    let (rows, ended) = play(&scene, recorded.goodbye(5)).await;
    assert_eq!(rows[2].outcome, Outcome::Lost);
    assert_eq!(ended.not_sent, BTreeMap::from([(NotSent::ConnectionLost, 3)]));
    assert!(ended.lost);
    // One connection, and each statement once.
    assert_eq!(server.seen(3).await, ["start user=app database=shop", "Q update a", "Q commit and vanish"]);
}

#[tokio::test]
async fn copy_data_is_sent_when_the_server_asks_for_it() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    let copy = recorded.row(1, Kind::Copy, "Qc");
    copy.sql = Some("copy in".into());
    copy.copy_data = vec![Box::from(*b"1"), Box::from(*b"2")];
    // The recorded server refused this one; there is no data to send.
    recorded.query(2, "copy in");
    let (rows, _) = play(&scene, recorded.goodbye(3)).await;
    let sent = ["Q copy in", "d 1", "d 2", "c", "Q copy in", "f the recorded client sent no data", "X"];
    assert_eq!(server.seen(8).await[1..], sent);
    assert_eq!((rows[1].kind, rows[1].outcome, rows[1].affected), (Kind::Copy, Outcome::Ok, Some(1)));
}

#[tokio::test]
async fn copy_in_the_extended_protocol_ends_with_the_second_sync() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    recorded.prepare(1, 1, "PS", "copy in");
    let copy = recorded.execute(2, 2, "BEScS");
    copy.kind = Kind::Copy;
    copy.copy_data = vec![Box::from(*b"1")];
    recorded.query(3, "update a");
    let (rows, _) = play(&scene, recorded.goodbye(4)).await;
    let sent = ["P s copy in", "S", "B s", "E", "S", "d 1", "c", "S", "Q update a", "X"];
    assert_eq!(server.seen(11).await[1..], sent);
    assert!(rows.iter().all(|row| row.outcome == Outcome::Ok), "{rows:?}");
}

#[tokio::test]
async fn a_refused_user_is_reported_and_the_rest_counted() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "stranger");
    recorded.query(1, "update a");
    let (rows, ended) = play(&scene, recorded.goodbye(2)).await;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].kind, rows[0].outcome), (Kind::Connect, Outcome::Error));
    let (user, answer) = ended.refused.unwrap();
    assert_eq!(user, "stranger");
    assert!(
        matches!(answer, Refused::Postgresql(handshake::Refused::Server { ref code, .. }) if code == "28000"),
        "{answer:?}"
    );
    assert_eq!(ended.not_sent, BTreeMap::from([(NotSent::Refused, 2)]));
}

#[tokio::test]
async fn an_unreachable_router_is_reported() {
    let server = Server::start().await;
    let mut scene = scene(&server, clock(), Speed::Max);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgresql://{closed}");
    std::sync::Arc::get_mut(&mut scene).unwrap().pair.router =
        splitproof_replay::pair::Url::parse_router(&url).unwrap();
    let (rows, ended) = play(&scene, Recorded::session(1, "app").goodbye(1)).await;
    assert_eq!((rows.len(), rows[0].outcome, rows[0].recorded_seq), (1, Outcome::Lost, Some(0)));
    assert!(matches!(ended.refused, Some((_, Refused::Unreachable(_)))));
}

#[tokio::test]
async fn a_session_joined_midway_is_connected_without_a_record() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::midway(1);
    recorded.query(1, "update a");
    recorded.execute(2, 2, "BES");
    let mut recorded = recorded.open();
    for row in &mut recorded {
        row.user = Some("app".into());
        row.joined_midway = true;
    }
    let (rows, ended) = play(&scene, recorded).await;
    assert_eq!(server.seen(3).await, ["start user=app", "Q update a", "X"]);
    let of: Vec<_> = rows.iter().map(|row| (row.kind, row.recorded_seq)).collect();
    assert_eq!(of, [(Kind::Connect, None), (Kind::Query, Some(0))]);
    assert_eq!(ended.not_sent, BTreeMap::from([(NotSent::UnknownStatement, 1)]));
}

#[tokio::test]
async fn a_cancel_uses_the_replayed_sessions_key() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let key = CancelKey { process_id: 7, secret: Box::from(*b"abcd") };
    scene.keys.lock().unwrap().insert(3, key);
    let cancel = |target: &str| {
        let mut recorded = Recorded::midway(9);
        let row = recorded.row(1, Kind::Cancel, "");
        row.params = vec![Param { type_id: 20, binary: false, value: Some(target.as_bytes().into()) }];
        recorded.open()
    };
    let (rows, _) = play(&scene, cancel("3")).await;
    assert_eq!(server.seen(1).await, ["cancel 7 abcd"]);
    assert_eq!((rows[0].kind, rows[0].outcome, rows[0].recorded_seq), (Kind::Cancel, Outcome::Ok, Some(0)));
    let (rows, ended) = play(&scene, cancel("4")).await;
    assert!(rows.is_empty());
    assert_eq!(ended.not_sent, BTreeMap::from([(NotSent::CancelTarget, 1)]));
}

#[tokio::test]
async fn each_copy_of_a_text_gets_its_own_data() {
    let server = Server::start().await;
    let scene = scene(&server, clock(), Speed::Max);
    let mut recorded = Recorded::session(1, "app");
    let copy = recorded.row(1, Kind::Copy, "Qcccf");
    copy.sql = Some("copy in; copy in; copy in; copy in; copy in".into());
    copy.copy_data = ["1", "2", "3", "4"].map(|data| Box::from(data.as_bytes())).into();
    copy.copy_lengths = vec![2, 0, 1, 1];
    copy.copy_failure = Some("no more".into());
    recorded.query(2, "update a");
    let (rows, ended) = play(&scene, recorded.goodbye(3)).await;
    let sent = ["d 1", "d 2", "c", "c", "d 3", "c", "d 4", "f no more", "Q update a", "X"];
    assert_eq!(server.seen(12).await[2..], sent);
    assert_eq!((rows.len(), rows[1].outcome, rows[2].outcome), (4, Outcome::Cancelled, Outcome::Ok));
    assert!(ended.not_sent.is_empty(), "{ended:?}");
}

/// Whenever the stop comes, every request is either in a row or among those that were not sent.
#[tokio::test]
async fn a_stop_at_any_moment_leaves_no_request_uncounted() {
    let server = Server::start().await;
    for after in 0..14 {
        let clock = clock();
        let scene = scene(&server, clock.clone(), Speed::ORIGINAL);
        let mut recorded = Recorded::session(1, "app");
        recorded.query(1, "update a");
        recorded.prepare(2, 2, "P", "update b");
        recorded.execute(3, 2, "BES");
        recorded.query(4, "fail");
        let copy = recorded.row(5, Kind::Copy, "Qc");
        copy.sql = Some("copy in".into());
        copy.copy_data = vec![Box::from(*b"1")];
        recorded.query(6, "update c");
        let rows = recorded.goodbye(7);
        let asked = rows.len();
        let (running, stop) = begin_to_stop(&scene, rows);
        clock.advance_to(RUN_START_NS + after * MS / 2);
        for _ in 0..after * 20 {
            tokio::task::yield_now().await;
        }
        stop.send(true).unwrap();
        let (rows, ended) = running.await.unwrap();
        let sent = rows.iter().filter(|row| row.recorded_seq.is_some()).count();
        let not_sent: u64 = ended.not_sent.values().sum();
        assert_eq!(sent + not_sent as usize, asked, "stopped after {after}: {rows:?} {ended:?}");
    }
}

#[tokio::test]
async fn a_session_joined_midway_whose_router_is_away_is_counted_whole() {
    let server = Server::start().await;
    let mut scene = scene(&server, clock(), Speed::Max);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let pair = &mut std::sync::Arc::get_mut(&mut scene).unwrap().pair;
    pair.router = splitproof_replay::pair::Url::parse_router(&format!("postgresql://app@{closed}/shop")).unwrap();
    pair.defaults.user = Some("app".to_owned());
    let mut recorded = Recorded::midway(1);
    recorded.query(1, "update a");
    recorded.query(2, "update b");
    let (rows, ended) = play(&scene, recorded.goodbye(3)).await;
    assert!(rows.is_empty(), "{rows:?}");
    assert_eq!(ended.not_sent, BTreeMap::from([(NotSent::Refused, 3)]));
}
