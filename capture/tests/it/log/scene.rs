//! What the tests of every log format share.

use std::io::Cursor;
use std::path::PathBuf;

use splitproof_capture::log::{Ended, Format, Settings};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Kind, Loss, Request};

/// What became of a log.
pub struct Log {
    /// The rows in the order of a trace: start, session, number.
    pub rows: Vec<Request>,
    pub ended: Ended,
}

impl Log {
    /// Reads a log from memory, and checks that every entry is accounted for.
    #[track_caller]
    pub fn read(format: &str, text: impl AsRef<[u8]>) -> Self {
        Self::with(format, &Settings::default(), &[text.as_ref()])
    }

    /// The same of several files.
    #[track_caller]
    pub fn with(format: &str, settings: &Settings, texts: &[&[u8]]) -> Self {
        let format = Format::from_name(format).expect("a log format");
        let logs = texts.iter().enumerate().map(|(number, text)| {
            (PathBuf::from(format!("{number}.log")), Box::new(Cursor::new(text.to_vec())) as Box<dyn std::io::Read>)
        });
        let mut rows = Vec::new();
        let ended = format.read(settings, logs.collect(), &Shared::new(format.engine()), &mut rows);
        assert_eq!(ended.contradiction(rows.len() as u64), None);
        if format != Format::ProxysqlBinary && ended.damaged.is_empty() && !texts.iter().any(|text| is_packed(text)) {
            let lines = |text: &&[u8]| text.split(|&byte| byte == b'\n').count() as u64 - u64::from(ends(text));
            assert_eq!(ended.statistics.lines, texts.iter().map(lines).sum::<u64>());
        }
        in_order(&mut rows);
        Log { rows, ended }
    }

    /// The rows of one kind.
    pub fn of(&self, kind: Kind) -> Vec<&Request> {
        self.rows.iter().filter(|row| row.kind == kind).collect()
    }

    /// Everything that was lost.
    pub fn losses(&self) -> Vec<(Loss, u64)> {
        self.ended.losses.iter().collect()
    }

    /// One line a row: what the trace says of it, as far as it is told.
    pub fn lines(&self) -> Vec<String> {
        self.rows.iter().map(line).collect()
    }
}

/// Whether there is nothing behind the last newline.
fn ends(text: &[u8]) -> bool {
    text.is_empty() || text.ends_with(b"\n")
}

fn is_packed(text: &[u8]) -> bool {
    text.starts_with(b"\x1f\x8b") || text.starts_with(b"\x28\xb5\x2f\xfd")
}

/// A text log with the prefix `%m [%c] app@shop `, of lines at milliseconds after 2021-01-22 10:00 UTC. A line without a
/// session is the server's own.
pub fn stderr(lines: &[(u32, &str, &str)]) -> String {
    let line = |&(ms, session, text): &(u32, &str, &str)| {
        let whose = if session.is_empty() { "[1]".to_owned() } else { format!("c={session} app@shop") };
        format!("2021-01-22 10:00:{:02}.{:03} UTC {whose} {}\n", ms / 1000, ms % 1000, text.replace('\n', "\n\t"))
    };
    lines.iter().map(line).collect()
}

/// Sorts rows as a trace does, and checks that those of each session are in order and complete.
#[track_caller]
pub fn in_order(rows: &mut [Request]) {
    rows.sort_by_key(|row| (row.start_ns, row.session, row.seq));
    let mut next = std::collections::HashMap::new();
    for row in rows {
        let next = next.entry(row.session).or_insert(0);
        assert_eq!(row.seq, *next, "session {}: {row:?}", row.session);
        *next += 1;
    }
}

fn line(row: &Request) -> String {
    let mut line = format!("{}.{} {} {}", row.session, row.seq, row.kind, row.messages);
    let mut add = |text: String| {
        line.push(' ');
        line.push_str(&text);
    };
    if let Some(statement) = &row.statement {
        add(format!("[{statement}]"));
    }
    if let Some(sql) = &row.sql {
        add(format!("{sql:?}"));
    }
    if !row.params.is_empty() {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let params: Vec<_> = row.params.iter().map(|param| param.value.as_deref().map(text)).collect();
        add(format!("{params:?}"));
    }
    if let Some(duration_ns) = row.duration_ns {
        add(format!("{} us", duration_ns / 1000));
    }
    add(row.outcome.to_string());
    if let Some(code) = &row.error_code {
        add(code.to_string());
    }
    line
}
