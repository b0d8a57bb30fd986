//! Connections: how they begin, end, follow one another and get lost.

use splitproof_capture::packets::{Limits, PortOption, Ports};
use splitproof_capture::trace::Engine;

use super::wire::{CLIENT, End, SERVER, Tcp, assembler, play};

const SECOND: i64 = 1_000_000_000;

fn handshake(client: u32, server: u32) -> Vec<Tcp> {
    vec![
        Tcp::client("S", client, 0, ""),
        Tcp::server("SA", server, client.wrapping_add(1), ""),
        Tcp::client("A", client.wrapping_add(1), server.wrapping_add(1), ""),
    ]
}

fn then(mut begin: Vec<Tcp>, rest: impl IntoIterator<Item = Tcp>) -> Vec<Tcp> {
    begin.extend(rest);
    begin
}

#[test]
fn from_syn_to_fin() {
    let packets = then(
        handshake(u32::MAX, 7),
        [
            Tcp::client("A", 0, 8, "ask"),
            Tcp::server("A", 8, 3, "answer"),
            Tcp::client("FA", 3, 14, "bye"),
            Tcp::server("FA", 14, 7, ""),
            Tcp::client("A", 7, 15, ""),
        ],
    );
    let expected = "0 10.0.0.1:40000 -> 10.0.0.2:5432\n0 > ask\n0 < answer\n0 > bye\n0 close Client\n";
    assert_eq!(play(&packets), expected);
}

#[test]
fn the_server_may_end_it() {
    let packets = then(
        handshake(0, 0),
        [Tcp::client("A", 1, 1, "ask"), Tcp::server("FA", 1, 4, "no"), Tcp::client("FA", 4, 4, "")],
    );
    assert!(play(&packets).ends_with("0 < no\n0 close Server\n"));
}

#[test]
fn a_fin_that_overtakes_data_waits_for_it() {
    let packets = then(
        handshake(0, 0),
        [Tcp::client("FA", 4, 1, "bye"), Tcp::server("FA", 1, 1, ""), Tcp::client("A", 1, 1, "ask")],
    );
    assert!(play(&packets).ends_with("0 > ask\n0 > bye\n0 close Client\n"));
}

#[test]
fn a_reset_hands_over_what_waits() {
    let packets = then(
        handshake(0, 0),
        [
            Tcp::client("A", 1, 1, "ask"),
            Tcp::client("A", 6, 1, "more"),
            Tcp::server("R", 1, 0, ""),
            Tcp::client("A", 10, 1, "late"),
        ],
    );
    assert!(play(&packets).ends_with("0 > ask\n0 > [2]\n0 > more\n0 close Reset\n"));
}

#[test]
fn a_reset_with_a_number_out_of_any_window_ends_nothing() {
    let packets = then(
        handshake(0, 0),
        [Tcp::client("A", 1, 1, "ask"), Tcp::server("R", 0x8000_0000, 0, ""), Tcp::server("A", 1, 4, "answer")],
    );
    assert!(play(&packets).ends_with("0 > ask\n0 < answer\n0 close RecordingEnded\n"));
}

#[test]
fn data_in_the_syn_comes_first() {
    let packets = [Tcp::client("S", 9, 0, "ask"), Tcp::server("SA", 20, 13, ""), Tcp::client("A", 13, 21, "more")];
    assert!(play(&packets).contains("0 > ask\n0 > more\n"));
}

#[test]
fn a_repeated_handshake_begins_nothing_new() {
    let packets = then(
        handshake(5, 7),
        then(
            handshake(5, 7),
            [
                Tcp::client("A", 6, 8, "ask"),
                Tcp::client("S", 5, 0, ""),
                Tcp::server("SA", 7, 6, ""),
                Tcp::client("A", 9, 8, "more"),
            ],
        ),
    );
    let text = play(&packets);
    assert!(text.ends_with("0 > ask\n0 > more\n0 close RecordingEnded\n"), "{text}");
}

