//! Lines of the query log, of any version.

use super::{Conversations, Entry, Fields, Layout};
use crate::log::time::{Ticks, Times, nanoseconds, number};
use crate::log::{Input, Line, Reader, Records, Settings};
use crate::trace::Loss;

/// What one record may hold.
const RECORD_LIMIT: usize = 64 << 20;
const SECOND: i64 = 1_000_000_000;

/// Reads query logs, of one session each or of all.
pub(crate) struct Qla {
    times: Times,
    ticks: Ticks,
    layout: Layout,
    /// The session whose file this is.
    session: Option<Vec<u8>>,
    /// The record under way, and the number of its first line.
    record: Option<Vec<u8>>,
    line: u64,
    /// Bytes beyond the limit.
    beyond: u64,
    /// Lines of no record are being passed over.
    passing: bool,
    /// There was a record or a header in this file.
    begun: bool,
    /// Lines before the first record of this file were passed over, from this one on.
    tail: Option<u64>,
    /// A record came out without a time.
    timeless: bool,
    last_ns: i64,
    conversations: Conversations,
}

impl Qla {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        Qla {
            times: Times::new(settings.zone.clone()),
            ticks: Ticks::default(),
            layout: Layout::default(),
            session: None,
            record: None,
            line: 0,
            beyond: 0,
            passing: false,
            begun: false,
            tail: None,
            timeless: false,
            last_ns: 0,
            conversations: Conversations::default(),
        }
    }

    fn line(&mut self, Line { bytes: line, cut, .. }: Line<'_>, out: &mut Records<'_>) {
        if let Some(layout) = Layout::read(line) {
            // What the columns are is no entry of its own.
            self.begin(out);
            self.layout = layout;
            return;
        }
        let begins = match self.layout.tells_begin() {
            true => self.layout.begins(line) || first_form(line).is_some(),
            false => !line.is_empty() && self.layout.begins(line),
        };
        if begins {
            self.begin(out);
            (self.record, self.beyond, self.line) = (Some(line.to_vec()), cut, out.line());
            return;
        }
        match &mut self.record {
            Some(record) if record.len() + line.len() < RECORD_LIMIT => {
                record.push(b'\n');
                record.extend_from_slice(line);
                self.beyond += cut;
            }
            Some(_) => self.beyond += line.len() as u64 + cut,
            None if self.passing || line.is_empty() => {}
            None => {
                self.passing = true;
                out.entry(None);
                match self.begun {
                    true => out.lost(Loss::LogMalformed),
                    false => self.tail = Some(out.line()),
                }
            }
        }
    }

    /// Something new begins in a file.
    fn begin(&mut self, out: &mut Records<'_>) {
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogTruncated);
        }
        self.close(true, out);
        (self.begun, self.passing) = (true, false);
    }

    fn close(&mut self, ended: bool, out: &mut Records<'_>) {
        let Some(record) = self.record.take() else { return };
        let beyond = std::mem::take(&mut self.beyond);
        let lost = if !ended || beyond > 0 { Loss::LogTruncated } else { Loss::LogMalformed };
        out.missing(Loss::Oversized, beyond);
        if lost == Loss::LogMalformed && self.pass(&record, out).is_some() {
            return;
        }
        out.entry(None);
        out.began_at(self.line);
        out.lost(lost);
    }

    /// Passes a record on. `None` where it is none.
    fn pass(&mut self, record: &[u8], out: &mut Records<'_>) -> Option<()> {
        let (fields, time) = match first_form(record) {
            Some((local, fraction, query)) if !self.layout.begins(record) => {
                let ns = self.times.read(&local, b"")?.checked_add(fraction)?;
                (Fields { query: Some(query), ..Fields::default() }, Some((ns, SECOND / 1000)))
            }
            _ => {
                let fields = self.layout.split(record)?;
                let time = match fields.date {
                    Some(date) => Some((self.times.read(date, b"")?, SECOND)),
                    None => None,
                };
                (fields, time)
            }
        };
        let start_ns = match time {
            Some((stamp_ns, resolution_ns)) => self.ticks.next(stamp_ns, resolution_ns),
            None => {
                self.timeless = true;
                self.last_ns + 1
            }
        };
        self.last_ns = start_ns;
        // Files of sessions overlap.
        out.entry(time.map(|_| start_ns).filter(|_| self.session.is_none()));
        let until_ns = time.map_or(i64::MAX, |(stamp_ns, resolution_ns)| stamp_ns.saturating_add(resolution_ns));
        let entry = Entry { start_ns, until_ns, fields: &fields, file: self.session.as_deref() };
        self.conversations.entry(&entry, out);
        Some(())
    }
}

impl Reader for Qla {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        self.layout = Layout::default();
        (self.begun, self.passing) = (false, false);
        // The number of a session ends the name of its file.
        let number = input.path().extension().map(|extension| extension.as_encoded_bytes().to_vec());
        self.session = number.filter(|number| number.iter().all(u8::is_ascii_digit));
        let whole = input.each_line(out, |line, out| self.line(line, out));
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogMalformed);
        }
        self.close(whole, out);
        if std::mem::take(&mut self.timeless) {
            out.problem("its lines have no time (log_data=date): they are put one after another from 1970 on");
        }
        if let Some(what) = self.conversations.contradiction() {
            out.problem(what);
        }
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    fn finish(&mut self, _: &mut Records<'_>) {
        self.conversations.finish();
    }
}

/// A line of MaxScale 1: `07:12:56.324 7/01/2016, SQL`. The time, its fraction of a second in nanoseconds, and the query.
fn first_form(line: &[u8]) -> Option<([u8; 19], i64, &[u8])> {
    let comma = line.iter().take(32).position(|&byte| byte == b',')?;
    let (stamp, query) = line.split_at_checked(comma)?;
    let query = query.strip_prefix(b", ")?;
    let blank = memchr::memchr(b' ', stamp)?;
    let (clock, date) = stamp.split_at_checked(blank)?;
    let (clock, fraction) = clock.split_first_chunk::<8>()?;
    let mut parts = date.get(1..)?.split(|&byte| byte == b'/');
    let mut part = || number(parts.next()?);
    let (day, month, year) = (part()?, part()?, part()?);
    if !(1..=31).contains(&day) || !(1..=12).contains(&month) || !(1000..=9999).contains(&year) {
        return None;
    }
    let local = format!("{year:04}-{month:02}-{day:02} {}", str::from_utf8(clock).ok()?);
    Some((local.into_bytes().try_into().ok()?, nanoseconds(fraction)?, query))
}
