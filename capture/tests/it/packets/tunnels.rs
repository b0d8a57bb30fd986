//! Mirrored and tunnelled packets.

use etherparse::PacketBuilder;
use splitproof_capture::trace::Loss;

use super::wire::{ETHERNET, Played, Tcp, feed};

const HELLO: &str = "0 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n0 > hello\n0 close RecordingEnded\n";

/// A UDP packet of a mirror in Ethernet.
pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let step = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([192, 168, 0, 1], [192, 168, 0, 2], 64).udp(50_000, port);
    step.write(&mut bytes, payload).expect("a buffer takes all");
    bytes
}

/// An IP packet with this protocol number in Ethernet.
fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let step = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([192, 168, 0, 1], [192, 168, 0, 2], 64);
    step.write(&mut bytes, etherparse::IpNumber(protocol), payload).expect("a buffer takes all");
    bytes
}

/// VXLAN with the number of a network (RFC 7348).
pub fn vxlan(network: u8, frame: &[u8]) -> Vec<u8> {
    udp(4789, &[&[8, 0, 0, 0, 0, 0, network, 0], frame].concat())
}

fn one(frame: &[u8]) -> Played {
    feed(ETHERNET, [frame])
}

fn hello() -> Tcp {
    Tcp::client("A", 1, 1, "hello")
}

#[test]
fn every_tunnel_leads_to_the_segment() {
    let (frame, packet) = (hello().ethernet(), hello().ipv4());
    let behind = |header: &[u8], inner: &[u8]| [header, inner].concat();
    let mpls = |labels: &[u8], inner: &[u8]| [&[2; 12][..], &[0x88, 0x47], labels, inner].concat();
    let cases = [
        ("VXLAN", vxlan(7, &frame)),
        ("VXLAN on Linux's old port", udp(8472, &behind(&[8, 0, 0, 0, 0, 0, 7, 0], &frame))),
        ("VXLAN in VXLAN", vxlan(1, &vxlan(2, &frame))),
        ("Geneve with Ethernet", udp(6081, &behind(&[0, 0, 0x65, 0x58, 0, 0, 7, 0], &frame))),
        ("Geneve with IP and options", udp(6081, &behind(&[2, 0, 8, 0, 0, 0, 7, 0, 1, 2, 3, 1, 0, 0, 0, 9], &packet))),
        ("GRE with IP", ip(47, &behind(&[0, 0, 8, 0], &packet))),
        ("GRE with Ethernet and a key", ip(47, &behind(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 7], &frame))),
        (
            "GRE with checksum, key, sequence",
            ip(47, &behind(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1], &packet)),
        ),
        ("ERSPAN I", ip(47, &behind(&[0, 0, 0x88, 0xbe], &frame))),
        ("ERSPAN II", ip(47, &[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], &[0x10; 8][..], &frame].concat())),
        ("ERSPAN III", ip(47, &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &[0x20; 12][..], &frame].concat())),
        (
            "ERSPAN III with a subheader",
            ip(47, &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &[0x20; 11][..], &[0x21], &[9; 8], &frame].concat()),
        ),
        ("IP in IP", ip(4, &packet)),
        ("IP in IP in GRE", ip(47, &behind(&[0, 0, 8, 0], &ip(4, &packet)[14..]))),
        ("MPLS with one label", mpls(&[0, 1, 1, 64], &packet)),
        ("MPLS with two labels", mpls(&[0, 1, 0, 64, 0, 2, 1, 64], &packet)),
        ("Ethernet over MPLS", mpls(&[0, 1, 1, 64, 0, 0, 0, 0], &frame)),
        ("PPPoE", [&[2; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 47, 0, 0x21], &packet].concat()),
    ];
    for (name, frame) in cases {
        assert_eq!(one(&frame).text, HELLO, "{name}");
    }
}

#[test]
fn what_only_looks_like_a_tunnel_is_other_traffic() {
    let frame = hello().ethernet();
    let mut deep = frame.clone();
    for _ in 0..20 {
        deep = vxlan(1, &deep);
    }
    for (name, frame) in [
        ("VXLAN without a network", udp(4789, &[&[0; 8][..], &frame].concat())),
        ("Geneve of another version", udp(6081, &[&[0x40, 0, 0x65, 0x58, 0, 0, 7, 0][..], &frame].concat())),
        ("GRE of PPTP", ip(47, &[&[0x20, 1, 0x88, 0x0b, 0, 0, 0, 7][..], &frame].concat())),
        ("UDP", udp(53, &frame)),
        ("twenty tunnels in each other", deep),
    ] {
        let played = one(&frame);
        assert_eq!((played.text.as_str(), played.losses.get(Loss::OtherTraffic)), ("", 1), "{name}");
    }
}

#[test]
fn a_tunnel_cut_by_the_snap_length_is_counted_as_such() {
    let frame = vxlan(1, &hello().ethernet());
    for len in 43..frame.len() {
        let (mut assembler, _) = super::wire::assembler(Default::default(), Default::default());
        assembler.feed(ETHERNET, 1, &frame[..len], frame.len() as u32, &mut Vec::new());
        assert_eq!(assembler.losses().get(Loss::SnapLength), 1, "{len}");
    }
}

/// Both ends of a connection are mirrored, so that every packet comes twice: the second copy later, and out of order.
#[test]
fn a_packet_seen_by_two_mirrors_counts_once() {
    let mut segments = vec![
        Tcp::client("S", 0, 0, ""),
        Tcp::server("SA", 0, 1, ""),
        Tcp::client("A", 1, 1, ""),
        Tcp::client("A", 1, 1, "ask"),
    ];
    segments.extend([Tcp::server("A", 1, 4, "answer"), Tcp::client("A", 4, 7, "more"), Tcp::server("A", 7, 8, "yes")]);
    segments.extend([Tcp::client("FA", 8, 10, ""), Tcp::server("FA", 10, 9, ""), Tcp::client("A", 9, 11, "")]);
    let expected = "0 10.0.0.1:40000 -> 10.0.0.2:5432\n0 > ask\n0 < answer\n0 > more\n0 < yes\n0 close Client\n";
    let frames: Vec<Vec<u8>> = segments.iter().map(Tcp::ethernet).collect();
    for delay in 0..=frames.len() {
        let mut mirrored = Vec::new();
        for at in 0..frames.len() + delay {
            mirrored.extend(frames.get(at).map(|frame| vxlan(1, frame)));
            mirrored.extend(at.checked_sub(delay).and_then(|at| frames.get(at)).map(|frame| vxlan(2, frame)));
        }
        let played = feed(ETHERNET, mirrored.iter().map(Vec::as_slice));
        assert_eq!(played.text, expected, "the second mirror {delay} packets later");
        assert_eq!(played.statistics.used, 2 * frames.len() as u64);
    }
}