#[test]
fn a_handshake_of_which_only_the_answer_was_seen_is_still_the_beginning() {
    let packets = [Tcp::server("SA", 7, 6, ""), Tcp::client("A", 9, 8, "2"), Tcp::client("A", 6, 8, "ask")];
    assert!(play(&packets).starts_with("0 10.0.0.1:40000 -> 10.0.0.2:5432\n0 > ask\n0 > 2\n"));
}

#[test]
fn a_new_syn_on_the_same_ports_is_a_new_session() {
    let packets = then(
        handshake(5, 7),
        then(vec![Tcp::client("A", 6, 8, "one")], then(handshake(900_000, 3), [Tcp::client("A", 900_001, 4, "two")])),
    );
    let text = play(&packets);
    assert!(text.contains("0 > one\n0 close RecordingEnded\n1 10.0.0.1:40000 -> 10.0.0.2:5432\n1 > two\n"), "{text}");
}

#[test]
fn a_new_syn_after_the_end_is_a_new_session_too() {
    let packets = then(
        handshake(5, 7),
        then(
            vec![
                Tcp::client("FA", 6, 8, "one"),
                Tcp::server("FA", 8, 10, ""),
                Tcp::client("FA", 6, 8, "one"),
                Tcp::server("A", 9, 10, ""),
            ],
            then(handshake(0x7000_0000, 3), [Tcp::client("A", 0x7000_0001, 4, "two")]),
        ),
    );
    let text = play(&packets);
    assert_eq!(text.matches("->").count(), 2, "{text}");
    assert!(text.contains("0 > one\n0 close Client\n1 10"), "{text}");
}

#[test]
fn another_connection_whose_syn_was_missed_is_told_by_both_numbers() {
    let packets = then(
        handshake(5, 7),
        [
            Tcp::client("A", 6, 8, "one"),
            Tcp::client("A", 0x4000_0000, 0x9000_0000, "two"),
            Tcp::server("A", 0x9000_0000, 0x4000_0003, "answer"),
        ],
    );
    let text = play(&packets);
    assert!(text.contains("1 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n1 > two\n1 < answer\n"), "{text}");
}

#[test]
fn joined_midway_the_port_tells_the_server() {
    let packets = [Tcp::server("A", 100, 50, "row"), Tcp::client("A", 50, 103, "ask")];
    let expected = "0 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n0 < row\n0 > ask\n0 close RecordingEnded\n";
    assert_eq!(play(&packets), expected);
}

#[test]
fn without_data_there_is_no_session() {
    let packets = then(handshake(5, 7), [Tcp::client("FA", 6, 8, ""), Tcp::server("FA", 8, 7, "")]);
    assert_eq!(play(&packets), "");
    assert_eq!(play(&[Tcp::client("A", 1, 1, ""), Tcp::client("R", 1, 1, ""), Tcp::client("FA", 1, 1, "")]), "");
}

#[test]
fn a_lost_request_is_told_before_its_successor() {
    let packets = then(
        handshake(0, 0),
        [
            Tcp::client("A", 1, 1, "ask"),
            Tcp::server("A", 1, 4, "answer"),
            // "more" was not captured
            Tcp::client("A", 8, 7, "last"),
            Tcp::server("A", 7, 12, "answer to both"),
        ],
    );
    let text = play(&packets);
    assert!(text.ends_with("0 > [4]\n0 > last\n0 < answer to both\n0 close RecordingEnded\n"), "{text}");
}

#[test]
fn between_two_listed_ports_the_one_that_begins_is_the_client() {
    let pooler = End { port: 6432, ..CLIENT };
    let ports: Ports = [5432, 6432].map(|port| PortOption { port, engine: Engine::Postgresql }).into();
    let turned = |tcp: Tcp| match tcp.from.port {
        5432 => Tcp { from: SERVER, to: pooler, ..tcp },
        _ => Tcp { from: pooler, to: SERVER, ..tcp },
    };
    for skip in 0..2 {
        let (mut assembler, heard) = assembler(ports.clone(), Limits::default());
        let packets = then(handshake(5, 7), [Tcp::client("A", 6, 8, "ask"), Tcp::server("A", 8, 9, "answer")]);
        for (tcp, at) in packets.into_iter().map(turned).zip(0..).skip(skip) {
            let frame = tcp.ethernet();
            assembler.feed(1, at, &frame, frame.len() as u32, &mut Vec::new());
        }
        assert_eq!(heard.text(), "0 10.0.0.1:6432 -> 10.0.0.2:5432\n0 > ask\n0 < answer\n", "skip {skip}");
    }
}

