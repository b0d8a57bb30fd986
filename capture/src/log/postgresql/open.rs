//! An entry of the text log, of which more lines may follow.

use compact_str::CompactString;

use super::conversation::Conversations;
use super::entry::{Entry, Severity};
use crate::log::Records;
use crate::trace::Loss;

/// What one entry may hold.
const ENTRY_LIMIT: usize = 64 << 20;

/// An entry under way.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// It is accounted for already, and its lines are passed over.
    pub lost: bool,
    /// Number of its first line.
    pub line: u64,
    pub at_ns: i64,
    pub session_start_ns: Option<i64>,
    pub fields: [Option<CompactString>; 9],
    pub severity: Severity,
    pub message: Vec<u8>,
    pub detail: Option<Vec<u8>>,
    pub context: Option<Vec<u8>>,
    pub statement: Option<Vec<u8>>,
    /// Where a further line belongs.
    pub into: Into,
    /// Number of the entry within its process.
    pub number: Option<u64>,
    /// The last part of it that came, where it comes in parts.
    pub last_part: Vec<u8>,
    /// Empty lines, which belong to the entry only where more of it follows.
    pub blank: usize,
    /// Bytes beyond the limit.
    pub beyond: u64,
}

/// Where a further line belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Into {
    #[default]
    Message,
    Detail,
    Context,
    Statement,
    Nothing,
}

impl Open {
    /// A further line as it was before the server added a tab, which it does since version 8.
    pub fn without_tab<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        if self.message.starts_with(b"query: ") { text } else { further(text).unwrap_or(text) }
    }

    pub fn append(&mut self, between: &[u8], text: &[u8]) {
        let place = match self.into {
            Into::Message => &mut self.message,
            Into::Detail => self.detail.get_or_insert_default(),
            Into::Context => self.context.get_or_insert_default(),
            Into::Statement => self.statement.get_or_insert_default(),
            Into::Nothing => return,
        };
        if place.len() + text.len() > ENTRY_LIMIT {
            self.beyond += text.len() as u64;
            return;
        }
        place.extend_from_slice(between);
        place.extend_from_slice(text);
    }

    /// Adds a part that syslog cut off. The server cuts at newlines, which it leaves out and which a tab follows; at a blank
    /// near its limit, which begins the next part; and within a word only where the part has no blank.
    pub fn join(&mut self, part: &[u8]) {
        let full = |length: usize| (125..=128).contains(&length) || (897..=1024).contains(&length);
        let within_word = full(self.last_part.len()) && !self.last_part.iter().skip(1).any(u8::is_ascii_whitespace);
        let at_blank = part.starts_with(b" ") && further(part).is_none();
        let between: &[u8] = if at_blank || (within_word && further(part).is_none()) { b"" } else { b"\n" };
        self.append(between, self.without_tab(part));
        self.last_part.clear();
        self.last_part.extend_from_slice(part);
    }

    pub fn close(self, conversations: &mut Conversations, out: &mut Records<'_>) {
        out.missing(Loss::Oversized, self.beyond);
        if self.lost {
            return;
        }
        if self.beyond > 0
            || [&self.message[..], self.statement.as_deref().unwrap_or_default()].iter().any(|text| text.contains(&0))
        {
            out.began_at(self.line);
            out.lost(if self.beyond > 0 { Loss::LogTruncated } else { Loss::LogMalformed });
            return;
        }
        let [session, pid, user, database, application, client, tag, backend, code] =
            self.fields.each_ref().map(|field| field.as_deref().map(str::as_bytes));
        let entry = Entry {
            at_ns: self.at_ns,
            session,
            pid,
            session_start_ns: self.session_start_ns,
            user,
            database,
            application,
            client,
            tag,
            backend,
            severity: self.severity,
            code,
            message: &self.message,
            detail: self.detail.as_deref(),
            context: self.context.as_deref(),
            statement: self.statement.as_deref(),
        };
        conversations.entry(&entry, out);
    }
}

/// What stands behind the tab that begins a further line.
pub(super) fn further(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\t").or_else(|| text.strip_prefix(b"        "))
}
