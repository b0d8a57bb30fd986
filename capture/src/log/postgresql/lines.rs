//! Lines of text become entries.
//!
//! An entry begins with a line that has prefix and severity. Its further lines begin with a tab, and DETAIL, CONTEXT and
//! STATEMENT are lines with a prefix of their own. Entries of several processes may be mixed, so that each process has
//! its entry under way.

use std::collections::HashMap;

use compact_str::CompactString;
use memchr::memmem;

use super::conversation::Conversations;
use super::entry::{Entry, Severity};
use super::guess;
use super::level::Level;
use super::open::{Into, Open, further};
use super::prefix::{Head, Prefix};
use crate::log::sessions::compact;
use crate::log::syslog;
use crate::log::time::{Ticks, Times, Years};
use crate::log::{Records, Settings};
use crate::trace::Loss;

/// Entries that are under way at a time; most end when their process writes the next one.
const OPEN_LIMIT: usize = 1024;
/// Prefixes that one log is written with: sessions and background processes differ.
const PREFIX_LIMIT: usize = 16;

/// A line, with what was told around it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Framed<'a> {
    pub text: &'a [u8],
    /// When it was written.
    pub time: Option<Written<'a>>,
    pub pid: Option<&'a [u8]>,
    /// Number of its entry within the process, and of its part of that, from 1.
    pub part: Option<(u64, u32)>,
    /// Bytes of it that were too many.
    pub cut: u64,
}

/// When a line was written, by what is around it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written<'a> {
    /// Nanoseconds since 1970 UTC, and what that does not tell apart.
    At(i64, i64),
    /// The stamp of syslog.
    Syslog(syslog::Time<'a>),
}

/// Puts lines together.
pub(super) struct Lines {
    prefixes: Vec<Prefix>,
    /// The user told the prefix.
    given: bool,
    /// There are lines that begin with their severity.
    bare: Option<bool>,
    /// Lines with a severity, and a prefix that is not understood.
    strange: u64,
    /// There was an entry without a time.
    timeless: bool,
    pub times: Times,
    /// The year of syslog's stamps in this file.
    pub years: Years,
    ticks: Ticks,
    last_ns: i64,
    open: HashMap<CompactString, Open>,
    /// Whose entry the last line belongs to.
    last: CompactString,
    conversations: Conversations,
}

impl Lines {
    pub fn new(settings: &Settings) -> Self {
        Lines {
            prefixes: settings.prefix.clone().map_or_else(guess::known, |prefix| vec![prefix]),
            given: settings.prefix.is_some(),
            bare: None,
            strange: 0,
            timeless: false,
            times: Times::new(settings.zone.clone()),
            years: Years::until(0),
            ticks: Ticks::default(),
            last_ns: 0,
            open: HashMap::new(),
            last: CompactString::default(),
            conversations: Conversations::default(),
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: Framed<'_>, out: &mut Records<'_>) {
        self.take(line, out);
        if line.cut > 0
            && let Some(open) = self.open.get_mut(&self.last)
        {
            open.beyond += line.cut;
        }
    }

    fn take(&mut self, line: Framed<'_>, out: &mut Records<'_>) {
        if line.part.is_some_and(|(_, part)| part > 1) {
            return self.further_part(line, out);
        }
        // Where tabs were replaced on the way, eight blanks stand for the one that the server added.
        let is_further = line.text.is_empty() || (further(line.text).is_some() && !is_memory(line.text));
        if !is_further && let Some((head, level, message)) = self.head(line.text) {
            let key = key(line.pid, &head);
            match level {
                Level::Message(severity) => self.begin(key, &line, &head, severity, message, out),
                _ => self.attach(key, level, message, None, out),
            }
            return;
        }
        if is_further {
            let key = line.pid.map_or_else(|| self.last.clone(), compact);
            return self.further_line(key, line.text, out);
        }
        // Up to version 7.4 further lines have no tab.
        if line.pid.is_none()
            && let Some(open) = self.open.get_mut(&self.last).filter(|open| open.message.starts_with(b"query: "))
        {
            open.append(b"\n", line.text);
            return;
        }
        if Level::find(line.text.get(..line.text.len().min(256)).unwrap_or_default()).is_some() {
            self.strange += 1;
        }
        self.conversations.unread(line.text);
        self.orphan(CompactString::const_new("\0"), None, Loss::LogMalformed, out);
    }

    /// A file ends: no entry goes on in the next one. `whole` is false where the last line is cut off.
    pub fn end_of_file(&mut self, whole: bool, out: &mut Records<'_>) {
        if !whole && let Some(open) = self.open.get_mut(&self.last).filter(|open| !open.lost) {
            open.lost = true;
            out.began_at(open.line);
            out.lost(Loss::LogTruncated);
        }
        self.close_all(out);
        if self.strange > 0 {
            let strange = std::mem::take(&mut self.strange);
            let what = match self.given {
                true => {
                    "do not begin with the --log-line-prefix that was given; give it as SHOW log_line_prefix tells it"
                }
                false => {
                    "begin with a prefix that is not recognised; give --log-line-prefix as SHOW log_line_prefix tells it"
                }
            };
            out.problem(format!("{strange} lines with a severity {what}"));
        }
        self.conversations.end_of_file(out);
        if std::mem::take(&mut self.timeless) {
            let what = "its entries have no time: they are put one after another from 1970 on, by their durations";
            out.problem(what);
        }
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    /// The log ends.
    pub fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }

    /// Takes an entry that came whole, in its place among the lines.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        self.conversations.entry(entry, out);
    }

