//! Lines become entries.
//!
//! An entry begins with a line that has a severity. Its further lines begin with a tab, and DETAIL and CONTEXT are lines with a
//! prefix of their own. Processes write at the same time, so that each has its entry under way.

use std::collections::HashMap;

use compact_str::CompactString;

use super::{Conversations, Entry};
use crate::log::postgresql::{Head, Level, Prefix, Severity};
use crate::log::syslog::Syslog;
use crate::log::time::{Ticks, Times, Years};
use crate::log::{Input, Line, Reader, Records, Settings};
use crate::trace::Loss;

/// What one entry may hold.
const ENTRY_LIMIT: usize = 64 << 20;
/// Entries that are under way at a time.
const OPEN_LIMIT: usize = 1024;
/// The prefixes that versions have by default, and what older ones had.
const PREFIXES: &[&str] = &["%m: %a pid %p: ", "%t: pid %p: ", "%t: %a pid %p: ", "%m: pid %p: ", "%m: [%p] "];

/// Reads pgpool-II's log, from stderr or syslog.
pub(crate) struct Pgpool {
    prefixes: Vec<Prefix>,
    times: Times,
    ticks: Ticks,
    years: Years,
    year: Option<i16>,
    /// The year was told with the first file.
    goes_on: bool,
    last_ns: i64,
    /// There was an entry without a time.
    timeless: bool,
    open: HashMap<CompactString, Open>,
    /// Whose entry the last line belongs to.
    last: Last,
    conversations: Conversations,
}

/// Where the last line belongs.
#[derive(Debug, Default)]
enum Last {
    #[default]
    Nothing,
    /// To lines of no entry, which are accounted for.
    Passed,
    /// To the entry of this process.
    Process(CompactString),
}

/// An entry under way.
#[derive(Debug, Default)]
struct Open {
    at_ns: i64,
    /// Number of its first line.
    line: u64,
    application: Option<CompactString>,
    user: Option<CompactString>,
    database: Option<CompactString>,
    severity: Severity,
    message: Vec<u8>,
    detail: Option<Vec<u8>>,
    into: Into,
    /// Bytes beyond the limit.
    beyond: u64,
}

/// Where a further line belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Into {
    #[default]
    Message,
    Detail,
    Nothing,
}

