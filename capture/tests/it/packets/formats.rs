//! What the formats of capture files can hold, built block by block; and files that are compressed or damaged.

use std::fs;
use std::io::Write;

use splitproof_capture::packets::{Assembler, Control, Source};
use splitproof_capture::session::{Close, Decoder, Start};
use splitproof_capture::tls::KeyLog;
use splitproof_capture::trace::{Engine, Loss, Losses, Sink};

use super::files::{ALL, PCAP, Pcap, conversation, dir, noise, pcapng, read, read_all};
use super::wire::Tcp;

/// The blocks of a pcapng file.
struct Blocks {
    big: bool,
    bytes: Vec<u8>,
}

impl Blocks {
    fn new() -> Self {
        Blocks { big: false, bytes: Vec::new() }
    }

    fn u16(&self, n: u16) -> [u8; 2] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn u32(&self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn u64(&self, n: u64) -> [u8; 8] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let body = padded(body);
        let len = self.u32(body.len() as u32 + 12);
        self.bytes.extend([&self.u32(kind)[..], &len, &body, &len].concat());
        self
    }

    fn section(mut self, big: bool) -> Self {
        self.big = big;
        let body = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        [&self.u16(code)[..], &self.u16(value.len() as u16), &padded(value)].concat()
    }

    fn interface(self, link: u16, options: &[(u16, Vec<u8>)]) -> Self {
        let options: Vec<u8> = options.iter().flat_map(|(code, value)| self.option(*code, value)).collect();
        let body = [&self.u16(link)[..], &[0; 2], &self.u32(0), &options, &[0; 4]].concat();
        self.block(1, &body)
    }

