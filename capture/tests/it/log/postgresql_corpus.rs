//! Third-party PostgreSQL logs, each by the format that it is in.
//!
//! The numbers stand here from readings that have nothing to do with this program: what the program says that the file came
//! with, or a count of the lines (`grep`, Python's `csv` and `json`) with the reason beside it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss, Outcome};

use super::scene::Log;
use crate::corpus::corpus;

/// A file, and what it holds.
struct File {
    name: &'static str,
    format: &'static str,
    /// Statements that ran or failed; with bind and execute counted once, and a parse not at all.
    statements: usize,
    /// Parse messages that the log tells of.
    parses: usize,
    sessions: usize,
    /// Statements and connections that failed.
    errors: usize,
    losses: &'static [(Loss, u64)],
}

const fn csv(name: &'static str, statements: usize, sessions: usize) -> File {
    File { name, format: "postgresql-csv", statements, parses: 0, sessions, errors: 0, losses: &[] }
}

const fn text(name: &'static str, statements: usize, sessions: usize) -> File {
    File { format: "postgresql-stderr", ..csv(name, statements, sessions) }
}

const fn json(name: &'static str, statements: usize, sessions: usize) -> File {
    File { format: "postgresql-json", ..csv(name, statements, sessions) }
}

use Loss::{
    LogConnection as Connection, LogCopyData, LogDuration, LogFastpath, LogForeign, LogMalformed, LogMessage,
    LogServer, LogTruncated,
};

