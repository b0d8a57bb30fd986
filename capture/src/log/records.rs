//! Where a reader accounts for every entry and puts its rows.

use std::path::PathBuf;
use std::sync::Arc;

use super::input::Reached;
use super::source::Pace;
use super::unread::Places;
use super::{Error, Statistics};
use crate::session::{Shared, Text};
use crate::trace::{Loss, Losses, Request, Sink};

/// Entries between two looks at the clock.
const LOOK_EVERY: u64 = 1024;

/// Where a reader accounts for every entry and puts its rows.
///
/// Whoever cuts the input into entries calls [`entry`](Self::entry) for each, and whoever understands it then says exactly
/// once what became of it: [`opened`](Self::opened), [`joined`](Self::joined) or [`lost`](Self::lost).
pub(super) struct Records<'a> {
    pub sink: &'a mut dyn Sink,
    pub shared: &'a Shared,
    pub statistics: &'a mut Statistics,
    pub losses: &'a mut Losses,
    pub damaged: &'a mut Vec<Error>,
    pub pace: &'a mut Pace,
    /// Time of this file's first entry.
    pub first_ns: Option<i64>,
    pub unread: &'a mut Places,
    /// The file at hand, and what places in it are counted in.
    pub path: PathBuf,
    pub unit: &'static str,
    /// How far it was read.
    pub reached: Reached,
    /// Where the entry at hand begins.
    pub place: u64,
}

impl Records<'_> {
    /// An entry was read; `at_ns` is its time, where it has one.
    pub fn entry(&mut self, at_ns: Option<i64>) {
        self.statistics.entries += 1;
        self.place = if self.unit == "byte" { self.reached.bytes } else { self.reached.lines };
        if let Some(at_ns) = at_ns {
            self.first_ns.get_or_insert(at_ns);
            self.statistics.last_ns = self.statistics.last_ns.max(Some(at_ns));
        }
        if self.statistics.entries.is_multiple_of(LOOK_EVERY) {
            self.pace.look(self.reached.taken, self.statistics, self.losses, self.sink);
        }
    }

    /// Number of the line that was read last.
    pub fn line(&self) -> u64 {
        self.reached.lines
    }

    /// Where the entry at hand begins, when that is not the line that was read last.
    pub fn began_at(&mut self, place: u64) {
        self.place = place;
    }

    /// The entry is a request of its own.
    pub fn opened(&mut self) {
        self.statistics.opened += 1;
    }

    /// The entry tells more of a request.
    pub fn joined(&mut self) {
        self.statistics.joined += 1;
    }

    /// The entry did not become part of a request.
    pub fn lost(&mut self, loss: Loss) {
        debug_assert_eq!(loss.unit(), "entries");
        self.losses.add(loss, 1);
        if matches!(loss, Loss::LogMalformed | Loss::LogTruncated | Loss::LogForeign) {
            self.unread.add(&self.path, loss, self.unit, self.place);
        }
    }

    /// Something is missing that is not counted in entries.
    pub fn missing(&mut self, loss: Loss, amount: u64) {
        self.losses.add(loss, amount);
    }

    /// A row that an entry opened.
    pub fn request(&mut self, row: Request) {
        self.sink.request(row);
    }

    /// A row that no entry tells of.
    pub fn made_up(&mut self, row: Request) {
        self.statistics.made_up += 1;
        self.sink.request(row);
    }

    /// Something about the contents of the file at hand that the user must know.
    pub fn problem(&mut self, what: impl Into<String>) {
        self.damaged.push(Error::Contents { path: self.path.clone(), what: what.into() });
    }

    /// Prepares a statement's text for the trace, without passwords, and counts its shape.
    pub fn text(&self, bytes: &[u8]) -> Text {
        self.shared.text(bytes)
    }

    /// The one copy of a user, database, application or address.
    pub fn intern(&self, name: &[u8]) -> Arc<str> {
        self.shared.intern(name)
    }
}

/// Sets the text of a row.
pub(super) fn set_text(row: &mut Request, text: &Text) {
    row.sql = Some(Arc::clone(&text.sql));
    row.sql_raw.clone_from(&text.raw);
    row.shape_id = Some(text.shape_id);
}
