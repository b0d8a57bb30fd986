//! Captures that were cut, shuffled, doubled, mixed and flipped: whatever is in a file, every packet and every byte of it is
//! used or counted.

use std::fs;
use std::path::{Path, PathBuf};

use splitproof_capture::trace::{Engine, Request};

use super::files::dir;
use crate::corpus::{Decoded, corpus, decode};

/// Length of a file's header and of a record's.
const HEADER: usize = 24;
const RECORD: usize = 16;

/// Ports of the captures that are used.
const PORTS: &[u16] = &[5432, 15432, 8000, 3306, 20130, 6033, 2883, 12345, 30130, 3307];

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }
}

/// A file's header, and its records with theirs.
struct File {
    header: Vec<u8>,
    records: Vec<Vec<u8>>,
}

impl File {
    /// Little end first, as all of them are; `None` for other formats and for files that are cut.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (header, mut rest) = bytes.split_at_checked(HEADER)?;
        let mut records = Vec::new();
        while !rest.is_empty() {
            let len = u32::from_le_bytes(*rest.get(8..)?.first_chunk()?) as usize;
            let (record, after) = rest.split_at_checked(RECORD + len)?;
            records.push(record.to_vec());
            rest = after;
        }
        header.starts_with(&[0xd4, 0xc3, 0xb2, 0xa1]).then(|| File { header: header.to_vec(), records })
    }

    fn bytes(&self) -> Vec<u8> {
        [self.header.clone(), self.records.concat()].concat()
    }
}

/// Every byte of a pcap file and every packet is used or counted.
fn adds_up(name: &str, decoded: &Decoded, len: usize) {
    // `decode` has looked at the packets.
    let lost: u64 = ["truncated_file", "damaged_file"]
        .map(|name| decoded.losses.iter().filter(|(loss, _)| loss.name() == name).map(|(_, bytes)| bytes).sum::<u64>())
        .iter()
        .sum();
    let statistics = &decoded.statistics;
    let read = (HEADER + RECORD * statistics.packets as usize) as u64 + statistics.bytes;
    assert_eq!(read + lost, len as u64, "{name}: {:?}", decoded.losses);
    let sessions = statistics.sessions;
    assert!(decoded.requests.iter().all(|request| request.session < sessions), "{name}");
}

/// The captures to begin with: those of the repository, and the smaller ones of the corpus.
fn captures() -> Vec<(PathBuf, Vec<u8>)> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let mut paths = vec![samples.join("shop-postgresql.pcap"), samples.join("shop-mysql.pcap")];
    if let Some(corpus) = corpus(1) {
        let directories = fs::read_dir(corpus.join("pcap")).expect("a directory").flatten();
        let files = directories.flat_map(|directory| fs::read_dir(directory.path()).into_iter().flatten().flatten());
        paths.extend(files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "pcap")));
    }
    paths.sort();
    let small = |path: PathBuf| {
        let bytes = fs::read(&path).ok().filter(|bytes| bytes.len() < 2 << 20)?;
        File::read(&bytes).map(|_| (path, bytes))
    };
    paths.into_iter().filter_map(small).collect()
}

fn mutilate(kind: usize, bytes: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let (Some(mut file), Some(other)) = (File::read(bytes), File::read(other)) else { panic!("read before") };
    let records = file.records.len();
    match kind {
        // cut anywhere behind the header
        0 => return bytes[..HEADER + dice.below(bytes.len() - HEADER)].to_vec(),
        // a few bits
        1 => {
            let mut bytes = bytes.to_vec();
            for _ in 0..1 + dice.below(40) {
                let at = HEADER + dice.below(bytes.len() - HEADER);
                bytes[at] ^= 1 << dice.below(8);
            }
            return bytes;
        }
        // records change places
        2 => (0..records).for_each(|at| file.records.swap(at, dice.below(records))),
        // records come again, a little later
        3 => {
            for at in (0..records).rev() {
                let record = file.records[at].clone();
                file.records.insert((at + 1 + dice.below(4)).min(file.records.len()), record);
            }
        }
        // another capture in between
        4 => {
            for record in other.records {
                file.records.insert(dice.below(file.records.len() + 1), record);
            }
        }
        // records are missing
        5 => file.records.retain(|_| dice.below(8) > 0),
        // records are cut by a snap length
        6 => {
            let snap = 40 + dice.below(200);
            for record in &mut file.records {
                record.truncate(RECORD + snap);
                let len = (record.len() - RECORD) as u32;
                record[8..12].copy_from_slice(&len.to_le_bytes());
            }
        }
        // and a piece of the file is missing
        _ => {
            let from = HEADER + dice.below(bytes.len() - HEADER);
            let to = (from + dice.below(3000)).min(bytes.len());
            return [&bytes[..from], &bytes[to..]].concat();
        }
    }
    file.bytes()
}

#[test]
fn whatever_happened_to_a_capture_all_of_it_is_accounted_for() {
    let captures = captures();
    let dir = dir();
    let mut dice = Dice(0x5eed);
    for (path, bytes) in &captures {
        for &engine in Engine::ALL {
            adds_up(&path.display().to_string(), &decode(engine, path, PORTS), bytes.len());
        }
    }
    for seed in 0..200 {
        let (path, bytes) = &captures[dice.below(captures.len())];
        let (_, other) = &captures[dice.below(captures.len())];
        let kind = seed % 8;
        let file = dir.path().join("mutilated.pcap");
        let mutilated = mutilate(kind, bytes, other, &mut dice);
        fs::write(&file, &mutilated).expect("can write");
        for &engine in Engine::ALL {
            let decoded = decode(engine, &file, PORTS);
            assert!(decoded.ended.is_ok(), "{:?}", decoded.ended);
            adds_up(&format!("{} {kind} {seed}", path.display()), &decoded, mutilated.len());
        }
    }
}

/// A capture in which every packet comes twice tells the same requests.
#[test]
fn a_capture_with_every_packet_twice_tells_the_same() {
    let told = |requests: &[Request]| -> Vec<_> {
        requests.iter().map(|r| (r.session, r.seq, r.kind, r.sql.clone(), r.params.len(), r.outcome, r.rows)).collect()
    };
    let dir = dir();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    for (name, engine, port) in
        [("shop-postgresql.pcap", Engine::Postgresql, 5432), ("shop-mysql.pcap", Engine::Mysql, 3306)]
    {
        let path = samples.join(name);
        let once = decode(engine, &path, &[port]);
        let mut file = File::read(&fs::read(&path).expect("reads")).expect("a pcap file");
        file.records = file.records.iter().flat_map(|record| [record.clone(), record.clone()]).collect();
        let doubled = dir.path().join("doubled.pcap");
        fs::write(&doubled, file.bytes()).expect("can write");
        let twice = decode(engine, &doubled, &[port]);
        assert!(!once.requests.is_empty());
        assert_eq!(told(&once.requests), told(&twice.requests), "{name}");
        assert_eq!(once.losses.iter().filter(|(loss, _)| loss.unit() != "packets").count(), 0, "{:?}", once.losses);
    }
}
