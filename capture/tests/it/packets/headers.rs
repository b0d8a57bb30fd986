//! Link, IP and TCP headers as raw bytes.

use etherparse::PacketBuilder;
use proptest::prelude::*;
use splitproof_capture::trace::Loss;

use super::wire::{CLIENT, ETHERNET, Played, SERVER, Tcp, accounted, assembler, feed};

const HELLO: &str = "0 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n0 > hello\n0 close RecordingEnded\n";

fn hello() -> Vec<u8> {
    Tcp::client("A", 1, 1, "hello").ipv4()
}

fn one(link: i32, frame: &[u8]) -> Played {
    feed(link, [frame])
}

fn behind(header: &[u8], packet: &[u8]) -> Vec<u8> {
    [header, packet].concat()
}

#[test]
fn every_link_type_leads_to_the_segment() {
    let mac = [2; 12];
    let tagged = |tags: &[u8]| behind(&mac, tags);
    let sll = [0, 0, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
    let sll2 = [8, 0, 0, 0, 0, 0, 0, 2, 3, 4, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
    let cases: [(&str, i32, &[u8]); 17] = [
        ("ethernet", 1, &tagged(&[8, 0])),
        ("802.1Q", 1, &tagged(&[0x81, 0, 0, 7, 8, 0])),
        ("QinQ", 1, &tagged(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0])),
        ("old QinQ", 1, &tagged(&[0x91, 0, 0, 7, 0x81, 0, 0, 8, 8, 0])),
        ("Linux cooked", 113, &sll),
        ("Linux cooked, tagged", 113, &behind(&sll[..14], &[0x81, 0, 0, 7, 8, 0])),
        ("Linux cooked 2", 276, &sll2),
        ("Linux cooked 2, tagged", 276, &[&[0x81, 0], &sll2[2..], &[0, 7, 8, 0]].concat()),
        ("null, little end first", 0, &[2, 0, 0, 0]),
        ("null, big end first", 0, &[0, 0, 0, 2]),
        ("loop", 108, &[0, 0, 0, 2]),
        ("raw", 12, &[]),
        ("raw, OpenBSD", 14, &[]),
        ("raw, file number", 101, &[]),
        ("raw IPv4", 228, &[]),
        ("ethernet, priority tag", 1, &tagged(&[0x81, 0, 0xe0, 0, 8, 0])),
        ("ethernet, three tags", 1, &tagged(&[0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0])),
    ];
    for (name, link, header) in cases {
        assert_eq!(one(link, &behind(header, &hello())).text, HELLO, "{name}");
    }
}

#[test]
fn etherparse_builds_the_same_linux_cooked_header() {
    let mut frame = Vec::new();
    PacketBuilder::linux_sll(etherparse::LinuxSllPacketType::OTHERHOST, 6, [2; 8])
        .ipv4(CLIENT.address, SERVER.address, 64)
        .tcp(CLIENT.port, SERVER.port, 1, 100)
        .ack(1)
        .write(&mut frame, b"hello")
        .expect("a buffer takes all");
    assert_eq!(one(113, &frame).text, HELLO);
}

#[test]
fn a_frame_that_is_not_ip_or_not_tcp_is_other_traffic() {
    let udp = {
        let mut frame = Vec::new();
        let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5432, 5432);
        step.write(&mut frame, b"hello").expect("a buffer takes all");
        frame
    };
    let arp = behind(&[2; 12], &[8, 6, 0, 1, 8, 0, 6, 4]);
    let elsewhere = Tcp { to: super::wire::End { port: 80, ..SERVER }, ..Tcp::client("A", 1, 1, "hello") };
    for (link, frame) in [(12, udp), (1, arp), (0, vec![7, 0, 0, 0]), (12, elsewhere.ipv4())] {
        let played = one(link, &frame);
        assert_eq!(played.text, "");
        assert_eq!(played.losses.get(Loss::OtherTraffic), 1, "{frame:?}");
    }
}

#[test]
fn a_link_type_that_is_not_known_is_counted() {
    let played = one(105, &hello());
    assert_eq!((played.text.as_str(), played.losses.get(Loss::UnknownLink)), ("", 1));
}

#[test]
fn padding_after_the_packet_is_no_payload() {
    let mut frame = Tcp::client("A", 1, 1, "").ethernet();
    frame.resize(60, 0);
    assert_eq!(one(ETHERNET, &frame).text, "");
    let mut frame = Tcp::client("A", 1, 1, "hello").ethernet();
    frame.resize(80, 0);
    assert_eq!(one(ETHERNET, &frame).text, HELLO);
}

#[test]
fn a_length_of_zero_means_the_rest_of_the_frame() {
    // as captured on a machine whose network card cuts big packets into segments
    let mut packet = hello();
    packet[2..4].fill(0);
    assert_eq!(one(12, &packet).text, HELLO);
}

#[test]
fn ip_options_and_tcp_options_are_passed_over() {
    let mut packet = Vec::new();
    let ip = etherparse::Ipv4Header {
        options: [1, 1, 1, 1, 1, 1, 1, 0].into(),
        ..etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, CLIENT.address, SERVER.address)
            .expect("short enough")
    };
    PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()))
        .tcp(CLIENT.port, SERVER.port, 1, 100)
        .ack(1)
        .options(&[etherparse::TcpOptionElement::Timestamp(1, 2)])
        .expect("fits")
        .write(&mut packet, b"hello")
        .expect("a buffer takes all");
    assert_eq!(one(12, &packet).text, HELLO);
}

