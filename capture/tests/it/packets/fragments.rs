//! IP packets in pieces.

use splitproof_capture::trace::Loss;

use super::tunnels::{udp, vxlan};
use super::wire::{ETHERNET, Played, Tcp, accounted, assembler, feed};

const RAW: i32 = 101;
const HELLO: &str = "0 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n0 > hello, fragments\n0 close RecordingEnded\n";

fn hello() -> Tcp {
    Tcp::client("A", 1, 1, "hello, fragments")
}

/// Cuts an IPv4 packet into pieces of so many bytes.
fn pieces(packet: &[u8], len: usize, id: u16) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(20);
    let last = (payload.len() - 1) / len;
    let piece = |(n, part): (usize, &[u8])| {
        let mut header = header.to_vec();
        header[2..4].copy_from_slice(&(20 + part.len() as u16).to_be_bytes());
        header[4..6].copy_from_slice(&id.to_be_bytes());
        let place = (n * len / 8) as u16 | if n < last { 0x2000 } else { 0 };
        header[6..8].copy_from_slice(&place.to_be_bytes());
        [&header, part].concat()
    };
    payload.chunks(len).enumerate().map(piece).collect()
}

/// The same packet in IPv6, in pieces.
fn pieces6(packet: &[u8], len: usize, id: u32) -> Vec<Vec<u8>> {
    let payload = &packet[20..];
    let last = (payload.len() - 1) / len;
    let piece = |(n, part): (usize, &[u8])| {
        let place = (n * len) as u16 | u16::from(n < last);
        let total = (8 + part.len()) as u16;
        let head = [&[0x60, 0, 0, 0][..], &total.to_be_bytes(), &[44, 64], &[1; 16], &[2; 16]].concat();
        [&head, &[6, 0][..], &place.to_be_bytes(), &id.to_be_bytes(), part].concat()
    };
    payload.chunks(len).enumerate().map(piece).collect()
}

fn raw(frames: &[Vec<u8>]) -> Played {
    feed(RAW, frames.iter().map(Vec::as_slice))
}

#[test]
fn pieces_in_any_order_make_the_packet() {
    for len in [8, 16, 24, 32] {
        let mut pieces = pieces(&hello().ipv4(), len, 7);
        for _ in 0..pieces.len() {
            pieces.rotate_left(1);
            let played = raw(&pieces);
            assert_eq!(played.text, HELLO);
            assert_eq!(played.statistics.used, pieces.len() as u64);
            pieces.swap(0, 1);
            assert_eq!(raw(&pieces).text, HELLO);
        }
        let six = raw(&pieces6(&hello().ipv4(), len, 7));
        assert!(six.text.contains("0 > hello, fragments\n"), "{}", six.text);
    }
}

#[test]
fn what_is_never_whole_is_lost_with_all_its_pieces() {
    let all = pieces(&hello().ipv4(), 8, 7);
    for missing in 0..all.len() {
        let mut some = all.clone();
        some.remove(missing);
        let played = raw(&some);
        assert_eq!((played.text.as_str(), played.losses.get(Loss::IpFragment)), ("", some.len() as u64));
    }
}

#[test]
fn pieces_come_twice() {
    let all = pieces(&hello().ipv4(), 16, 7);
    // each right after itself, and all of them after all
    let doubled: Vec<Vec<u8>> = all.iter().flat_map(|piece| [piece.clone(), piece.clone()]).collect();
    for frames in [doubled, [all.clone(), all.clone()].concat()] {
        let played = raw(&frames);
        assert_eq!(played.text, HELLO);
        assert_eq!(played.statistics.used, frames.len() as u64);
    }
}

#[test]
fn a_number_that_is_used_again_is_another_packet() {
    let first = pieces(&hello().ipv4(), 16, 7);
    let second = pieces(&Tcp::client("A", 17, 1, "and another one").ipv4(), 16, 7);
    let played = raw(&[first, second].concat());
    assert!(played.text.contains("> hello, fragments\n0 > and another one\n"), "{}", played.text);
}

#[test]
fn a_tunnel_in_pieces() {
    let frame = vxlan(1, &hello().ethernet());
    let (mac, packet) = frame.split_at(14);
    let frames: Vec<Vec<u8>> = pieces(packet, 48, 9).iter().map(|piece| [mac, piece].concat()).collect();
    let played = feed(ETHERNET, frames.iter().map(Vec::as_slice));
    assert_eq!(played.text, HELLO);
    assert_eq!(played.statistics.used, frames.len() as u64);
    // and pieces within a tunnel
    let inner: Vec<Vec<u8>> =
        pieces(&hello().ipv4(), 16, 9).iter().map(|piece| vxlan(1, &[&[2; 12][..], &[8, 0], piece].concat())).collect();
    assert_eq!(feed(ETHERNET, inner.iter().map(Vec::as_slice)).text, HELLO);
}

#[test]
fn pieces_of_other_traffic_are_other_traffic() {
    let frame = udp(53, &[7; 100]);
    let (mac, packet) = frame.split_at(14);
    let frames: Vec<Vec<u8>> = pieces(packet, 48, 9).iter().map(|piece| [mac, piece].concat()).collect();
    let played = feed(ETHERNET, frames.iter().map(Vec::as_slice));
    assert_eq!(played.losses.get(Loss::OtherTraffic), frames.len() as u64);
}

#[test]
fn a_flood_of_pieces_takes_little_memory_and_is_counted() {
    let (mut assembler, heard) = assembler(Default::default(), Default::default());
    let mut out = Vec::new();
    let packet = Tcp { payload: vec![7; 1400], ..hello() }.ipv4();
    // 200 MB of first pieces, of packets that never end
    for n in 0..150_000_u32 {
        let mut piece = pieces(&packet, 1376, (n % 65_536) as u16).remove(0);
        piece[12..16].copy_from_slice(&(n / 65_536 + 1).to_be_bytes());
        assembler.feed(RAW, i64::from(n) * 1000, &piece, piece.len() as u32, &mut out);
        assert!(n < 60_000 || assembler.losses().get(Loss::IpFragment) > 0, "at {n} nothing was given up");
    }
    assembler.finish(&mut out);
    assert_eq!(heard.text(), "");
    let played = Played { text: String::new(), statistics: assembler.statistics().clone(), losses: assembler.losses() };
    accounted(&played);
    assert_eq!(played.losses.get(Loss::IpFragment), 150_000);
}

#[test]
fn pieces_that_contradict_each_other_make_nothing() {
    let all = pieces(&hello().ipv4(), 16, 7);
    let mut other = all[1].clone();
    // it begins eight bytes earlier than it did
    other[6..8].copy_from_slice(&(0x2000_u16 | 1).to_be_bytes());
    let played = raw(&[all[0].clone(), other, all[2].clone()]);
    assert_eq!((played.text.as_str(), played.losses.get(Loss::IpFragment)), ("", 3));
}
