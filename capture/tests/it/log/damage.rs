//! Logs that are cut, garbled, shuffled, doubled and mixed never panic, and every entry is accounted for.

use std::fs;

use splitproof_capture::log::{Format, Settings};

use super::postgresql_corpus::contents;
use super::scene::Log;
use crate::corpus::corpus;

/// Logs of the corpus beyond this are damaged less often than the others: it takes long.
const SMALL: usize = 64 << 10;

/// Damaged logs.
const TIMES: usize = 200;

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { usize::try_from(self.next() % limit as u64).expect("small") }
    }
}

/// One way to spoil a log.
pub fn spoil(log: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
    match random.below(7) {
        0 => log[..random.below(log.len() + 1)].to_vec(),
        1 => log[random.below(log.len() + 1)..].to_vec(),
        2 => {
            let mut log = log.to_vec();
            for _ in 0..1 + random.below(20) {
                let at = random.below(log.len());
                if let Some(byte) = log.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            log
        }
        3 => {
            for at in (1..lines.len()).rev() {
                lines.swap(at, random.below(at + 1));
            }
            lines.concat()
        }
        4 => {
            let from = random.below(lines.len());
            let copy = lines[from..].to_vec();
            lines.extend(copy);
            lines.concat()
        }
        5 => {
            let mut others = other.split_inclusive(|&byte| byte == b'\n');
            let mut mixed = Vec::new();
            for line in lines {
                mixed.extend_from_slice(line);
                if random.below(2) == 0 {
                    mixed.extend_from_slice(others.next().unwrap_or_default());
                }
            }
            mixed
        }
        _ => {
            let (at, length) = (random.below(log.len()), random.below(200));
            [&log[..at], &log[(at + length).min(log.len())..]].concat()
        }
    }
}

/// Logs to damage, each with its format: a few lines of ours, and those of the corpus.
fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let mut logs = vec![
        ("postgresql-stderr", include_bytes!("samples/stderr.log").to_vec()),
        ("postgresql-stderr", include_bytes!("samples/syslog.log").to_vec()),
        ("postgresql-csv", include_bytes!("samples/csv.log").to_vec()),
        ("postgresql-json", include_bytes!("samples/json.log").to_vec()),
    ];
    let Some(corpus) = corpus(1) else { return logs };
    for directory in fs::read_dir(corpus.join("pglog")).expect("a directory") {
        for file in fs::read_dir(directory.expect("an entry").path()).expect("a directory") {
            let path = file.expect("an entry").path();
            let name = path.to_string_lossy().into_owned();
            let format = match () {
                () if name.ends_with(".exp") || name.ends_with(".sql") || name.contains("pgbouncer") => continue,
                () if name.contains("csv") || name.contains("weeknumber") || name.contains("anonymize") => {
                    "postgresql-csv"
                }
                () if name.contains("json") || name.contains("cnpg") || name.contains("cloudsql") => "postgresql-json",
                () => "postgresql-stderr",
            };
            let Some(bytes) = contents(&path).filter(|bytes| bytes.len() < 1 << 20) else { continue };
            logs.push((format, bytes));
        }
    }
    logs
}

#[test]
fn damage_is_counted_and_never_more() {
    let logs = logs();
    let mut random = Random(0x5eed_1095);
    let mut times = 0;
    for turn in 0.. {
        if times == TIMES {
            break;
        }
        let (format, log) = &logs[turn % logs.len()];
        if log.len() > SMALL && turn >= logs.len() {
            continue;
        }
        let (_, other) = &logs[random.below(logs.len())];
        let mut spoiled = spoil(log, &other[..other.len().min(SMALL)], &mut random);
        if random.below(4) == 0 {
            spoiled = spoil(&spoiled, &other[..other.len().min(SMALL)], &mut random);
        }
        // As what it is, and as what it is not.
        Log::read(format, &spoiled);
        if spoiled.len() < SMALL {
            for format in Format::ALL {
                Log::read(format.name(), &spoiled);
            }
        }
        times += 1;
    }
}

#[test]
fn a_cut_at_any_line_and_at_any_byte_is_accounted_for() {
    for (format, log) in logs().iter().filter(|(_, log)| log.len() < 8 << 10) {
        let lines = memchr::memchr_iter(b'\n', log).map(|at| at + 1);
        let anywhere = (0..log.len()).step_by(37);
        for at in lines.chain(anywhere) {
            let whole = Log::read(format, log);
            let head = Log::read(format, &log[..at]);
            Log::read(format, &log[at..]);
            Log::with(format, &Settings::default(), &[&log[..at], &log[at..]]);
            // An entry that was cut at the end of a line looks whole. It may then not be what was prepared before it, so that
            // its preparation is made up.
            assert!(head.rows.len() <= whole.rows.len() + 2, "{format} cut at {at}");
        }
    }
}
