//! Any bytes as a log: nothing panics, every entry is accounted for, and the rows of a session are in order.
//!
//! The input is a byte that chooses one of the family's formats, one that cuts the log in two files where it is 128 or more,
//! and the log. Each family of formats is a target of its own.

#![allow(dead_code, reason = "each target reads one family")]

use std::collections::HashMap;
use std::io::Cursor;
use std::path::PathBuf;

use splitproof_capture::log::{Format, Settings};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::Request;

/// PostgreSQL's logs.
pub const POSTGRESQL: &[Format] = &[Format::PostgresqlCsv, Format::PostgresqlJson, Format::PostgresqlStderr];
/// Logs of MySQL, MariaDB and Percona Server.
pub const MYSQL: &[Format] = &[Format::MysqlGeneral, Format::MysqlSlow];
/// Logs of routers.
pub const ROUTERS: &[Format] = &[Format::ProxysqlJson, Format::ProxysqlBinary, Format::MaxscaleQla, Format::Pgpool];

/// Reads the input as a log of one of these formats.
pub fn read(family: &[Format], input: &[u8]) {
    let Some((&[choice, cut], text)) = input.split_first_chunk() else { return };
    let Some(format) = family.get(usize::from(choice) % family.len()) else { return };
    let (first, second) = text.split_at(if cut < 128 { text.len() } else { usize::from(cut).min(text.len()) });
    let logs = [first, second].map(|text| {
        let log: Box<dyn std::io::Read> = Box::new(Cursor::new(text.to_vec()));
        (PathBuf::from("fuzz.log"), log)
    });
    let mut rows: Vec<Request> = Vec::new();
    let ended = format.read(&Settings::default(), logs.into(), &Shared::new(format.engine()), &mut rows);
    assert_eq!(ended.contradiction(rows.len() as u64), None);
    rows.sort_by_key(|row| (row.start_ns, row.session, row.seq));
    let mut next = HashMap::new();
    for row in rows {
        let next = next.entry(row.session).or_insert(0);
        assert_eq!(row.seq, *next);
        *next += 1;
    }
}
