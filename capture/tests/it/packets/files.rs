//! Capture files: sound, cut short, damaged, and no captures at all.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use splitproof_capture::{
    packets::{Control, Ended, Error, Reason, Source},
    trace::{Loss, Request},
};
use tempfile::TempDir;

use super::wire::{Played, Tcp, accounted, assembler};

/// The records of a pcap file, big or little end first, microseconds or nanoseconds.
pub struct Pcap {
    pub big: bool,
    pub nano: bool,
}

impl Pcap {
    pub fn number(&self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub fn header(&self) -> Vec<u8> {
        let magic = if self.nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let version = if self.big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        [self.number(magic), version, [0; 4], [0; 4], self.number(262_144), self.number(1)].concat()
    }

    pub fn record(&self, second: u32, fraction: u32, frame: &[u8]) -> Vec<u8> {
        let len = frame.len() as u32;
        let head = [self.number(second), self.number(fraction), self.number(len), self.number(len)].concat();
        [&head, frame].concat()
    }

    pub fn file(&self, segments: &[Tcp]) -> Vec<u8> {
        let records = segments.iter().zip(0..).flat_map(|(tcp, n)| self.record(1_700_000_000, n, &tcp.ethernet()));
        self.header().into_iter().chain(records).collect()
    }
}

pub const PCAP: Pcap = Pcap { big: false, nano: false };

/// A pcapng file with one interface, nanoseconds.
pub fn pcapng(segments: &[Tcp]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &len, body, &len].concat()
    };
    let mut file = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    // Ethernet, no snap length, if_tsresol 9, end of options
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    for (tcp, n) in segments.iter().zip(0..) {
        let frame = tcp.ethernet();
        let at = 1_700_000_000_000_000_000_u64 + n;
        let len = (frame.len() as u32).to_le_bytes();
        let mut body = [[0; 4], ((at >> 32) as u32).to_le_bytes(), (at as u32).to_le_bytes(), len, len].concat();
        body.extend(&frame);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
        // a block that is no packet: interface statistics
        file.extend(block(5, &[0; 12]));
    }
    file
}

pub fn conversation() -> Vec<Tcp> {
    vec![Tcp::client("A", 1, 1, "ask"), Tcp::server("A", 1, 4, "answer"), Tcp::client("A", 4, 7, "bye")]
}

pub struct Read {
    pub played: Played,
    pub ended: Result<Ended, Error>,
}

impl Read {
    pub fn error(&self) -> String {
        match &self.ended {
            Err(error) => error.to_string(),
            Ok(ended) => ended.damaged.first().expect("damaged").to_string(),
        }
    }
}

pub fn read_all(paths: &[PathBuf]) -> Read {
    let (mut assembler, heard) = assembler(Default::default(), Default::default());
    let mut out: Vec<Request> = Vec::new();
    let ended = Source::Files(paths.to_vec()).run(&mut assembler, &mut out, Control::default());
    assembler.finish(&mut out);
    let played = Played { text: heard.text(), statistics: assembler.statistics().clone(), losses: assembler.losses() };
    accounted(&played);
    Read { played, ended }
}

pub fn read(dir: &TempDir, bytes: &[u8]) -> Read {
    let path = dir.path().join("window.pcap");
    fs::write(&path, bytes).expect("can write");
    read_all(&[path])
}

pub fn dir() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

pub const ALL: &str =
    "0 10.0.0.1:40000 -> 10.0.0.2:5432 midway\n0 > ask\n0 < answer\n0 > bye\n0 close RecordingEnded\n";

#[test]
fn every_kind_of_pcap_reads_alike() {
    let dir = dir();
    for (big, nano) in [(false, false), (false, true), (true, false), (true, true)] {
        let read = read(&dir, &Pcap { big, nano }.file(&conversation()));
        assert_eq!(read.played.text, ALL);
        let statistics = &read.played.statistics;
        assert_eq!(statistics.first_ns, Some(1_700_000_000_000_000_000));
        assert_eq!(statistics.last_ns, Some(1_700_000_000_000_000_000 + if nano { 2 } else { 2_000 }));
        assert!(read.ended.is_ok_and(|ended| ended.reason == Reason::Finished && ended.damaged.is_empty()));
    }
    let read = read(&dir, &pcapng(&conversation()));
    assert_eq!(read.played.text, ALL);
    assert_eq!(read.played.statistics.last_ns, Some(1_700_000_000_000_000_002));
}

#[test]
fn a_session_goes_on_in_the_next_file() {
    let dir = dir();
    let (first, second) = (dir.path().join("a.pcap"), dir.path().join("b.pcapng"));
    fs::write(&first, PCAP.file(&conversation()[..1])).expect("can write");
    fs::write(&second, pcapng(&conversation()[1..])).expect("can write");
    assert_eq!(read_all(&[first, second]).played.text, ALL);
}

