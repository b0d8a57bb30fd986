//! Lines become rows, session by session.

use compact_str::CompactString;

use super::Fields;
use crate::log::Records;
use crate::log::lanes::Lanes;
use crate::log::mysql::Texts;
use crate::log::sessions::{Session, Sessions};
use crate::sql::mysql::{ends_in_line_comment, has_parameters};
use crate::trace::{Kind, Loss, Outcome};

/// What the times of requests that follow one another may overlap by.
const TOLERANCE_NS: i64 = 1_000_000_000;
/// Requests whose durations are compared with the times before anything is said about them.
const ENOUGH: u64 = 20;

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// When the query came, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// It came before.
    pub until_ns: i64,
    pub fields: &'a Fields<'a>,
    /// The session whose file it is in.
    pub file: Option<&'a [u8]>,
}

/// The sessions of a query log.
#[derive(Default)]
pub(super) struct Conversations {
    sessions: Sessions<State>,
    lanes: Lanes,
    /// Requests with a duration that another of their session follows, and those that the next one did not wait for.
    followed: u64,
    overtaken: u64,
}

#[derive(Debug, Default)]
struct State {
    texts: Texts,
    /// When the last request ended, by its duration.
    end_ns: Option<i64>,
}

impl Conversations {
    /// Takes the next line, and says once what becomes of it.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let name = self.name(entry);
        let fields = entry.fields;
        let session = self.sessions.get(&name);
        if let Some(end_ns) = session.state.end_ns.take() {
            self.followed += 1;
            self.overtaken += u64::from(end_ns > entry.until_ns);
        }
        let told = |name: Option<&[u8]>| name.filter(|name| !name.is_empty()).map(|name| out.intern(name));
        session.context.user = told(fields.user).or_else(|| session.context.user.take());
        session.context.client = told(fields.host).or_else(|| session.context.client.take());
        session.ended(entry, out);
        // Nothing waits in any of them.
        self.sessions.overdue();
    }

    /// The log ends.
    pub fn finish(&mut self) {
        self.sessions.drain();
    }

    /// What is wrong with the durations, if they cannot be what they seem. A file does not tell their unit.
    pub fn contradiction(&mut self) -> Option<String> {
        let (followed, overtaken) = (std::mem::take(&mut self.followed), std::mem::take(&mut self.overtaken));
        (followed >= ENOUGH && overtaken * 10 > followed).then(|| {
            format!(
                "{overtaken} of {followed} queries were followed by the next one of their session before they ended: the log may \
                 have durations in microseconds (duration_unit=us); they were taken for milliseconds"
            )
        })
    }

    /// What names the session of a line: its number, its file, or who asked.
    fn name(&mut self, entry: &Entry<'_>) -> CompactString {
        let fields = entry.fields;
        if let Some(number) = fields.session.or(entry.file) {
            return CompactString::from_utf8_lossy(number);
        }
        let part = |part: Option<&[u8]>| String::from_utf8_lossy(part.unwrap_or_default()).into_owned();
        let who = format!("{}@{}", part(fields.user), part(fields.host));
        let end_ns = entry.start_ns.saturating_add_unsigned(duration(fields).unwrap_or(0));
        self.lanes.name(&who, entry.start_ns, end_ns, TOLERANCE_NS)
    }
}

impl Session<State> {
    fn ended(&mut self, entry: &Entry<'_>, out: &mut Records<'_>) {
        let fields = entry.fields;
        let Some(sql) = fields.query else { return out.lost(Loss::LogMessage) };
        let database = fields.database.filter(|name| !name.is_empty()).map(|name| out.intern(name));
        self.lead(entry.start_ns, database, Some(sql), out);
        out.opened();
        let (kind, code) = match fields.command {
            Some(b"COM_STMT_PREPARE") => (Kind::Prepare, "16"),
            // An execution is written with its values.
            _ => (Kind::Query, "03"),
        };
        let mut row = self.row(kind, entry.start_ns);
        row.messages = code.into();
        let texts = self.state.texts;
        texts.set(&mut row, sql, out);
        if kind == Kind::Query && has_parameters(sql, texts.mode()) {
            // A preparation of a version that does not tell it, or use_canonical_form.
            row.truncated = true;
            out.missing(Loss::LogParameters, 1);
        } else if ends_in_line_comment(sql, texts.mode()) && memchr::memchr(b'\n', sql).is_none() {
            // The newline that ended the comment may have been replaced.
            row.truncated = true;
            out.missing(Loss::LogText, 1);
        }
        row.first_row_ns = fields.reply_time.map(millis);
        row.duration_ns = duration(fields);
        row.rows = fields.rows;
        row.warnings = fields.warnings.and_then(|warnings| u32::try_from(warnings).ok());
        let error = fields.error.filter(|error| !error.is_empty());
        // A log without the column has only what went well, as far as anybody knows.
        row.outcome = if error.is_some() { Outcome::Error } else { Outcome::Ok };
        row.error_message = error.map(|error| out.intern(error));
        row.node = fields.server.filter(|server| !server.is_empty()).map(|server| out.intern(server));
        self.state.texts.follow(&mut row, &mut self.context, out);
        self.state.end_ns = duration(fields).map(|duration| entry.start_ns.saturating_add_unsigned(duration));
        if let Some(end_ns) = row.end_ns() {
            // Stamps have seconds; they are not left for durations, whose unit is not sure.
            self.busy_until(end_ns.min(entry.until_ns.saturating_sub(1)));
        }
        out.request(row);
    }
}

/// How long it took, in nanoseconds.
fn duration(fields: &Fields<'_>) -> Option<u64> {
    fields.total_reply_time.or(fields.reply_time).map(millis)
}

fn millis(number: u64) -> u64 {
    number.saturating_mul(1_000_000)
}