    /// The time of an entry, which is unlike that of any other.
    pub fn tick(&mut self, stamp_ns: i64, resolution_ns: i64) -> i64 {
        self.ticks.next(stamp_ns, resolution_ns)
    }

    /// Reads the prefix of a line.
    fn head<'a>(&mut self, text: &'a [u8]) -> Option<(Head<'a>, Level, &'a [u8])> {
        for index in 0..self.prefixes.len() {
            if let Some(found) = self.prefixes.get(index).and_then(|prefix| prefix.read(text)) {
                // Most lines are like the one before.
                if index > 0 {
                    self.prefixes.swap(index, 0);
                }
                self.bare.get_or_insert(false);
                return Some(found);
            }
        }
        if self.given {
            return None;
        }
        if self.bare != Some(false)
            && let Some((level, message)) = Level::read(text)
        {
            self.bare = Some(true);
            return Some((Head::default(), level, message));
        }
        let prefix = guess::prefix(text)?;
        let found = prefix.read(text)?;
        self.bare.get_or_insert(false);
        self.prefixes.insert(0, prefix);
        self.prefixes.truncate(PREFIX_LIMIT);
        Some(found)
    }

    /// An entry begins.
    fn begin(
        &mut self,
        key: CompactString,
        line: &Framed<'_>,
        head: &Head<'_>,
        severity: Severity,
        message: &[u8],
        out: &mut Records<'_>,
    ) {
        self.close(&key, out);
        if self.open.len() >= OPEN_LIMIT {
            self.close_all(out);
        }
        let stamp = match head.time {
            Some(stamp) => stamp.resolve(&mut self.times),
            None => match line.time {
                Some(Written::At(at_ns, resolution_ns)) => Some((at_ns, resolution_ns)),
                Some(Written::Syslog(time)) => time.resolve(&mut self.times, &mut self.years),
                None => None,
            },
        };
        if head.time.is_some() && stamp.is_none() {
            return self.orphan(key, line.part, Loss::LogMalformed, out);
        }
        let at_ns = match stamp {
            Some((stamp_ns, resolution_ns)) => self.ticks.next(stamp_ns, resolution_ns),
            None => {
                self.timeless = true;
                self.last_ns + 1
            }
        };
        self.last_ns = at_ns;
        out.entry(stamp.map(|_| at_ns));
        let (code, message) = verbose(message);
        let session_start_ns = head.start.and_then(|start| start.resolve(&mut self.times)).map(|(ns, _)| ns);
        let text = |field: Option<&[u8]>| field.map(compact);
        let open = Open {
            at_ns,
            line: out.line(),
            session_start_ns: session_start_ns.or_else(|| began(head.session?)),
            fields: [
                text(head.session),
                text(head.pid.or(line.pid)),
                text(head.user),
                text(head.database),
                text(head.application),
                text(head.client),
                text(head.tag),
                text(head.backend),
                text(head.code.or(code)),
            ],
            severity,
            message: message.to_vec(),
            number: line.part.map(|(number, _)| number),
            last_part: line.part.map(|_| line.text.to_vec()).unwrap_or_default(),
            ..Open::default()
        };
        self.last.clone_from(&key);
        self.open.insert(key, open);
    }

    /// A DETAIL, CONTEXT or STATEMENT of the entry of its process.
    fn attach(
        &mut self,
        key: CompactString,
        level: Level,
        text: &[u8],
        part: Option<(u64, u32)>,
        out: &mut Records<'_>,
    ) {
        let Some(open) = self.open.get_mut(&key) else {
            return self.orphan(key, part, Loss::LogTruncated, out);
        };
        let (into, place) = match level {
            Level::Detail => (Into::Detail, Some(&mut open.detail)),
            Level::Context => (Into::Context, Some(&mut open.context)),
            Level::Statement => (Into::Statement, Some(&mut open.statement)),
            Level::Other | Level::Message(_) => (Into::Nothing, None),
        };
        open.into = into;
        if let Some(place) = place {
            *place = Some(text.to_vec());
        }
        self.last = key;
    }

    /// A line that begins with a tab, of which the server added one; or an empty one.
    fn further_line(&mut self, key: CompactString, text: &[u8], out: &mut Records<'_>) {
        match self.open.get_mut(&key) {
            Some(open) if text.is_empty() => open.blank += 1,
            Some(open) => {
                let text = open.without_tab(text);
                let blank = std::mem::take(&mut open.blank);
                open.append(&b"\n".repeat(1 + blank), text);
            }
            // Blank lines between entries are nothing.
            None if text.is_empty() => {}
            None => self.orphan(key, None, Loss::LogTruncated, out),
        }
    }

    /// A part of an entry that syslog cut.
    fn further_part(&mut self, line: Framed<'_>, out: &mut Records<'_>) {
        let key = compact(line.pid.unwrap_or_default());
        let number = line.part.map(|(number, _)| number);
        let is_mine = |open: &&mut Open| open.number == number;
        if !line.text.starts_with(b"\t")
            && let Some((_, level, text)) =
                self.head(line.text).filter(|(_, level, _)| !matches!(level, Level::Message(_)))
            && self.open.get(&key).is_some_and(|open| open.number == number)
        {
            self.attach(key.clone(), level, text, line.part, out);
            if let Some(open) = self.open.get_mut(&key) {
                open.last_part = line.text.to_vec();
            }
            return;
        }
        match self.open.get_mut(&key).filter(is_mine) {
            Some(open) => {
                open.join(line.text);
                self.last = key;
            }
            None => {
                self.close(&key, out);
                self.orphan(key, line.part, Loss::LogTruncated, out);
            }
        }
    }

    /// A line whose entry did not begin here is an entry of its own that is lost, together with the lines that follow it.
    fn orphan(&mut self, key: CompactString, part: Option<(u64, u32)>, loss: Loss, out: &mut Records<'_>) {
        self.close(&key, out);
        out.entry(None);
        out.lost(loss);
        let open = Open { lost: true, into: Into::Nothing, number: part.map(|(number, _)| number), ..Open::default() };
        self.last.clone_from(&key);
        self.open.insert(key, open);
    }

    fn close(&mut self, key: &CompactString, out: &mut Records<'_>) {
        if let Some(open) = self.open.remove(key) {
            open.close(&mut self.conversations, out);
        }
    }

    fn close_all(&mut self, out: &mut Records<'_>) {
        let mut all: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        all.sort_unstable_by_key(|open| open.at_ns);
        for open in all {
            open.close(&mut self.conversations, out);
        }
    }
}

/// A line of the list of memory contexts that a server which ran out of memory writes past its own log.
fn is_memory(text: &[u8]) -> bool {
    memmem::find(text, b" total in ").is_some() && memmem::find(text, b" used").is_some()
}

/// Which process wrote a line, as far as it tells.
fn key(pid: Option<&[u8]>, head: &Head<'_>) -> CompactString {
    compact(pid.or(head.pid).or(head.session).unwrap_or_default())
}

/// When a session began, which its name tells in seconds.
fn began(session: &[u8]) -> Option<i64> {
    let seconds = session.split(|&byte| byte == b'.').next()?;
    i64::from_str_radix(str::from_utf8(seconds).ok()?, 16).ok()?.checked_mul(1_000_000_000)
}

/// A SQLSTATE before the message, as `log_error_verbosity = verbose` writes it.
fn verbose(message: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if let Some((code, rest)) = message.split_at_checked(5)
        && let Some(rest) = rest.strip_prefix(b": ")
        && code.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && code.iter().any(u8::is_ascii_digit)
    {
        return (Some(code), rest);
    }
    (None, message)
}
