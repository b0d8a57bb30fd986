//! The slow log: <https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html>,
//! <https://mariadb.com/kb/en/slow-query-log-extended-statistics/>
//!
//! An entry is some lines that begin with `#`, then `use DATABASE;` and `SET timestamp=N;` where the server adds them, and the
//! statement up to its semicolon. It is written when the statement has ended.

use compact_str::CompactString;

use super::fields::{Fields, Presets, used};
use super::header::{self, Header};
use super::slow_session::{Conversations, Entry};
use super::stamp::Stamp;
use super::untimed::{self, Untimed};
use crate::log::time::Times;
use crate::log::{Input, Line, Reader, Records, Settings};
use crate::trace::Loss;

/// What one entry may hold.
const ENTRY_LIMIT: usize = 64 << 20;
const SECOND: i64 = 1_000_000_000;
/// What stands in place of a statement for other commands.
const ADMINISTRATOR: &[u8] = b"# administrator command: ";

/// Reads slow logs of any version of MySQL, MariaDB and Percona Server.
pub(crate) struct Slow {
    times: Times,
    header: Header,
    place: Place,
    /// The entry under way.
    open: Whole,
    /// Lines of no entry are being passed over.
    passing: bool,
    /// There was an entry in this file.
    begun: bool,
    /// Lines before the first entry of this file were passed over, from this one on.
    tail: Option<u64>,
    /// The database of the last entry of this file, whoever wrote it.
    database: Option<CompactString>,
    /// One in so many was logged.
    sampled: u64,
    untimed: Untimed<Whole>,
    conversations: Conversations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In no entry.
    Outside,
    /// In the lines before a statement.
    Head,
    /// Behind them.
    Body,
}

/// An entry with all of its lines.
#[derive(Clone, Debug, Default)]
struct Whole {
    /// Number of its first line.
    line: u64,
    /// Its time, nanoseconds since 1970 UTC, and what that does not tell apart.
    stamp: Option<(i64, i64)>,
    /// A time without a zone, with its fraction of a second.
    local: Option<([u8; 19], i64)>,
    fields: Fields,
    presets: Option<Presets>,
    used: Option<CompactString>,
    body: Vec<u8>,
    /// Bytes beyond the limit.
    beyond: u64,
}

impl untimed::Entry for Whole {
    fn stamp(&self) -> Option<(i64, i64)> {
        self.stamp
    }

    fn size(&self) -> usize {
        self.body.len() + size_of::<Self>()
    }
}

impl Slow {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        Slow {
            times: Times::new(settings.zone.clone()),
            header: Header::default(),
            place: Place::Outside,
            open: Whole::default(),
            passing: false,
            begun: false,
            tail: None,
            database: None,
            sampled: 1,
            untimed: Untimed::default(),
            conversations: Conversations::default(),
        }
    }

    fn line(&mut self, Line { bytes: line, cut, .. }: Line<'_>, out: &mut Records<'_>) {
        if self.header.goes_on(line) {
            return;
        }
        if let Some(server) = header::begins(line) {
            self.begin(Place::Outside, out);
            self.header = Header::Program;
            self.database = None;
            self.conversations.restarted(server);
            out.entry(None);
            return out.lost(Loss::LogServer);
        }
        if line.starts_with(b"#") && !line.starts_with(ADMINISTRATOR) && self.is_head(line) {
            let is_next = match self.place {
                Place::Outside | Place::Body => true,
                Place::Head => self.open.fields.timed && begins(line),
            };
            if is_next {
                self.begin(Place::Head, out);
                self.open.line = out.line();
            }
            return self.open.head(line);
        }
        match self.place {
            Place::Outside => self.stray(line, out),
            Place::Head if line.is_empty() => {}
            Place::Head | Place::Body => {
                self.place = Place::Body;
                self.open.body(line, cut);
            }
        }
    }

    /// Whether a line with `#` stands before a statement, or before the next one.
    fn is_head(&self, line: &[u8]) -> bool {
        match self.place {
            Place::Outside | Place::Head => true,
            // A statement can hold such lines, too: as long as it has no end only what can hardly be anything else counts.
            Place::Body => {
                begins(line) && (self.open.body.is_empty() || self.open.is_complete() || surely_begins(line))
            }
        }
    }

    /// A line of no entry, with those that follow it.
    fn stray(&mut self, line: &[u8], out: &mut Records<'_>) {
        if self.passing || line.is_empty() {
            return;
        }
        self.passing = true;
        out.entry(None);
        match self.begun {
            true => out.lost(Loss::LogMalformed),
            false => self.tail = Some(out.line()),
        }
    }

    /// Something new begins in a file.
    fn begin(&mut self, next: Place, out: &mut Records<'_>) {
        self.begun = true;
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogTruncated);
        }
        self.close(true, out);
        (self.place, self.passing) = (next, false);
    }

    /// The entry under way ends. `ended` is false where its last line has no end.
    fn close(&mut self, ended: bool, out: &mut Records<'_>) {
        if std::mem::replace(&mut self.place, Place::Outside) == Place::Outside {
            return;
        }
        let mut entry = std::mem::take(&mut self.open);
        let ends = (ended || entry.is_complete()) && entry.settle() && entry.beyond == 0;
        self.follow_database(&mut entry);
        self.sampled = self.sampled.max(entry.fields.sampled.unwrap_or(1));
        let lost = match entry.fields {
            _ if !ends => Loss::LogTruncated,
            Fields { servers_own: true, .. } => Loss::LogServer,
            Fields { timed: false, .. } => Loss::LogTruncated,
            _ => {
                entry.stamp = entry.time(&mut self.times);
                return self.untimed.push(entry, |entry, at_ns| {
                    let (start_ns, end_ns) = entry.span(at_ns);
                    out.entry(Some(end_ns));
                    entry.pass(start_ns, end_ns, &mut self.conversations, out);
                });
            }
        };
        out.missing(Loss::Oversized, entry.beyond);
        out.entry(None);
        out.began_at(entry.line);
        out.lost(lost);
    }

    /// The server tells the database with each entry, or where it is not the one of the entry before.
    fn follow_database(&mut self, entry: &mut Whole) {
        let told = entry.fields.database.take();
        let has_schema = told.is_some();
        let named = told.filter(|name| !name.is_empty()).or_else(|| entry.used.take());
        if named.is_some() {
            self.database.clone_from(&named);
        }
        entry.fields.database = if has_schema { named } else { self.database.clone() };
    }
}

