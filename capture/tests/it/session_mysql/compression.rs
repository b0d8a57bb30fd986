//! Compressed sessions, and payloads of several packets.

use splitproof_capture::mysql::Capabilities;
use splitproof_capture::mysql::compressed::{Algorithm, Compressor};
use splitproof_capture::session::Close;

use crate::dialogue::mysql::*;

fn pack(algorithm: Algorithm, sequence: u8, packets: &[u8]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), sequence);
    Compressor::new(algorithm, 3).unwrap().write(packets, &mut sequence, &mut out).unwrap();
    out
}

fn long_text() -> String {
    format!("SELECT '{}'", "a lot of the same ".repeat(50))
}

#[test]
fn compression_begins_behind_the_start_and_is_undone() {
    for (flag, algorithm) in [(Capabilities::COMPRESS, Algorithm::Zlib), (Capabilities::ZSTD, Algorithm::Zstd)] {
        let text = long_text();
        let value = "x".repeat(200);
        let reply = answer([count(1), column(), eof(), row(&value), eof()]);
        let dialogue = Dialogue::with(OLD | flag)
            .client([pack(algorithm, 0, &query(&text))])
            .server([pack(algorithm, 1, &reply)])
            .client([pack(algorithm, 0, &ping())])
            .server([pack(algorithm, 1, &answer([ok()]))]);
        let lines =
            [format!("query 03 \"{text}\" ok rows=1 took=1 idle"), "ping 0e ok affected=0 took=1 idle".to_owned()];
        expect(&dialogue, &[&lines[0], &lines[1]]);
        let plain = Dialogue::session().client([query(&text)]).server([reply]);
        assert_eq!(dialogue.rows()[0].checksum_full, plain.rows()[0].checksum_full);
        // Byte by byte.
        assert_eq!(dialogue.run_in_pieces(|bytes| bytes.chunks(1).collect()), dialogue.run());
    }
}

#[test]
fn a_compressed_session_is_joined_and_found_again() {
    let text = long_text();
    let pack = |sequence, packets: &[u8]| pack(Algorithm::Zlib, sequence, packets);
    let answered = || pack(1, &select_one());
    let (long, short) =
        (format!("query 03 \"{text}\" ok rows=1 took=1 idle midway"), "ping 0e ok affected=0 took=1 idle midway");
    let dialogue = Dialogue::midway()
        .client([pack(0, &query(&text))])
        .server([answered()])
        .client([pack(0, &query(&text))])
        .server_gap(100)
        .server([b"the rest".to_vec()])
        .client([pack(0, &ping())])
        .server([pack(1, &answer([ok()]))]);
    expect_with_losses(
        &dialogue,
        &[
            &long,
            &format!("query 03 \"{text}\" unfinished truncated midway"),
            &short.replace(" midway", " gap-before midway"),
        ],
        "gap=100 resync=8 joined_midway=1",
    );
}

#[test]
fn a_piece_that_cannot_be_decompressed() {
    let broken = b"\x03\0\0\x01\x40\0\0abc".to_vec();
    let pack = |sequence, packets: &[u8]| pack(Algorithm::Zlib, sequence, packets);
    let dialogue = Dialogue::with(OLD | Capabilities::COMPRESS)
        .client([pack(0, &ping())])
        .server([broken.clone()])
        .client([pack(0, &ping())])
        .server([pack(1, &answer([ok()]))])
        .close(Close::Client);
    let (rows, losses) = dialogue.run();
    let lines: Vec<_> = rows.iter().map(line).collect();
    assert_eq!(
        lines[1..],
        ["ping 0e unfinished truncated", "ping 0e ok affected=0 took=1 idle gap-before", "disconnect  ok took=0"]
    );
    assert!(losses.get(splitproof_capture::trace::Loss::Undecodable) >= broken.len() as u64);
}

#[test]
fn a_payload_of_several_packets() {
    // 16 MiB less one byte fill a packet, so that another one follows, which is empty.
    let text = format!("SELECT '{}'", "x".repeat((1 << 24) - 1 - 1 - 9));
    let packets = query(&text);
    assert_eq!(packets.len(), 4 + (1 << 24) - 1 + 4);
    let dialogue = Dialogue::session().client([packets]).server([at(2, &ok())]);
    let rows = dialogue.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].sql.as_ref().map(|sql| sql.len()), Some(text.len()));
    assert_eq!((rows[0].outcome.as_str(), rows[0].truncated), ("ok", false));
}