#[test]
fn cut_at_every_byte_of_the_last_packet() {
    let dir = dir();
    let before = "0 > ask\n0 < answer\n0 close RecordingEnded\n";
    for (whole, shorter) in [
        (PCAP.file(&conversation()), PCAP.file(&conversation()[..2])),
        (
            Pcap { big: true, nano: true }.file(&conversation()),
            Pcap { big: true, nano: true }.file(&conversation()[..2]),
        ),
        (pcapng(&conversation()), pcapng(&conversation()[..2])),
    ] {
        // In pcapng the block of statistics after the packet belongs to what is cut.
        for len in shorter.len()..whole.len() {
            let read = read(&dir, &whole[..len]);
            let ended = read.ended.expect("not an error");
            assert!(ended.damaged.is_empty(), "{len}: {:?}", ended.damaged);
            let rest = ended.cut.first().map_or(0, |cut| cut.bytes);
            assert_eq!(read.played.losses.get(Loss::TruncatedFile), rest);
            assert_eq!(ended.cut.is_empty(), rest == 0);
            if let [cut] = ended.cut.as_slice() {
                assert_eq!(cut.offset + cut.bytes, len as u64);
            }
            if read.played.statistics.packets == 2 {
                assert_eq!(rest, (len - shorter.len()) as u64, "cut at {len}");
                assert!(read.played.text.ends_with(before), "{}", read.played.text);
            } else {
                assert_eq!(read.played.text, ALL);
            }
        }
    }
}

#[test]
fn cut_inside_the_file_header() {
    let dir = dir();
    for len in 1..24 {
        let read = read(&dir, &PCAP.header()[..len]);
        assert!(matches!(read.ended, Err(Error::NotACapture { .. })), "{len}");
        assert!(read.error().contains("window.pcap: not a capture file"), "{}", read.error());
    }
}

#[test]
fn no_capture_at_all() {
    let dir = dir();
    for (bytes, word) in [
        (&b""[..], "it is empty"),
        (b"2024-01-01 00:00:00 UTC LOG:  statement: SELECT 1\n", "it is text"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "it cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "it cannot be unpacked"),
        (b"\xfd7zXZ\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "xzcat FILE | splitproof-capture"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "none of a capture's"),
    ] {
        let read = read(&dir, bytes);
        assert!(read.error().contains(word), "{}", read.error());
        assert!(read.error().contains("window.pcap") && read.error().contains("give a pcap"), "{}", read.error());
    }
    let missing = read_all(&[dir.path().join("missing")]);
    assert!(missing.error().contains("missing: cannot be read: No such file"), "{}", missing.error());
    let directory = read_all(&[dir.path().to_owned()]);
    assert!(directory.error().contains("directory"), "{}", directory.error());
}

#[test]
fn a_wrong_file_is_found_before_any_is_read() {
    let dir = dir();
    let good = dir.path().join("good.pcap");
    fs::write(&good, PCAP.file(&conversation())).expect("can write");
    let read = read_all(&[good, dir.path().join("missing")]);
    assert_eq!(read.played.statistics.packets, 0);
}

/// Bytes that look random and are the same in each run.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as u8
    };
    (0..len).map(step).collect()
}

#[test]
fn random_bytes_after_a_valid_header() {
    let dir = dir();
    for start in [PCAP.header(), pcapng(&[])] {
        let read = read(&dir, &[&start[..], &noise(5000)].concat());
        let error = read.error();
        let at = format!("damaged at byte {}, after packet 0", start.len());
        assert!(error.contains("window.pcap") && error.contains(&at) && error.contains("record again"), "{error}");
    }
}

#[test]
fn damage_in_the_middle_keeps_what_came_before_and_the_other_files() {
    let dir = dir();
    for start in [PCAP.file(&conversation()[..2]), pcapng(&conversation()[..2])] {
        let (bad, good) = (dir.path().join("bad.pcap"), dir.path().join("good.pcap"));
        fs::write(&bad, [&start[..], &noise(5000)].concat()).expect("can write");
        fs::write(&good, PCAP.file(&conversation()[2..])).expect("can write");
        let read = read_all(&[bad, good]);
        assert_eq!(read.played.text, ALL);
        let at = format!("bad.pcap: damaged at byte {}, after packet 2", start.len());
        assert!(read.error().contains(&at), "{}", read.error());
    }
}

#[test]
fn a_link_type_that_cannot_be_decoded_is_named() {
    let dir = dir();
    let mut file = PCAP.file(&conversation());
    file[20..24].copy_from_slice(&105_u32.to_le_bytes());
    let error = read(&dir, &file).error();
    assert!(error.contains("IEEE802_11") && error.contains("Ethernet"), "{error}");
}

#[test]
fn the_stop_flag_ends_a_file_early() {
    let dir = dir();
    let path = dir.path().join("window.pcap");
    fs::write(&path, PCAP.file(&conversation())).expect("can write");
    let (mut assembler, _) = assembler(Default::default(), Default::default());
    let stop = AtomicBool::new(true);
    let control = Control { stop: Some(&stop), ..Control::default() };
    let ended = Source::Files(vec![path]).run(&mut assembler, &mut Vec::new(), control);
    assert_eq!(ended.expect("no error").reason, Reason::Stopped);
}

#[test]
fn a_pipe_is_read_too() {
    let dir = dir();
    let path = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    let write = |path: &Path, bytes: Vec<u8>| {
        let path = path.to_owned();
        std::thread::spawn(move || fs::write(path, bytes).expect("can write"))
    };
    let writer = write(&path, PCAP.file(&conversation()));
    assert_eq!(read_all(std::slice::from_ref(&path)).played.text, ALL);
    writer.join().expect("no panic");

    // and where it breaks off is told as for a file
    let whole = PCAP.file(&conversation());
    let writer = write(&path, whole[..whole.len() - 1].to_vec());
    let read = read_all(std::slice::from_ref(&path));
    writer.join().expect("no panic");
    let ended = read.ended.expect("no error");
    let [cut] = ended.cut.as_slice() else { panic!("{ended:?}") };
    assert_eq!((cut.packets, cut.offset + cut.bytes), (2, whole.len() as u64 - 1));
}
