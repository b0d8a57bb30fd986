//! Third-party logs, read and compared with what was counted in them by other means.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss, Outcome, Request};

use super::scene::Log;
use crate::corpus::corpus;

/// What is in a file of the corpus.
pub struct File {
    pub path: &'static str,
    /// Requests that its entries tell of, by kind: `disconnect 1, query 3`.
    kinds: &'static str,
    /// Sessions with at least one of them.
    sessions: usize,
    /// Requests that failed or were cancelled.
    errors: usize,
    /// What is lost, exactly.
    losses: &'static [(Loss, u64)],
}

/// A file, what is in it, and what is lost.
pub const fn file(
    path: &'static str,
    kinds: &'static str,
    sessions: usize,
    errors: usize,
    losses: &'static [(Loss, u64)],
) -> File {
    File { path, kinds, sessions, errors, losses }
}

/// Reads each file of a table. `folder` is where they are in the corpus.
#[track_caller]
pub fn check(format: &str, folder: &str, files: &[File]) {
    let Some(corpus) = corpus(files.len()) else { return };
    let mut wrong = Vec::new();
    for file in files {
        let text = read(&corpus.join(folder).join(file.path));
        let log = Log::with(format, &Settings::default(), &[&text]);
        let expected = (file.kinds.to_owned(), file.sessions, file.errors, file.losses.to_vec());
        let found = (kinds(format, &log), sessions(&log), errors(&log), log.losses());
        if expected != found {
            wrong.push(format!("{}:\n  expected {expected:?}\n  found    {found:?}", file.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Requests by kind, without those that were made up.
#[track_caller]
pub fn kinds(format: &str, log: &Log) -> String {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let (made_up, told): (Vec<_>, Vec<_>) = log.rows.iter().partition(|row| is_made_up(format, row));
    assert_eq!(made_up.len() as u64, log.ended.statistics.made_up);
    for row in told {
        *count.entry(row.kind.to_string()).or_default() += 1;
    }
    count.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

/// A session that was joined midway has a start that was made up. A log that is written at the end of each request tells its
/// duration; a choice of the database or a preparation that it does not tell of has none. The other logs tell of both.
fn is_made_up(format: &str, row: &Request) -> bool {
    match row.kind {
        Kind::Connect => row.joined_midway,
        Kind::InitDb | Kind::Prepare | Kind::Close => {
            !matches!(format, "mysql-general" | "pgpool") && row.duration_ns.is_none()
        }
        _ => false,
    }
}

fn sessions(log: &Log) -> usize {
    log.rows.iter().map(|row| row.session).collect::<BTreeSet<_>>().len()
}

fn errors(log: &Log) -> usize {
    log.rows.iter().filter(|row| matches!(row.outcome, Outcome::Error | Outcome::Cancelled)).count()
}

/// The places of entries that are not read are those of their lines, counted by hand.
#[test]
fn what_is_not_read_is_named_by_its_place() {
    let csv = include_str!("samples/csv.log");
    let stderr = include_str!("samples/stderr.log");
    let slow = "x\n# Time: 2024-05-01T10:00:05.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0\n\
                SELECT 1;\n# Time: 2024-05-01T10:00:05.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1\nSELECT";
    let general = "FROM t\n260101 10:00:00\t    5 Query\tSELECT 1\n261301 10:00:00\t    5 Query\tin month 13\nmore\n\
                   260101 10:00:02\t    5 Query\tSELECT";
    let qla = "FROM t\nDate,User@Host,Query\n2024-05-01 10:00:00,a@h,SELECT 1\n2024-05-01 10:00:03,a@h,SEL\nECT";
    let json = "{\"client\":\"10\n{\"event\":\"x\"}\nnoise\n";
    use Loss::{LogMalformed as Malformed, LogTruncated as Truncated};
    for (format, text, expected) in [
        // Two lines before the first record, one after its two lines, and the first line of a record.
        (
            "postgresql-csv",
            format!("a\nb\n{csv}c\n2021-01-22 10:00:04.010 UTC,\"app"),
            vec![(Malformed, 1), (Malformed, 2), (Malformed, 7), (Truncated, 8)],
        ),
        (
            "postgresql-stderr",
            format!("noise\n{stderr}2021-01-22 10:00:05.000 UTC [8] app@shop LOG:  state"),
            vec![(Malformed, 1), (Truncated, 24)],
        ),
        ("mysql-slow", slow.to_owned(), vec![(Truncated, 1), (Truncated, 6)]),
        ("mysql-general", general.to_owned(), vec![(Truncated, 1), (Malformed, 3), (Truncated, 5)]),
        ("maxscale-qla", qla.to_owned(), vec![(Truncated, 1), (Truncated, 4)]),
        ("proxysql-json", json.to_owned(), vec![(Truncated, 1), (Malformed, 2), (Malformed, 3)]),
    ] {
        let log = Log::read(format, text);
        let places = log.ended.unread.iter().flat_map(|unread| {
            unread.places.iter().flat_map(|&(first, last)| (first..=last).map(|place| (unread.reason, place)))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_by_key(|&(_, place)| place);
        assert_eq!(places, expected, "{format}");
    }
    // The bytes in front of the one record of version 1.4, which ends the file.
    let binary = [
        &b"noise"[..],
        b"\x5f\0\0\0\0\0\0\0\0\x02\x04root\x09sampledb1\x0f127.0.0.1:46392\0\x0e127.0.0.1:3306\
        \xfe\x19\x8c6Qxo\x05\0\xfep\x8d6Qxo\x05\0\xfe\xd6\xeb\xa7_\x9dAdG\x12SELECT * FROM user",
        b"tail",
    ]
    .concat();
    let log = Log::read("proxysql-binary", &binary);
    let places: Vec<_> = log.ended.unread.iter().map(|unread| (unread.unit, unread.places.clone())).collect();
    assert_eq!(places, [("byte", vec![(0, 0), (108, 108)])]);
}

#[test]
fn no_log_of_the_corpus_is_left_out() {
    let Some(corpus) = corpus(1) else { return };
    let index = fs::read_to_string(corpus.join("INDEX.md")).expect("INDEX.md");
    let tables: [(&str, Vec<&str>); 5] = [
        ("mysql-slowlog/", super::mysql_slow_files::FILES.iter().map(|file| file.path).collect()),
        ("mysql-genlog/percona-percona-toolkit/", super::mysql_general::FILES.iter().map(|file| file.path).collect()),
        ("maxscale-qla/web/", super::maxscale::FILES.iter().map(|file| file.path).collect()),
        ("pgpool-log/", super::pgpool::files().collect()),
        ("proxysql/", super::proxysql::files().collect()),
    ];
    for (folder, table) in tables {
        let first = folder.split('/').next().expect("a folder");
        let listed: Vec<_> = index
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(' ').next())
            .filter(|path| path.split('/').next() == Some(first))
            .collect();
        assert!(!listed.is_empty(), "{folder}");
        for path in listed {
            // A table names its files as they are in its folder, or in one folder below.
            let is_it = |file: &&str| {
                path.strip_prefix(folder)
                    .is_some_and(|rest| rest == *file || rest.split_once('/').is_some_and(|(_, rest)| rest == *file))
            };
            assert!(table.iter().any(is_it), "{path}");
        }
    }
}
