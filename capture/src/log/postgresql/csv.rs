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
    fn take(&mut self, out: &mut Records<'_>) {
        while let Some(end) = self.record_end() {
            let is_whole = self.buffered(self.start..end, out);
            if is_whole {
                self.advance(end, self.lines);
            } else {
                self.resync(out);
            }
        }
        if self.buffer.len() - self.start > RECORD_LIMIT {
            self.resync(out);
        }
    }

    /// The end of the first record in the buffer, after its newline: the first one outside of quotes.
    fn record_end(&mut self) -> Option<usize> {
        loop {
            let rest = self.buffer.get(self.counted..)?;
            let line = memchr::memchr(b'\n', rest)? + 1;
            self.open ^= has_open_quote(rest.get(..line)?);
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
    fn resync(&mut self, out: &mut Records<'_>) {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        out.entry(None);
        out.began_at(self.line);
        out.lost(if begins_record(rest) { Loss::LogTruncated } else { Loss::LogMalformed });
        let mut passed = 0;
        let mut lines = memchr::memchr_iter(b'\n', rest).map(|at| at + 1).inspect(|_| passed += 1);
        let next = lines.find(|&at| rest.get(at..).is_some_and(begins_record)).unwrap_or(rest.len());
        self.advance(self.start + next, passed);
    }

    /// Reads a record in the buffer; false where it is none.
    fn buffered(&mut self, range: Range<usize>, out: &mut Records<'_>) -> bool {
        let buffer = std::mem::take(&mut self.buffer);
        let bytes = buffer.get(range).unwrap_or_default();
        let is_record = self.record(bytes.strip_suffix(b"\n").unwrap_or(bytes), out);
        self.buffer = buffer;
        is_record
    }

    /// Reads a record; false where it is none.
    fn record(&mut self, bytes: &[u8], out: &mut Records<'_>) -> bool {
        if !self.fields.split(bytes) || self.fields.places.len() < COLUMNS {
            return false;
        }
        let field = |index: usize| self.fields.get(index, bytes);
        let times = &mut self.times;
        let mut time = |index: usize| Some(Stamp::read(field(index)?)?.resolve(times)?.0);
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
        out.entry(Some(at_ns));
        self.conversations.entry(&entry, out);
        true
    }
}

impl Reader for Csv {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        self.line = 1;
        input.each_line(out, |line, out| {
            // Most records are a line, which need not be kept.
            let is_whole = line.ended && self.start == self.buffer.len() && !has_open_quote(line.bytes);
            if is_whole && self.record(line.bytes, out) {
                self.line += 1;
                return;
            }
            self.buffer.extend_from_slice(line.bytes);
            // The last line of a file that is still written has no end.
            if line.ended {
                self.buffer.push(b'\n');
                self.take(out);
            }
        });
        // What is left is a record that was cut off, or ends without a newline. There may be whole ones behind a quote that
        // was never closed.
        while self.start < self.buffer.len() {
            let range = self.start..self.buffer.len();
            let end = range.end;
            if self.buffered(range, out) {
                self.advance(end, self.lines);
                continue;
            }
            self.resync(out);
            self.take(out);
        }
        self.advance(self.buffer.len(), 0);
        self.conversations.end_of_file(out);
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }
}

/// Whether there is an odd number of quotes.
fn has_open_quote(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'"', bytes).count() % 2 == 1
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

/// Where the fields of one record are.
#[derive(Debug, Default)]
struct Fields {
    places: Vec<Place>,
    /// Contents in which quotes were doubled.
    text: Vec<u8>,
}

#[derive(Debug)]
enum Place {
    /// Nothing between two commas.
    Null,
    Record(Range<usize>),
    Text(Range<usize>),
}

impl Fields {
    /// The contents of a field; `None` for NULL.
    fn get<'a>(&'a self, index: usize, record: &'a [u8]) -> Option<&'a [u8]> {
        match self.places.get(index)? {
            Place::Null => None,
            Place::Record(range) => record.get(range.clone()),
            Place::Text(range) => self.text.get(range.clone()),
        }
    }

    /// Splits a record. False where it is not CSV, or holds a zero byte, as no text of PostgreSQL does.
    fn split(&mut self, record: &[u8]) -> bool {
        self.text.clear();
        self.places.clear();
        let mut at = 0;
        loop {
            let rest = record.get(at..).unwrap_or_default();
            let (place, length) = if let Some(quoted) = rest.strip_prefix(b"\"") {
                let Some(length) = memchr::memchr(b'"', quoted) else { return false };
                match quoted.get(length + 1) {
                    Some(b'"') => match self.unescape(quoted) {
                        Some((range, length)) => (Place::Text(range), length + 2),
                        None => return false,
                    },
                    _ => (Place::Record(at + 1..at + 1 + length), length + 2),
                }
            } else {
                // Most are short.
                let length = rest.iter().position(|byte| matches!(byte, b',' | b'"' | b'\n')).unwrap_or(rest.len());
                (if length > 0 { Place::Record(at..at + length) } else { Place::Null }, length)
            };
            self.places.push(place);
            match record.get(at + length) {
                None => return memchr::memchr(0, record).is_none(),
                Some(b',') => at += length + 1,
                Some(_) => return false,
            }
        }
    }

    /// Copies what is within quotes, and halves the doubled ones: where it is, and how long it was. `None` where there is no end.
    fn unescape(&mut self, quoted: &[u8]) -> Option<(Range<usize>, usize)> {
        let start = self.text.len();
        let mut rest = quoted;
        loop {
            let end = memchr::memchr(b'"', rest)?;
            let (content, after) = rest.split_at_checked(end)?;
            self.text.extend_from_slice(content);
            rest = after.get(1..)?;
            match rest.strip_prefix(b"\"") {
                Some(after) => {
                    self.text.push(b'"');
                    rest = after;
                }
                None => return Some((start..self.text.len(), quoted.len() - rest.len() - 1)),
            }
        }
    }
}