#[test]
fn many_sessions_close_in_the_order_of_their_numbers() {
    let packets: Vec<Tcp> = (0..50).map(|n| Tcp::client("A", 1, 1, "x").port(30_000 + n)).collect();
    let text = play(&packets);
    let closed: Vec<&str> = text.lines().filter(|line| line.contains("close")).collect();
    let expected: Vec<String> = (0..50).map(|n| format!("{n} close RecordingEnded")).collect();
    assert_eq!(closed, expected);
}

#[test]
fn silent_connections_are_given_up_and_counted() {
    let limits = Limits { idle_ns: 60 * SECOND, ..Limits::default() };
    let (mut assembler, heard) = assembler(Ports::default(), limits);
    let mut feed = |at: i64, tcp: Tcp| {
        let frame = tcp.ethernet();
        assembler.feed(1, at, &frame, frame.len() as u32, &mut Vec::new());
    };
    feed(0, Tcp::client("A", 1, 1, "x"));
    feed(30 * SECOND, Tcp::client("A", 1, 1, "y").port(2000));
    feed(61 * SECOND, Tcp::client("A", 2, 1, "z").port(2000));
    assert!(heard.text().contains("0 close RecordingEnded"), "{}", heard.text());
    assert!(!heard.text().contains("1 close"), "{}", heard.text());
    assert_eq!(assembler.statistics().abandoned, 1);
}

#[test]
fn beyond_the_bound_the_most_silent_connections_make_room() {
    let limits = Limits { connections: 32, ..Limits::default() };
    let (mut assembler, heard) = assembler(Ports::default(), limits);
    for n in 0..100 {
        let frame = Tcp::client("A", 1, 1, "x").port(30_000 + n).ethernet();
        assembler.feed(1, i64::from(n), &frame, frame.len() as u32, &mut Vec::new());
    }
    let closed = heard.text().lines().filter(|line| line.contains("close")).count();
    assert!((68..=70).contains(&closed), "{closed}");
    assert!(heard.text().contains("0 close") && !heard.text().contains("99 close"));
    assert_eq!(assembler.statistics().abandoned, closed as u64);
}

#[test]
fn an_unacknowledged_hole_is_a_gap_after_its_time() {
    let (mut assembler, heard) = assembler(Ports::default(), Limits::default());
    let mut feed = |at: i64, tcp: Tcp| {
        let frame = tcp.ethernet();
        assembler.feed(1, at, &frame, frame.len() as u32, &mut Vec::new());
    };
    feed(0, Tcp::client("A", 1, 1, "ask"));
    feed(SECOND, Tcp::client("A", 6, 1, "more"));
    feed(9 * SECOND, Tcp::client("A", 10, 1, "!"));
    assert!(!heard.text().contains("more"));
    feed(12 * SECOND, Tcp::client("A", 11, 1, "?"));
    assert!(heard.text().ends_with("0 > [2]\n0 > more\n0 > !\n0 > ?\n"), "{}", heard.text());
}

#[test]
fn memory_behind_holes_is_bounded() {
    let limits = Limits { buffered: 10_000, ..Limits::default() };
    let (mut assembler, heard) = assembler(Ports::default(), limits);
    for n in 0..200 {
        // every second byte is missing, and nothing is acknowledged
        let frame = Tcp::client("A", 2 * n, 1, "x").ethernet();
        assembler.feed(1, i64::from(n), &frame, frame.len() as u32, &mut Vec::new());
    }
    let before = heard.text().matches("[1]").count();
    for n in 200..400 {
        let frame = Tcp::client("A", 2 * n, 1, "x").ethernet();
        assembler.feed(1, i64::from(n), &frame, frame.len() as u32, &mut Vec::new());
    }
    let after = heard.text().matches("[1]").count();
    assert!(before < 50 && after > 50, "{before} {after}");
}
