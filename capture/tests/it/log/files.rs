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
