//! csvlog: <https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-CSVLOG>

use std::ops::Range;

use super::conversation::Conversations;
use super::entry::{Entry, Severity};
use super::stamp::Stamp;
use crate::log::time::{Ticks, Times};
use crate::log::{Input, Reader, Records, Settings};
use crate::trace::Loss;

/// What one record may hold. A quote that is never closed takes everything for text up to here.
const RECORD_LIMIT: usize = 64 << 20;
/// Times have milliseconds.
const RESOLUTION_NS: i64 = 1_000_000;
/// Columns of the oldest version; later ones added to the end: 23 since 9.0, 24 in 13, 26 since 14.
const COLUMNS: usize = 22;

/// Reads csvlog of any version. Columns are taken by their place, so that a version with more of them is read, too.
pub(crate) struct Csv {
    times: Times,
    ticks: Ticks,
    conversations: Conversations,
    /// Lines that are not yet a whole record, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    /// Number of the line that is at `start`, and of those that are counted from there on.
    line: u64,
    lines: u64,
    /// How far quotes are counted, and whether their number is odd there.
    counted: usize,
    open: bool,
    fields: Fields,
}

impl Csv {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        Csv {
            times: Times::new(settings.zone.clone()),
            ticks: Ticks::default(),
            conversations: Conversations::default(),
            buffer: Vec::new(),
            start: 0,
            line: 1,
            lines: 0,
            counted: 0,
            open: false,
            fields: Fields::default(),
        }
    }

    /// Takes every record out of the buffer that is whole.
    fn take(&mut self, input: &Input, out: &mut Records<'_>) {
        while let Some(end) = self.record_end() {
            let is_whole = self.record(self.start..end, input, out);
            if is_whole {
                self.advance(end, self.lines);
            } else {
                self.resync(input, out);
            }
        }
        if self.buffer.len() - self.start > RECORD_LIMIT {
            self.resync(input, out);
        }
    }

    /// The end of the first record in the buffer, after its newline: the first one outside of quotes.
    fn record_end(&mut self) -> Option<usize> {
        loop {
            let rest = self.buffer.get(self.counted..)?;
            let line = memchr::memchr(b'\n', rest)? + 1;
            let quotes = memchr::memchr_iter(b'"', rest.get(..line)?).count();
            self.open ^= quotes % 2 == 1;
            self.counted += line;
            self.lines += 1;
            if !self.open {
                return Some(self.counted);
            }
        }
    }

    fn advance(&mut self, to: usize, lines: u64) {
        (self.start, self.counted, self.open) = (to, to, false);
        (self.line, self.lines) = (self.line + lines, 0);
        // Moving the rest to the front each time would cost more than the reading.
        if self.start * 2 > self.buffer.len() {
            self.buffer.drain(..self.start);
            (self.start, self.counted) = (0, 0);
        }
    }

    /// Gives up what begins the buffer, up to the next line that looks like a record.
    fn resync(&mut self, input: &Input, out: &mut Records<'_>) {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        out.entry(input, None);
        out.began_at(self.line);
        out.lost(if begins_record(rest) { Loss::LogTruncated } else { Loss::LogMalformed });
        let mut passed = 0;
        let mut lines = memchr::memchr_iter(b'\n', rest).map(|at| at + 1).inspect(|_| passed += 1);
        let next = lines.find(|&at| rest.get(at..).is_some_and(begins_record)).unwrap_or(rest.len());
        self.advance(self.start + next, passed);
    }

    /// Reads a record; false where it is none.
    fn record(&mut self, range: Range<usize>, input: &Input, out: &mut Records<'_>) -> bool {
        let Some(bytes) = self.buffer.get(range) else { return false };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if !self.fields.split(bytes) || self.fields.ranges.len() < COLUMNS {
            return false;
        }
        let field = |index: usize| self.fields.get(index);
        let times = &mut self.times;
        let mut time = |index: usize| Some(Stamp::read(self.fields.get(index)?)?.resolve(times)?.0);
        let Some(stamp_ns) = time(0) else { return false };
        let Some(severity) = field(11).map(|word| Severity::told(word, field(12))) else { return false };
        let is_known = field(5).is_some_and(|session| self.conversations.has_begun(session));
        let session_start_ns = if is_known { None } else { time(8) };
        let at_ns = self.ticks.next(stamp_ns, RESOLUTION_NS);
        let entry = Entry {
            at_ns,
            session_start_ns,
            user: field(1),
            database: field(2),
            pid: field(3),
            client: field(4),
            session: field(5),
            tag: field(7),
            severity,
            code: field(12),
            message: field(13).unwrap_or_default(),
            detail: field(14),
            context: field(18),
            statement: field(19),
            application: field(22),
            backend: field(23),
        };
        out.entry(input, Some(at_ns));
        self.conversations.entry(&entry, out);
        true
    }
}