impl Reader for Slow {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        (self.begun, self.passing, self.header) = (false, false, Header::Outside);
        (self.database, self.sampled) = (None, 1);
        let whole = input.each_line(out, |line, out| self.line(line, out));
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogMalformed);
        }
        self.close(whole, out);
        self.untimed.end_of_file(out, |entry, at_ns, out| {
            let (start_ns, end_ns) = entry.span(at_ns);
            out.entry(Some(end_ns));
            entry.pass(start_ns, end_ns, &mut self.conversations, out);
        });
        if self.sampled > 1 {
            let one_in = self.sampled;
            let what = format!(
                "the server logged one statement or session in {one_in} (log_slow_rate_limit): the others are missing"
            );
            out.problem(what);
        }
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }
}

/// Whether an entry begins with this line.
fn begins(line: &[u8]) -> bool {
    [&b"# Time:"[..], b"# User@Host:", b"# User:", b"# Client:", b"# Query_time:"]
        .iter()
        .any(|start| line.starts_with(start))
}

fn surely_begins(line: &[u8]) -> bool {
    match line.strip_prefix(b"# Time: ") {
        Some(rest) => Stamp::read(rest).is_some(),
        None => line.starts_with(b"# User@Host: ") && memchr::memmem::find(line, b"] @ ").is_some(),
    }
}

impl Whole {
    /// Takes a line before the statement.
    fn head(&mut self, line: &[u8]) {
        match self.fields.line(line) {
            Some(Stamp::Short { local, fraction }) => {
                let fraction = Stamp::Short { local, fraction }.fraction_ns().unwrap_or(0);
                self.local = Some((local, fraction));
            }
            // Always with a zone, so that it needs none of the user's.
            Some(long) => self.stamp = long.resolve(&mut Times::new(None)),
            None => {}
        }
    }

    /// Takes a line of the statement, or one that the server put before it.
    fn body(&mut self, line: &[u8], cut: u64) {
        self.beyond += cut;
        if self.body.is_empty() {
            if self.presets.is_none() {
                if let Some(presets) = Presets::read(line) {
                    self.presets = Some(presets);
                    return;
                }
                if self.used.is_none()
                    && let Some(name) = used(line)
                {
                    self.used = Some(name);
                    return;
                }
            }
            self.body.extend_from_slice(line);
        } else if self.body.len() + line.len() >= ENTRY_LIMIT {
            self.beyond += line.len() as u64;
        } else {
            self.body.push(b'\n');
            self.body.extend_from_slice(line);
        }
    }

    /// Whether the statement has its end.
    fn is_complete(&self) -> bool {
        self.body.trim_ascii_end().ends_with(b";")
            || self.body.is_empty() && self.used.is_some() && self.presets.is_none()
    }

    /// Takes off what the server put behind the statement. False where there is no statement.
    fn settle(&mut self) -> bool {
        if self.body.is_empty()
            && self.presets.is_none()
            && let Some(name) = self.used.take()
        {
            // It is the statement itself.
            self.body = format!("use `{}`", name.replace('`', "``")).into_bytes();
            return true;
        }
        let statement = self.body.trim_ascii_end();
        let length = statement.strip_suffix(b";").unwrap_or(statement).len();
        self.body.truncate(length);
        length > 0
    }

    /// Its time, nanoseconds since 1970 UTC, and what that does not tell apart. Where there is one in UTC, no zone is needed.
    fn time(&self, times: &mut Times) -> Option<(i64, i64)> {
        let timestamp =
            self.presets.and_then(|presets| presets.timestamp).and_then(|seconds| seconds.checked_mul(SECOND));
        match (self.stamp, timestamp, self.local) {
            (Some(stamp), ..) => Some(stamp),
            (None, Some(second), Some((_, fraction))) if fraction > 0 => Some((second.checked_add(fraction)?, 1000)),
            (None, Some(second), _) => Some((second, SECOND)),
            (None, None, Some((local, fraction))) => {
                let second = times.read(&local, b"")?;
                Some((second.checked_add(fraction)?, if fraction > 0 { 1000 } else { SECOND }))
            }
            (None, None, None) => None,
        }
    }

    /// From when to when it ran, where it has this time.
    fn span(&self, at_ns: i64) -> (i64, i64) {
        let duration_ns = self.fields.duration_ns.unwrap_or(0);
        match self.fields.begins {
            true => (at_ns, at_ns.saturating_add_unsigned(duration_ns)),
            false => (at_ns.saturating_sub_unsigned(duration_ns).max(0), at_ns),
        }
    }

    fn pass(&self, start_ns: i64, end_ns: i64, conversations: &mut Conversations, out: &mut Records<'_>) {
        let command = self.body.strip_prefix(ADMINISTRATOR);
        let entry = Entry {
            start_ns,
            end_ns,
            fields: &self.fields,
            insert_id: self.presets.and_then(|presets| presets.insert_id),
            command,
            sql: &self.body,
        };
        conversations.entry(&entry, out);
    }
}