#[test]
fn ipv6_with_and_without_extension_headers() {
    let mut plain = Vec::new();
    let end = |last| std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).octets();
    PacketBuilder::ipv6(end(1), end(2), 64)
        .tcp(CLIENT.port, SERVER.port, 1, 100)
        .ack(1)
        .write(&mut plain, b"hello")
        .expect("a buffer takes all");
    let expected = "0 [fd00::1]:40000 -> [fd00::2]:5432 midway\n0 > hello\n0 close RecordingEnded\n";
    assert_eq!(one(229, &plain).text, expected);
    for family in [10, 24, 28, 30] {
        assert_eq!(one(0, &behind(&[family, 0, 0, 0], &plain)).text, expected, "family {family}");
    }

    // hop-by-hop, destination, routing, and a fragment header that fragments nothing
    let chain = [
        &[60, 0, 1, 4, 0, 0, 0, 0][..],
        &[43, 0, 1, 4, 0, 0, 0, 0],
        &[44, 0, 3, 0, 0, 0, 0, 0],
        &[6, 0, 0, 0, 0, 0, 0, 1],
    ]
    .concat();
    let with = |next: u8, chain: &[u8]| {
        let mut packet = [&plain[..40], chain, &plain[40..]].concat();
        let payload = u16::from_be_bytes([packet[4], packet[5]]) + chain.len() as u16;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
        packet[6] = next;
        packet
    };
    assert_eq!(one(12, &with(0, &chain)).text, expected);

    let fragment = with(44, &[6, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(one(12, &fragment).losses.get(Loss::IpFragment), 1);
    assert_eq!(one(12, &with(44, &[58, 0, 0, 1, 0, 0, 0, 1])).losses.get(Loss::OtherTraffic), 1);
    assert_eq!(one(12, &with(0, &[6, 200, 0, 0, 0, 0, 0, 0])).losses.get(Loss::MalformedPacket), 1);
}

#[test]
fn a_fragment_is_counted() {
    for flags in [[0x20, 0], [0, 1], [0x20, 1]] {
        let mut packet = hello();
        packet[6..8].copy_from_slice(&flags);
        let played = one(12, &packet);
        assert_eq!((played.text.as_str(), played.losses.get(Loss::IpFragment)), ("", 1));
    }
}

#[test]
fn headers_that_contradict_their_length_are_malformed() {
    let packet = hello();
    let with = |at: usize, value: u8| {
        let mut packet = packet.clone();
        packet[at] = value;
        packet
    };
    let cases = [
        ("IP header too short", with(0, 0x44)),
        ("IP version 5", with(0, 0x55)),
        ("IP length beyond the frame", with(3, 200)),
        ("IP length within its header", with(3, 10)),
        ("no room for a TCP header", with(3, 30)),
        ("TCP header too short", with(32, 0x40)),
        ("TCP header beyond the packet", with(32, 0xf0)),
        ("nothing", Vec::new()),
    ];
    for (name, packet) in cases {
        let played = one(12, &packet);
        assert_eq!((played.text.as_str(), played.losses.get(Loss::MalformedPacket)), ("", 1), "{name}");
    }
}

#[test]
fn what_the_snap_length_cut_off_is_a_gap() {
    let frame = Tcp::client("A", 1, 1, "hello").ethernet();
    for kept in 0..=frame.len() {
        let (mut assembler, heard) = assembler(Default::default(), Default::default());
        let mut out = Vec::new();
        assembler.feed(ETHERNET, 1, &frame[..kept], frame.len() as u32, &mut out);
        let played =
            Played { text: heard.text(), statistics: assembler.statistics().clone(), losses: assembler.losses() };
        accounted(&played);
        let payload = kept.saturating_sub(frame.len() - 5);
        assert_eq!(played.losses.get(Loss::SnapLength), u64::from(payload < 5), "{kept}");
        let (_, events) = played.text.split_once('\n').unwrap_or_default();
        match payload {
            // the headers are needed to know what was cut off
            0 if kept < 54 => assert_eq!(events, ""),
            0 => assert_eq!(events, "0 > [5]\n"),
            5 => assert_eq!(events, "0 > hello\n"),
            _ => assert_eq!(events, format!("0 > {}\n0 > [{}]\n", &"hello"[..payload], 5 - payload)),
        }
    }
}

proptest! {
    /// Random bytes, and real packets with some bytes changed, are accounted for and end in no panic.
    #[test]
    fn no_bytes_are_too_odd(
        link in prop::sample::select(vec![0, 1, 12, 14, 101, 105, 108, 113, 228, 229, 276]),
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20),
        changes in prop::collection::vec((0..64_usize, any::<u8>(), any::<u32>()), 0..20),
    ) {
        let mut frames = noise;
        for (at, value, seq) in changes {
            let mut frame = Tcp::client("A", seq, 1, "hello").ipv4();
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
            frames.push(frame);
        }
        feed(link, frames.iter().map(Vec::as_slice));
    }
}
