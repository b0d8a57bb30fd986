//! The general log: <https://dev.mysql.com/doc/refman/8.4/en/query-log.html>,
//! <https://mariadb.com/kb/en/general-query-log/>
//!
//! An entry is a line with a time (or none, while the second is the same), the number of the connection, a command and its
//! argument. The further lines of a text have no mark, so that one which looks like an entry is taken for one.

use compact_str::CompactString;

use super::command::Command;
use super::conversation::{Conversations, Entry};
use super::header::{self, Header};
use super::stamp::Stamp;
use super::untimed::{self, Untimed};
use crate::log::sessions::compact;
use crate::log::time::Times;
use crate::log::{Input, Line, Reader, Records, Settings};
use crate::trace::Loss;

/// What one entry may hold.
const ENTRY_LIMIT: usize = 64 << 20;
/// Blanks that stand in a line where the time would be.
const BLANKS: usize = 12;

/// Reads general logs of any version.
pub(crate) struct General {
    times: Times,
    header: Header,
    open: Open,
    /// There was an entry in this file.
    begun: bool,
    /// Lines before the first entry of this file were passed over, from this one on.
    tail: Option<u64>,
    untimed: Untimed<Whole>,
    conversations: Conversations,
}

/// What the last line belongs to.
enum Open {
    Nothing,
    /// Lines that belong to no entry, and are accounted for.
    Passed,
    Entry(Whole),
}

/// An entry with all of its lines.
struct Whole {
    /// Number of its first line.
    line: u64,
    stamp: Option<(i64, i64)>,
    connection: CompactString,
    /// `None` where it is not known, or the time is none.
    command: Option<Command>,
    argument: Vec<u8>,
    /// Bytes beyond the limit.
    beyond: u64,
}

impl untimed::Entry for Whole {
    fn stamp(&self) -> Option<(i64, i64)> {
        self.stamp
    }

    fn size(&self) -> usize {
        self.argument.len() + size_of::<Self>()
    }
}

impl General {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        General {
            times: Times::new(settings.zone.clone()),
            header: Header::default(),
            open: Open::Nothing,
            begun: false,
            tail: None,
            untimed: Untimed::default(),
            conversations: Conversations::default(),
        }
    }

    fn line(&mut self, Line { bytes: line, cut, .. }: Line<'_>, out: &mut Records<'_>) {
        if self.header.goes_on(line) {
            return;
        }
        if let Some(server) = header::begins(line) {
            self.begin(Open::Nothing, out);
            self.header = Header::Program;
            self.conversations.restarted(server);
            out.entry(None);
            return out.lost(Loss::LogServer);
        }
        if let Some(head) = Head::read(line) {
            let stamp = head.stamp.map(|stamp| stamp.resolve(&mut self.times));
            let entry = Whole {
                line: out.line(),
                stamp: stamp.flatten(),
                connection: compact(head.connection),
                command: head.command.filter(|_| stamp != Some(None)),
                argument: head.argument.to_vec(),
                beyond: cut,
            };
            return self.begin(Open::Entry(entry), out);
        }
        match &mut self.open {
            Open::Entry(entry) => entry.append(line, cut),
            Open::Passed => {}
            // Blank lines between entries are nothing.
            Open::Nothing if line.is_empty() => {}
            Open::Nothing => {
                out.entry(None);
                self.open = Open::Passed;
                match self.begun {
                    true => out.lost(Loss::LogMalformed),
                    false => self.tail = Some(out.line()),
                }
            }
        }
    }

    /// Something new begins in a file.
    fn begin(&mut self, next: Open, out: &mut Records<'_>) {
        self.begun = true;
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogTruncated);
        }
        self.close(next, out);
    }

    fn close(&mut self, next: Open, out: &mut Records<'_>) {
        let Open::Entry(entry) = std::mem::replace(&mut self.open, next) else { return };
        let lost = match entry.command {
            _ if entry.beyond > 0 => Loss::LogTruncated,
            None => Loss::LogMalformed,
            Some(_) => {
                return self.untimed.push(entry, |entry, at_ns| {
                    out.entry(Some(at_ns));
                    entry.pass(at_ns, &mut self.conversations, out);
                });
            }
        };
        out.missing(Loss::Oversized, entry.beyond);
        out.entry(None);
        out.began_at(entry.line);
        out.lost(lost);
    }
}

impl Reader for General {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        (self.begun, self.header) = (false, Header::Outside);
        let whole = input.each_line(out, |line, out| self.line(line, out));
        if let Some(line) = self.tail.take() {
            out.began_at(line);
            out.lost(Loss::LogMalformed);
        }
        // The server ends every entry with a newline; of one that was being read, there may be more.
        if !whole && let Open::Entry(entry) = std::mem::replace(&mut self.open, Open::Nothing) {
            out.entry(None);
            out.began_at(entry.line);
            out.lost(Loss::LogTruncated);
        }
        self.close(Open::Nothing, out);
        self.untimed.end_of_file(out, |entry, at_ns, out| {
            out.entry(Some(at_ns));
            entry.pass(at_ns, &mut self.conversations, out);
        });
        if let Some(what) = self.times.unknown_zone() {
            out.problem(what);
        }
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.conversations.finish(out);
    }
}

impl Whole {
    fn append(&mut self, line: &[u8], cut: u64) {
        self.beyond += cut;
        if self.argument.len() + line.len() >= ENTRY_LIMIT {
            self.beyond += line.len() as u64;
        } else {
            self.argument.push(b'\n');
            self.argument.extend_from_slice(line);
        }
    }

    fn pass(&self, at_ns: i64, conversations: &mut Conversations, out: &mut Records<'_>) {
        let Some(command) = self.command else { return };
        conversations.entry(&Entry { at_ns, connection: &self.connection, command, argument: &self.argument }, out);
    }
}

/// The line that begins an entry.
struct Head<'a> {
    stamp: Option<Stamp<'a>>,
    connection: &'a [u8],
    /// `None` where it is not known.
    command: Option<Command>,
    argument: &'a [u8],
}

impl<'a> Head<'a> {
    /// Reads a line. `None` where it begins no entry.
    fn read(line: &'a [u8]) -> Option<Self> {
        let (stamp, rest) = Stamp::read(line).map_or((None, line), |(stamp, rest)| (Some(stamp), rest));
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_head = match stamp {
            Some(_) => blanks > 0,
            None => blanks >= BLANKS || rest.starts_with(b"\t\t"),
        };
        let rest = rest.get(blanks..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !is_head || !(1..=20).contains(&digits) {
            return None;
        }
        let (connection, rest) = rest.split_at_checked(digits)?;
        let rest = rest.strip_prefix(b" ")?;
        if let Some((command, argument)) = Command::read(rest) {
            return Some(Head { stamp, connection, command: Some(command), argument });
        }
        // A time, a number, some words and a tab are an entry of a command that is not known.
        let words = rest.iter().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'_')).count();
        let is_unknown = stamp.is_some() && words > 0 && rest.get(words) == Some(&b'\t');
        is_unknown.then_some(Head { stamp, connection, command: None, argument: b"" })
    }
}