impl Pgpool {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        let known = || PREFIXES.iter().filter_map(|prefix| prefix.parse().ok()).collect();
        Pgpool {
            prefixes: settings.prefix.clone().map_or_else(known, |prefix| vec![prefix]),
            times: Times::new(settings.zone.clone()),
            ticks: Ticks::default(),
            years: Years::until(0),
            year: settings.year,
            goes_on: false,
            last_ns: 0,
            timeless: false,
            open: HashMap::new(),
            last: Last::Nothing,
            conversations: Conversations::default(),
        }
    }

    fn line(&mut self, Line { bytes: line, cut, .. }: Line<'_>, out: &mut Records<'_>) {
        let syslog = Syslog::read(line);
        let text = syslog.as_ref().map_or(line, |syslog| syslog.text);
        if let Some((head, level, message)) = self.head(text) {
            let pid = head.pid.or(syslog.as_ref().and_then(|syslog| syslog.pid)).unwrap_or_default();
            let key = CompactString::from_utf8_lossy(pid);
            let time = match (head.time, &syslog) {
                (Some(stamp), _) => stamp.resolve(&mut self.times),
                (None, Some(syslog)) => syslog.time.resolve(&mut self.times, &mut self.years),
                (None, None) => None,
            };
            return match level {
                Level::Message(severity) => self.begin(key, &head, time, severity, message, out),
                Level::Detail => self.attach(key, Into::Detail, message, out),
                _ => self.attach(key, Into::Nothing, message, out),
            };
        }
        if let (Some(rest), Last::Process(key)) = (text.strip_prefix(b"\t"), &self.last) {
            if let Some(open) = self.open.get_mut(key) {
                open.append(rest, cut);
            }
            return;
        }
        // A blank line of a text has its tab.
        if !text.is_empty() && !matches!(self.last, Last::Passed) {
            out.entry(None);
            out.lost(Loss::LogMalformed);
            self.last = Last::Passed;
        }
    }

    /// Reads the prefix of a line and its severity, which also stands alone: in what a client shows.
    fn head<'a>(&mut self, text: &'a [u8]) -> Option<(Head<'a>, Level, &'a [u8])> {
        for index in 0..self.prefixes.len() {
            if let Some(found) = self.prefixes.get(index).and_then(|prefix| prefix.read(text)) {
                self.prefixes.swap(index, 0);
                return Some(found);
            }
        }
        Level::read(text).map(|(level, message)| (Head::default(), level, message))
    }

    /// An entry begins.
    fn begin(
        &mut self,
        key: CompactString,
        head: &Head<'_>,
        time: Option<(i64, i64)>,
        severity: Severity,
        message: &[u8],
        out: &mut Records<'_>,
    ) {
        self.close(&key, out);
        if self.open.len() >= OPEN_LIMIT {
            self.close_all(out);
        }
        let at_ns = match time {
            Some((stamp_ns, resolution_ns)) => self.ticks.next(stamp_ns, resolution_ns),
            None => {
                self.timeless = true;
                self.last_ns + 1
            }
        };
        self.last_ns = at_ns;
        out.entry(time.map(|_| at_ns));
        let text = |field: Option<&[u8]>| field.map(CompactString::from_utf8_lossy);
        let open = Open {
            at_ns,
            line: out.line(),
            application: text(head.application),
            user: text(head.user),
            database: text(head.database),
            severity,
            message: message.to_vec(),
            ..Open::default()
        };
        self.last = Last::Process(key.clone());
        self.open.insert(key, open);
    }

    /// A further part of the entry of its process.
    fn attach(&mut self, key: CompactString, into: Into, text: &[u8], out: &mut Records<'_>) {
        let Some(open) = self.open.get_mut(&key) else {
            out.entry(None);
            out.lost(Loss::LogTruncated);
            self.last = Last::Passed;
            return;
        };
        open.into = into;
        if into == Into::Detail {
            open.detail = Some(text.to_vec());
        }
        self.last = Last::Process(key);
    }

    fn close(&mut self, key: &CompactString, out: &mut Records<'_>) {
        if let Some(open) = self.open.remove(key) {
            open.close(key, &mut self.conversations, out);
        }
    }

    fn close_all(&mut self, out: &mut Records<'_>) {
        let mut all: Vec<_> = self.open.drain().collect();
        all.sort_unstable_by_key(|(_, open)| open.at_ns);
        for (key, open) in all {
            open.close(&key, &mut self.conversations, out);
        }
    }
}

impl Reader for Pgpool {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        // The files of a log follow each other, so that only the first one needs a year.
        match self.year.take() {
            Some(year) => (self.years, self.goes_on) = (Years::from(year), true),
            None if self.goes_on => {}
            None => self.years = Years::until(input.written_ns()),
        }
        self.last = Last::Nothing;
        let whole = input.each_line(out, |line, out| self.line(line, out));
        // Every line has an end. One that was cut off belongs to an entry that is not whole.
        if !whole
            && let Last::Process(key) = std::mem::take(&mut self.last)
            && let Some(open) = self.open.remove(&key)
        {
            out.began_at(open.line);
            out.lost(Loss::LogTruncated);
        }
        self.close_all(out);
        if std::mem::take(&mut self.timeless) {
            out.problem("its entries have no time: they are put one after another from 1970 on");
        }
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }
}

impl Open {
    fn append(&mut self, text: &[u8], cut: u64) {
        self.beyond += cut;
        let place = match self.into {
            Into::Message => &mut self.message,
            Into::Detail => self.detail.get_or_insert_default(),
            Into::Nothing => return,
        };
        if place.len() + text.len() >= ENTRY_LIMIT {
            self.beyond += text.len() as u64;
        } else {
            place.push(b'\n');
            place.extend_from_slice(text);
        }
    }

    fn close(self, process: &str, conversations: &mut Conversations, out: &mut Records<'_>) {
        if self.beyond > 0 {
            out.missing(Loss::Oversized, self.beyond);
            out.began_at(self.line);
            return out.lost(Loss::LogTruncated);
        }
        // PostgreSQL's texts have no zero bytes: they were not written by pgpool.
        if self.message.contains(&0) || self.detail.as_ref().is_some_and(|detail| detail.contains(&0)) {
            out.began_at(self.line);
            return out.lost(Loss::LogMalformed);
        }
        let entry = Entry {
            at_ns: self.at_ns,
            process,
            application: self.application.as_deref().map(str::as_bytes),
            user: self.user.as_deref().map(str::as_bytes),
            database: self.database.as_deref().map(str::as_bytes),
            severity: self.severity,
            message: &self.message,
            detail: self.detail.as_deref(),
        };
        conversations.entry(&entry, out);
    }
}