/// Every log of the corpus's folder `pglog`.
const FILES: &[File] = &[
    // 8 records: 5 executes, and 3 binds of theirs
    csv("darold-pgbadger/anonymize.log", 5, 3),
    csv("darold-pgbadger/csv_statement_without_duration.log", 2, 2),
    csv("darold-pgbadger/weeknumber.log", 6, 1),
    csv("elastic-beats/postgresql-11-multi-line.csv.log", 1, 1),
    // 14 records: 7 statements, 3 of the connection, 4 of the server's start
    File { losses: &[(LogServer, 4)], ..csv("elastic-beats/postgresql-13.csv.log", 7, 1) },
    csv("web/issues-samples.csv", 2, 2),
    // 3544 objects, all of autovacuum
    File { losses: &[(LogServer, 3544)], ..json("darold-pgbadger/pg_vacuums.json.gz", 0, 0) },
    // 2022 objects, newest first: 400 statements with a duration and 4 that failed; 382 sessions (received, authorized,
    // disconnected) and one refused; of 4 replication sessions "received", "authenticated", "replication connection
    // authorized", and 3 "disconnection"; 26 of the server's processes; 47 of the operator's own
    File {
        errors: 5,
        losses: &[(LogServer, 26), (Connection, 4 + 4 + 4 + 3), (LogForeign, 47)],
        ..json("darold-pgbadger/cnpg.log.gz", 404, 383)
    },
    // 1343 objects: 1268 entries with 75 further lines; by process: 399 sessions with "authorized", 3 without their
    // beginning, one refused, less one that is counted twice by an "authorized" alone; one only "received"; 68 of the server
    File { errors: 1, losses: &[(LogServer, 68), (Connection, 1)], ..json("darold-pgbadger/cloudsql.log.gz", 1, 402) },
    text("darold-pgbadger/begin_end.log", 0, 8),
    // 175 processes
    File { losses: &[(LogServer, 1)], ..text("darold-pgbadger/light.postgres.log.bz2", 629, 175) },
    // 3 simple statements and 2 executions
    File { parses: 1, ..text("darold-pgbadger/multiline_param.log", 5, 1) },
    text("darold-pgbadger/pg-timezones.log", 2, 2),
    // 2 lines of pg_ctl; LOG of the server 6 times and FATAL of its configuration once
    File { errors: 2, losses: &[(LogServer, 7), (LogMalformed, 2)], ..text("darold-pgbadger/pg_rawcsv.log", 2, 1) },
    File { losses: &[(LogServer, 3544)], ..text("darold-pgbadger/pg_vacuums.log.gz", 0, 0) },
    text("darold-pgbadger/postgresql_param_range.log", 3, 3),
    // 20 with a duration and 3 ERROR; 5 temporary files and waits for a lock
    File { errors: 3, losses: &[(LogMessage, 5)], ..text("darold-pgbadger/queryid.log.gz", 23, 5) },
    // 121 processes with a statement or, 2 of them, "no pg_hba.conf entry"; 8 LOG of the server
    File { errors: 2, losses: &[(LogServer, 8)], ..text("darold-pgbadger/rds.log.bz2", 114_594, 121) },
    text("darold-pgbadger/stmt_type.log", 12, 12),
    // 78 checkpoints, 21 autovacuum; 5 temporary files, 2 "unexpected EOF"
    File { losses: &[(LogServer, 99), (LogMessage, 7)], ..text("darold-pgbadger/tempfile_only.log.gz", 65, 7) },
    // not PostgreSQL's: lines of pgbouncer, as `wc -l` counts them
    File { losses: &[(LogMalformed, 127_910)], ..text("darold-pgbadger/pgbouncer.log.gz", 0, 0) },
    File { losses: &[(LogMalformed, 100_000)], ..text("darold-pgbadger/pgbouncer.1.21.log.gz", 0, 0) },
    // 59871 "duration … statement"; LOG of the server 5 times, "incomplete startup packet" by somebody unknown, whose
    // connection was only received; 3 lines of systemd
    File {
        losses: &[(LogServer, 5), (Connection, 1), (LogMessage, 1), (LogForeign, 3)],
        ..text("darold-pgbadger/pg-syslog.1.bz2", 59_871, 6)
    },
    File {
        losses: &[(LogServer, 5), (Connection, 1), (LogMessage, 1), (LogForeign, 3)],
        ..text("darold-pgbadger/pg-syslog.2.gz", 59_871, 6)
    },
    // 3 "duration … statement", one "duration … execute", one ERROR (deadlock) of 5 processes; 5 waits for a lock
    File { errors: 1, losses: &[(LogMessage, 5)], ..text("darold-pgbadger/logplex.gz", 5, 5) },
    File { parses: 1, ..text("elastic-beats/postgresql-query-steps-slowlog.log", 1, 1) },
    // as single_user.json tells: 5 BoundExecute and 2 Statement
    File { parses: 5, ..text("gocardless-pgreplay-go/single_user.log", 7, 1) },
    // as parse_err.exp tells: 4 parametrized and 2 named executions, 19 simple statements that are 14 and the 5 fast-path
    // calls, 3 "SET client_encoding" that it leaves out, a COPY, a cancel request (here a session of its own). One connection
    // is only received; 2 ERROR and a FATAL; 9 lines with an empty user and database; 123 of memory contexts
    File {
        errors: 3,
        losses: &[
            (LogServer, 9),
            (Connection, 1),
            (LogMessage, 1),
            (LogMalformed, 123),
            (LogFastpath, 5),
            (LogCopyData, 1),
        ],
        ..text("laurenz-pgreplay/errlog", 6 + 14 + 3, 5)
    },
    File { parses: 1, ..text("web/issues-samples.log", 2, 3) },
    text("percona-percona-toolkit/pg-log-001.txt", 2, 1),
    text("percona-percona-toolkit/pg-log-003.txt", 3, 1),
    text("percona-percona-toolkit/pg-log-004.txt", 1, 1),
    text("percona-percona-toolkit/pg-log-005.txt", 3, 1),
    File { errors: 1, ..text("percona-percona-toolkit/pg-log-006.txt", 3, 1) },
    text("percona-percona-toolkit/pg-log-008.txt", 0, 1),
    // 11 LOG of the server, and "postmaster starting"
    File { losses: &[(LogServer, 11), (LogMalformed, 1)], ..text("percona-percona-toolkit/pg-log-010.txt", 884, 1) },
    // its last line has no end, so that it may be cut
    File { losses: &[(LogTruncated, 1)], ..text("percona-percona-toolkit/pg-syslog-001.txt", 1, 1) },
    File { errors: 1, ..text("percona-percona-toolkit/pg-syslog-002.txt", 2, 1) },
    text("percona-percona-toolkit/pg-syslog-003.txt", 1, 1),
    text("percona-percona-toolkit/pg-syslog-004.txt", 1, 1),
    text("percona-percona-toolkit/pg-syslog-005.txt", 1, 1),
    File { errors: 1, ..text("percona-percona-toolkit/pg-syslog-007.txt", 4, 1) },
    // processes 7622, 9180, 9184 and 9186
    File { errors: 1, ..text("percona-percona-toolkit/pg-syslog-008.txt", 15, 4) },
    text("percona-percona-toolkit/pg-syslog-009.txt", 1003, 13),
    // 3 durations without a statement, each after one that has its own
    File { losses: &[(LogDuration, 3)], ..text("percona-percona-toolkit/pg-syslog-010.txt", 2, 1) },
];