impl Reader for Csv {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        self.line = 1;
        while let Some(line) = input.line() {
            let ended = line.ended;
            self.buffer.extend_from_slice(line.bytes);
            // The last line of a file that is still written has no end.
            if ended {
                self.buffer.push(b'\n');
                self.take(input, out);
            }
        }
        // What is left is a record that was cut off, or ends without a newline. There may be whole ones behind a quote that
        // was never closed.
        while self.start < self.buffer.len() {
            let range = self.start..self.buffer.len();
            let end = range.end;
            if self.record(range, input, out) {
                self.advance(end, self.lines);
                continue;
            }
            self.resync(input, out);
            self.take(input, out);
        }
        self.advance(self.buffer.len(), 0);
        self.conversations.end_of_file(input, out);
        if let Some(what) = self.times.unknown_zone() {
            out.problem(input.path(), what);
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }
}

/// Whether a line begins as records do: with a time and a comma.
fn begins_record(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let form = b"0000-00-00 00:00:00";
    let is_time = line.get(..form.len()).is_some_and(|head| {
        head.iter().zip(form).all(|(&byte, &like)| if like == b'0' { byte.is_ascii_digit() } else { byte == like })
    });
    is_time && line.get(form.len()..).is_some_and(|rest| memchr::memchr(b',', rest.get(..40).unwrap_or(rest)).is_some())
}

/// The fields of one record.
#[derive(Debug, Default)]
struct Fields {
    /// Their contents without quotes.
    text: Vec<u8>,
    /// Where each is; `None` is NULL, which is nothing between two commas.
    ranges: Vec<Option<Range<usize>>>,
}

impl Fields {
    fn get(&self, index: usize) -> Option<&[u8]> {
        self.text.get(self.ranges.get(index)?.clone()?)
    }

    /// Splits a record. False where it is not CSV, or holds a zero byte, as no text of PostgreSQL does.
    fn split(&mut self, record: &[u8]) -> bool {
        self.text.clear();
        self.ranges.clear();
        let mut rest = record;
        loop {
            let start = self.text.len();
            if let Some(quoted) = rest.strip_prefix(b"\"") {
                rest = quoted;
                loop {
                    let Some(end) = memchr::memchr(b'"', rest) else { return false };
                    self.text.extend_from_slice(rest.get(..end).unwrap_or_default());
                    rest = rest.get(end + 1..).unwrap_or_default();
                    match rest.strip_prefix(b"\"") {
                        Some(after) => {
                            self.text.push(b'"');
                            rest = after;
                        }
                        None => break,
                    }
                }
                self.ranges.push(Some(start..self.text.len()));
            } else {
                let end = memchr::memchr3(b',', b'"', b'\n', rest).unwrap_or(rest.len());
                self.text.extend_from_slice(rest.get(..end).unwrap_or_default());
                rest = rest.get(end..).unwrap_or_default();
                self.ranges.push((end > 0).then_some(start..self.text.len()));
            }
            match rest {
                [] => return memchr::memchr(0, &self.text).is_none(),
                [b',', after @ ..] => rest = after,
                _ => return false,
            }
        }
    }
}
