//! Any bytes as the log of one format: nothing panics, every entry is accounted for, and the rows of a session are in order.
//! Each format is a target of its own, which is this file with another name.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::PathBuf;

use splitproof_capture::log::{Format, Settings};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::Request;

/// Reads the input, cut in two files where its first byte says so.
pub fn read(format: &str, input: &[u8]) {
    let format = Format::from_name(format).expect("a log format");
    let (cut, text) = input.split_first().map_or((0, input), |(cut, text)| (usize::from(*cut), text));
    let (first, second) = text.split_at(if cut < 128 { text.len() } else { cut.min(text.len()) });
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
