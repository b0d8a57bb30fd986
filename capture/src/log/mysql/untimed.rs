//! Entries without a time of their own.
//!
//! A log before version 5.7, and MariaDB's, writes a time only where the second has changed. Entries before the first time of
//! a file wait for it; it is the second after theirs, or their own.

use crate::log::Records;
use crate::log::time::Ticks;

/// Bytes of entries that wait.
const LIMIT: usize = 64 << 20;

/// An entry that can be given a time.
pub(super) trait Entry {
    /// The time in its own words, nanoseconds since 1970 UTC, and what that does not tell apart.
    fn stamp(&self) -> Option<(i64, i64)>;

    /// Bytes that it holds.
    fn size(&self) -> usize;
}

/// Gives every entry a time.
#[derive(Debug)]
pub(super) struct Untimed<E> {
    waiting: Vec<E>,
    bytes: usize,
    /// The last time of this file.
    stamp: Option<(i64, i64)>,
    ticks: Ticks,
    /// The last time given.
    last_ns: i64,
    /// An entry came out for which no time is known.
    guessed: bool,
}

impl<E> Default for Untimed<E> {
    fn default() -> Self {
        Untimed { waiting: Vec::new(), bytes: 0, stamp: None, ticks: Ticks::default(), last_ns: 0, guessed: false }
    }
}

impl<E: Entry> Untimed<E> {
    /// Takes an entry, and gives those that have a time now to `next`.
    pub fn push(&mut self, entry: E, mut next: impl FnMut(E, i64)) {
        match entry.stamp().or(self.stamp) {
            Some(stamp) => {
                self.stamp = Some(stamp);
                self.release(&mut next);
                let at_ns = self.tick(stamp);
                next(entry, at_ns);
            }
            None => {
                self.bytes += entry.size();
                self.waiting.push(entry);
                if self.bytes > LIMIT {
                    self.release(&mut next);
                }
            }
        }
    }

    /// A file ends.
    pub fn end_of_file(&mut self, out: &mut Records<'_>, mut next: impl FnMut(E, i64, &mut Records<'_>)) {
        self.release(|entry, at_ns| next(entry, at_ns, out));
        self.stamp = None;
        if std::mem::take(&mut self.guessed) {
            let what = "its entries have no time: they are put one after another, from 1970 on or from the end of the file before";
            out.problem(what);
        }
    }

    fn release(&mut self, mut next: impl FnMut(E, i64)) {
        for entry in std::mem::take(&mut self.waiting) {
            let at_ns = match self.stamp {
                Some(stamp) => self.tick(stamp),
                None => {
                    self.guessed = true;
                    self.last_ns += 1;
                    self.last_ns
                }
            };
            next(entry, at_ns);
        }
        self.bytes = 0;
    }

    fn tick(&mut self, (stamp_ns, resolution_ns): (i64, i64)) -> i64 {
        self.last_ns = self.ticks.next(stamp_ns, resolution_ns);
        self.last_ns
    }
}
