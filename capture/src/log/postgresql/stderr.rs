//! The text log, as stderr, the logging collector and syslog write it.

use std::borrow::Cow;

use memchr::memmem;

use super::lines::{Framed, Lines, Written};
use crate::log::syslog::Syslog;
use crate::log::time::{Years, number};
use crate::log::{Input, Reader, Records, Settings};
use crate::trace::Loss;

/// Reads the text log.
pub(crate) struct Stderr {
    lines: Lines,
    year: Option<i16>,
    /// The year was told with the first file.
    goes_on: bool,
}

impl Stderr {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        Stderr { lines: Lines::new(settings), year: settings.year, goes_on: false }
    }
}

impl Reader for Stderr {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        // The files of a log follow each other, so that only the first one needs a year.
        match self.year.take() {
            Some(year) => (self.lines.years, self.goes_on) = (Years::from(year), true),
            None if self.goes_on => {}
            None => self.lines.years = Years::until(input.written_ns()),
        }
        let mut is_cut = false;
        let mut is_json = false;
        let whole = input.each_line(out, |line, out| {
            is_cut = line.cut > 0;
            if let Some(syslog) = Syslog::read(line.bytes) {
                self.syslog(&syslog, line.cut, out);
            } else {
                is_json |= line.bytes.starts_with(b"{\"");
                self.lines.line(Framed { text: line.bytes, cut: line.cut, ..Framed::default() }, out);
            }
        });
        self.lines.end_of_file(whole && !is_cut, out);
        if is_json {
            out.problem("there are lines of JSON in it: give --format postgresql-json");
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.lines.finish(out);
    }
}

impl Stderr {
    fn syslog(&mut self, syslog: &Syslog<'_>, cut: u64, out: &mut Records<'_>) {
        let (part, text) = part(after_colour(syslog.text));
        let is_ours = part.is_some() || memmem::find(syslog.program, b"postgres").is_some();
        if !is_ours {
            out.entry(None);
            out.lost(Loss::LogForeign);
            return;
        }
        let text = tabs(text);
        let time = Some(Written::Syslog(syslog.time));
        self.lines.line(Framed { text: &text, time, pid: syslog.pid, part, cut }, out);
    }
}

/// Heroku names a database by a colour.
fn after_colour(text: &[u8]) -> &[u8] {
    let colour = || {
        let inner = text.strip_prefix(b"[")?;
        let end = memchr::memchr(b']', inner.get(..inner.len().min(64))?)?;
        let is_colour = end > 0 && inner.get(..end)?.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
        if is_colour { inner.get(end..)?.strip_prefix(b"] ") } else { None }
    };
    colour().unwrap_or(text)
}

/// `[12-3] `, or `[12] ` for an entry of one part.
fn part(text: &[u8]) -> (Option<(u64, u32)>, &[u8]) {
    let read = || {
        let inner = text.strip_prefix(b"[")?;
        let end = memchr::memchr(b']', inner.get(..inner.len().min(24))?)?;
        let (numbers, rest) = inner.split_at_checked(end)?;
        let dash = memchr::memchr(b'-', numbers);
        let (entry, part) = match dash {
            Some(at) => (numbers.get(..at)?, numbers.get(at + 1..)?),
            None => (numbers, &b"1"[..]),
        };
        let numbers = (u64::try_from(number(entry)?).ok()?, u32::try_from(number(part)?).ok()?);
        let rest = rest.get(1..)?;
        Some((numbers, rest.strip_prefix(b" ").unwrap_or(rest)))
    };
    read().map_or((None, text), |(numbers, rest)| (Some(numbers), rest))
}

/// Tabs as rsyslog and older programs write them.
fn tabs(text: &[u8]) -> Cow<'_, [u8]> {
    let mut rest = text;
    let mut leading = 0;
    while let Some(after) = rest.strip_prefix(b"^I") {
        rest = after;
        leading += 1;
    }
    if leading == 0 && memmem::find(text, b"#011").is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = vec![b'\t'; leading];
    while let Some(at) = memmem::find(rest, b"#011") {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.push(b'\t');
        rest = rest.get(at + 4..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}