    fn packet(self, interface: u32, time: u64, frame: &[u8]) -> Self {
        let len = self.u32(frame.len() as u32);
        let comment = self.option(1, b"a comment");
        let times = [self.u32((time >> 32) as u32), self.u32(time as u32)].concat();
        let body = [&self.u32(interface)[..], &times, &len, &len, &padded(frame), &comment, &[0; 4]].concat();
        self.block(6, &body)
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

const SECOND: u64 = 1_700_000_000;

#[test]
fn sections_interfaces_link_types_and_resolutions() {
    let [ask, answer, bye] = [0, 1, 2].map(|n| conversation()[n].clone());
    let file = Blocks::new()
        .section(false)
        // a comment, then if_name, and the default resolution: microseconds
        .interface(1, &[(1, b"mirror".to_vec()), (2, b"eth0".to_vec())])
        // raw IP in nanoseconds, an hour off
        .interface(101, &[(9, vec![9]), (14, (-3600_i64).to_le_bytes().to_vec())])
        .packet(0, SECOND * 1_000_000 + 1, &ask.ethernet())
        .packet(1, (SECOND + 3600) * 1_000_000_000 + 2000, &answer.ipv4())
        .section(true)
        // Linux cooked 2, in units of 2^-10 s
        .interface(276, &[(9, vec![0x8a])])
        .packet(
            0,
            (SECOND + 1) * 1024 + 512,
            &[&[8, 0, 0, 0, 0, 0, 0, 2, 3, 4, 0, 6][..], &[2; 8], &bye.ipv4()].concat(),
        )
        .bytes;
    let read = read(&dir(), &file);
    assert_eq!(read.played.text, ALL);
    let statistics = &read.played.statistics;
    let seconds = |n: u64| Some((SECOND * 1_000_000_000 + n) as i64);
    assert_eq!((statistics.first_ns, statistics.last_ns), (seconds(1000), seconds(1_500_000_000)));
    assert!(read.ended.is_ok_and(|ended| ended.damaged.is_empty() && ended.cut.is_empty()));
}

#[test]
fn packets_of_the_two_older_kinds_of_blocks() {
    let [ask, answer, bye] = [0, 1, 2].map(|n| conversation()[n].ethernet());
    let blocks = Blocks::new().section(false).interface(1, &[]);
    // a Packet Block: interface 0 and 7 dropped packets in one word each
    let len = blocks.u32(ask.len() as u32);
    let time = SECOND * 1_000_000;
    let old =
        [&[0, 0, 7, 0][..], &blocks.u32((time >> 32) as u32), &blocks.u32(time as u32), &len, &len, &ask].concat();
    let simple = |frame: &[u8]| [&(frame.len() as u32).to_le_bytes(), frame].concat();
    let file = blocks.block(2, &old).block(3, &simple(&answer)).block(3, &simple(&bye)).bytes;
    let read = read(&dir(), &file);
    assert_eq!(read.played.text, ALL);
    // simple packets have no time of their own
    assert_eq!(read.played.statistics.last_ns, Some((SECOND * 1_000_000_000) as i64));
}

#[test]
fn what_the_recorder_dropped_is_counted_once() {
    let statistics = |blocks: Blocks, interface: u32, by_interface: u64, by_system: u64| {
        let options = [blocks.option(5, &blocks.u64(by_interface)), blocks.option(7, &blocks.u64(by_system))].concat();
        let body = [&blocks.u32(interface)[..], &[0; 8], &options, &[0; 4]].concat();
        blocks.block(5, &body)
    };
    let blocks = Blocks::new().section(false).interface(1, &[]).interface(1, &[]);
    // the counters of an interface only grow: 3 + 4, then 5 + 4; another interface has one of its own
    let blocks = statistics(statistics(statistics(blocks, 0, 3, 4), 0, 5, 4), 1, 1, 0);
    // of an interface that is not described
    let file = statistics(blocks, 9, 100, 100).packet(0, SECOND, &conversation()[0].ethernet()).bytes;
    assert_eq!(read(&dir(), &file).played.losses.get(Loss::KernelDropped), 10);
}

#[test]
fn packets_of_an_interface_that_is_not_described_are_counted() {
    let file = Blocks::new().section(false).packet(0, 1, &conversation()[0].ethernet()).bytes;
    assert_eq!(read(&dir(), &file).played.losses.get(Loss::UnknownLink), 1);
}

#[test]
fn secrets_go_to_the_key_log() {
    struct Quiet(Losses);
    impl Decoder for Quiet {
        fn client(&mut self, _: i64, _: &[u8], _: &mut dyn Sink) {}
        fn server(&mut self, _: i64, _: &[u8], _: &mut dyn Sink) {}
        fn client_gap(&mut self, _: i64, _: u64, _: &mut dyn Sink) {}
        fn server_gap(&mut self, _: i64, _: u64, _: &mut dyn Sink) {}
        fn close(&mut self, _: i64, _: Close, _: &mut dyn Sink) {}
        fn next_seq(&self) -> u32 {
            0
        }
        fn losses(&self) -> &Losses {
            &self.0
        }
    }
    let line = format!("CLIENT_RANDOM {} 0102\n", "ab".repeat(32));
    let blocks = Blocks::new().section(true);
    let secrets =
        |kind: u32, line: &str| [&kind.to_be_bytes()[..], &(line.len() as u32).to_be_bytes(), line.as_bytes()].concat();
    // secrets for WireGuard are no key log
    let file =
        blocks.block(10, &secrets(0x5747_4b4c, &line.replace("ab", "cd"))).block(10, &secrets(0x544c_534b, &line));
    let dir = dir();
    let path = dir.path().join("window.pcapng");
    fs::write(&path, file.bytes).expect("can write");
    let keys = KeyLog::default();
    let control = Control { key_log: Some(&keys), ..Control::default() };
    let open = |_: Engine, _: u64, _: Start| -> Box<dyn Decoder> { Box::new(Quiet(Default::default())) };
    let mut assembler = Assembler::new(Default::default(), Default::default(), Box::new(open));
    Source::Files(vec![path]).run(&mut assembler, &mut Vec::new(), control).expect("reads");
    assert_eq!(format!("{keys:?}"), "KeyLog(1 sessions)");
}

#[test]
fn kuznetzovs_format_and_lengths_the_other_way_round() {
    let dir = dir();
    let frames: Vec<Vec<u8>> = conversation().iter().map(Tcp::ethernet).collect();
    let mut kuznetzov = [&[0x34, 0xcd, 0xb2, 0xa1][..], &PCAP.header()[4..]].concat();
    for frame in &frames {
        let record = PCAP.record(1_700_000_000, 0, frame);
        // interface, protocol, direction, padding
        kuznetzov.extend([&record[..16], &[0, 0, 0, 0, 8, 0, 0, 0], frame].concat());
    }
    assert_eq!(read(&dir, &kuznetzov).played.text, ALL);

    for version in [2, 3] {
        let mut old = PCAP.header();
        old[6] = version;
        for frame in &frames {
            let mut record = PCAP.record(1_700_000_000, 0, frame);
            // as on the wire, then as captured
            record[8..12].copy_from_slice(&2000_u32.to_le_bytes());
            old.extend(record);
        }
        assert_eq!(read(&dir, &old).played.text, ALL, "version 2.{version}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("a buffer takes all");
    encoder.finish().expect("a buffer takes all")
}

#[test]
fn compressed_files_are_read_as_they_are() {
    let dir = dir();
    for file in [PCAP.file(&conversation()), pcapng(&conversation())] {
        let (head, tail) = file.split_at(100);
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).expect("compresses");
        for packed in [
            gzip(&file),
            // as pigz and bgzip make them, and as files are joined
            [gzip(head), gzip(tail)].concat(),
            zstd(&file),
            [zstd(head), zstd(tail)].concat(),
        ] {
            let read = read(&dir, &packed);
            assert_eq!(read.played.text, ALL);
            assert!(read.ended.is_ok_and(|ended| ended.damaged.is_empty() && ended.cut.is_empty()));
        }
    }
}

#[test]
fn compressed_files_that_are_cut_keep_what_came_before() {
    let long = Tcp { payload: noise(40_000), ..conversation()[2].clone() };
    let whole = gzip(&PCAP.file(&[&conversation()[..2], &[long]].concat()));
    let read = read(&dir(), &whole[..whole.len() / 2]);
    assert!(read.played.losses.get(Loss::TruncatedFile) > 10_000, "{:?}", read.played.losses);
    assert!(read.played.text.contains("0 < answer"), "{}", read.played.text);
    assert!(read.error().contains("cannot be read further"), "{}", read.error());
}

#[test]
fn behind_a_damaged_record_reading_goes_on() {
    let dir = dir();
    let segments = conversation();
    let others: Vec<Tcp> = (0..50).map(|n| Tcp::client("A", 7 + n * 3, 7, "abc").port(41_000)).collect();
    let both = [&segments[..2], &others, &segments[2..]].concat();
    for nano in [false, true] {
        let pcap = Pcap { big: nano, nano };
        let file = pcap.file(&both);
        let first = pcap.file(&both[..2]).len();
        for (damage, lost) in [
            // the captured length of the third record is too long for any packet
            (vec![(first + 8, 0xff), (first + 11, 0xff)], pcap.file(&both[..3]).len() - first),
            // or it is one more or less than it was, so that the record after it is lost, too
            (vec![(first + if nano { 11 } else { 8 }, 58)], pcap.file(&both[..4]).len() - first - 16 - 58),
        ] {
            let mut file = file.clone();
            damage.into_iter().for_each(|(at, byte)| file[at] = byte);
            let read = read(&dir, &file);
            assert!(read.played.text.contains("0 > bye\n"), "{}", read.played.text);
            assert_eq!(read.played.losses.get(Loss::DamagedFile), lost as u64);
            let used = 24 + 16 * read.played.statistics.packets + read.played.statistics.bytes;
            assert_eq!(used + lost as u64, file.len() as u64, "every byte of the file");
            assert!(
                read.error().contains("damaged at byte") && read.error().contains("passed over"),
                "{}",
                read.error()
            );
        }
    }
    let file = pcapng(&both);
    let first = pcapng(&both[..2]).len();
    for at in [4, 7] {
        let mut file = file.clone();
        file[first + at] ^= 0x41;
        let read = read(&dir, &file);
        assert!(read.played.text.contains("0 > bye\n"), "{}", read.played.text);
        // its block: 12 bytes around it, 20 before the packet, and a packet of 57 with its padding
        assert_eq!(read.played.losses.get(Loss::DamagedFile), 92);
    }
}

#[test]
fn several_damaged_places_are_told_as_one() {
    let dir = dir();
    let mut file = PCAP.file(&conversation()[..1]);
    for n in 1..3 {
        file.extend(noise(500));
        // One record alone could be chance.
        for tcp in [&conversation()[n as usize], &Tcp::client("A", 7, 7, "")] {
            file.extend(PCAP.record(1_700_000_000, n, &tcp.ethernet()));
        }
    }
    let read = read_all(&[{
        let path = dir.path().join("window.pcap");
        fs::write(&path, &file).expect("can write");
        path
    }]);
    assert_eq!(read.played.losses.get(Loss::DamagedFile), 1000);
    assert!(read.error().contains("in 2 places 1000 bytes"), "{}", read.error());
    assert!(read.played.text.contains("bye"), "{}", read.played.text);
}