/// The contents of a file, which may be packed. bzip2 is not read by the program itself.
pub fn contents(path: &Path) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "bz2") {
        return Some(fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    match Command::new("bzip2").arg("-dc").arg(path).output() {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            writeln!(std::io::stderr(), "skipped: 1 (bzip2 cannot unpack {})", path.display()).expect("standard error");
            None
        }
    }
}

#[test]
fn every_log_holds_what_others_say_it_holds() {
    let Some(corpus) = corpus(FILES.len()) else { return };
    let mut wrong = Vec::new();
    for file in FILES {
        let Some(bytes) = contents(&corpus.join("pglog").join(file.name)) else { continue };
        let log = Log::with(file.format, &Settings { year: Some(2019), ..Settings::default() }, &[&bytes]);
        let statements = [Kind::Query, Kind::Execute, Kind::Fetch, Kind::Copy].map(|kind| log.of(kind).len());
        let failed = |outcome| matches!(outcome, Outcome::Error | Outcome::Cancelled);
        let mut sessions: Vec<u64> = log.rows.iter().map(|row| row.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let found = [
            statements.iter().sum(),
            log.of(Kind::Prepare).iter().filter(|row| row.duration_ns.is_some()).count(),
            sessions.len(),
            log.rows.iter().filter(|row| failed(row.outcome)).count(),
        ];
        let expected = [file.statements, file.parses, file.sessions, file.errors];
        if found != expected {
            wrong.push(format!("{}: statements, parses, sessions, errors {found:?}, expected {expected:?}", file.name));
        }
        if log.losses() != file.losses {
            wrong.push(format!("{}: lost {:?}, expected {:?}", file.name, log.losses(), file.losses));
        }
        println!("{} {:?}", file.name, log.ended.statistics);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_log_of_the_corpus_is_left_out() {
    let Some(corpus) = corpus(1) else { return };
    let index = fs::read_to_string(corpus.join("INDEX.md")).expect("INDEX.md");
    // Beside the logs there are the expected outputs of other programs, and a schema.
    let is_log = |name: &&str| !name.ends_with(".exp") && !name.ends_with(".sql") && !name.ends_with("/replayfile");
    let listed = index.lines().filter_map(|line| line.strip_prefix("| pglog/")?.split(' ').next());
    let left_out: Vec<&str> = listed
        .filter(is_log)
        .filter(|name| *name != "gocardless-pgreplay-go/single_user.json")
        .filter(|name| FILES.iter().all(|file| file.name != *name))
        .collect();
    assert_eq!(left_out, [""; 0]);
}

/// What pgreplay-go reads from its own sample, entry by entry.
#[test]
fn statements_and_parameters_are_those_that_pgreplay_go_reads() {
    let Some(corpus) = corpus(1) else { return };
    let dir = corpus.join("pglog/gocardless-pgreplay-go");
    let log = Log::read("postgresql-stderr", fs::read(dir.join("single_user.log")).expect("the log"));
    let theirs = fs::read_to_string(dir.join("single_user.json")).expect("what it expects");
    let theirs: Vec<_> = theirs
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|item| {
            let text = |name: &str| item["item"][name].as_str().map(|text| text.trim().to_owned());
            let values = item["item"]["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
            let values: Vec<String> = values.iter().filter_map(|value| Some(value.as_str()?.to_owned())).collect();
            (
                item["type"].as_str().unwrap_or_default().to_owned(),
                text("query"),
                values,
                text("user"),
                text("database"),
            )
        })
        .collect();
    let ours: Vec<_> = log
        .rows
        .iter()
        .filter(|row| row.kind != Kind::Prepare)
        .map(|row| {
            let kind = match row.kind {
                Kind::Connect => "Connect",
                Kind::Query => "Statement",
                Kind::Execute => "BoundExecute",
                Kind::Disconnect => "Disconnect",
                _ => "other",
            };
            let values = row.params.iter().filter_map(|param| param.value.as_deref());
            let values = values.map(|value| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>();
            let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(|text| text.trim().to_owned());
            (kind.to_owned(), text(&row.sql), values, text(&row.user), text(&row.database))
        })
        .collect();
    assert_eq!(ours, theirs);
}
