//! Checksums of an answer: 128-bit xxHash over the result as it came, three ways at once.
//!
//! - `rows`: every row body with its length, in order, with a mark between result sets.
//! - `full`: `rows` and the completion information (command tags).
//! - `rowset`: the rows of each result set in any order, for results that no ORDER BY fixes.
//!
//! Column names and types take no part: a router may answer the same rows with another RowDescription
//! (a renamed prepared statement, a Describe left out), and that is not a different answer.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// A length that no row can have, so that a mark is never mistaken for a row.
const RESULT_END: [u8; 4] = u32::MAX.to_le_bytes();

/// The three checksums of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest {
    /// Over rows and completion information.
    pub full: u128,
    /// Over rows, in order.
    pub rows: u128,
    /// Over rows, order ignored inside each result set.
    pub rowset: u128,
}

/// Takes an answer piece by piece; memory does not grow with the answer.
#[derive(Clone)]
pub struct Checksums {
    rows: Xxh3Default,
    tags: u128,
    finished_sets: u128,
    set_sum: u128,
    set_rows: u64,
}

impl Default for Checksums {
    fn default() -> Self {
        Checksums { rows: Xxh3Default::new(), tags: 0, finished_sets: 0, set_sum: 0, set_rows: 0 }
    }
}

impl Checksums {
    /// An answer without rows so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what was added, for the next answer.
    pub fn reset(&mut self) {
        self.rows.reset();
        self.tags = 0;
        self.finished_sets = 0;
        self.set_sum = 0;
        self.set_rows = 0;
    }

    /// Adds one row: the body of its message as it came (for COPY, one message of data).
    pub fn row(&mut self, body: &[u8]) {
        // Messages are shorter than 2 GiB in the protocols at hand, so the cast keeps the length.
        self.rows.update(&(body.len() as u32).to_le_bytes());
        self.rows.update(body);
        self.set_sum = self.set_sum.wrapping_add(xxh3_128(body));
        self.set_rows += 1;
    }

    /// Ends a result set with its completion information, such as the command tag.
    pub fn end_result(&mut self, tag: &[u8]) {
        self.rows.update(&RESULT_END);
        self.tags = chain(self.tags, xxh3_128(tag), tag.len() as u64);
        self.fold_set();
    }

    /// The checksums of everything added since the last reset. A result set that did not end
    /// (a suspended portal) counts as far as it came.
    pub fn digest(&self) -> Digest {
        let mut open = (self.finished_sets, self.set_sum, self.set_rows);
        if open.2 > 0 {
            open.0 = chain(open.0, open.1, open.2);
        }
        let rows = self.rows.digest128();
        Digest { full: chain(rows, self.tags, 0), rows, rowset: open.0 }
    }

    fn fold_set(&mut self) {
        self.finished_sets = chain(self.finished_sets, self.set_sum, self.set_rows);
        self.set_sum = 0;
        self.set_rows = 0;
    }
}

/// Mixes a hash and a count into what came before, so that order and number of the parts matter.
fn chain(before: u128, part: u128, count: u64) -> u128 {
    let mut bytes = [0; 40];
    let (head, rest) = bytes.split_at_mut(16);
    let (middle, tail) = rest.split_at_mut(16);
    head.copy_from_slice(&before.to_le_bytes());
    middle.copy_from_slice(&part.to_le_bytes());
    tail.copy_from_slice(&count.to_le_bytes());
    xxh3_128(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sets: &[(&[&[u8]], &[u8])]) -> Digest {
        let mut sums = Checksums::new();
        for (rows, tag) in sets {
            rows.iter().for_each(|row| sums.row(row));
            sums.end_result(tag);
        }
        sums.digest()
    }

    #[test]
    fn order_matters_to_rows_and_not_to_rowset() {
        let (a, b) = (of(&[(&[b"1", b"2"], b"SELECT 2")]), of(&[(&[b"2", b"1"], b"SELECT 2")]));
        assert_ne!(a.rows, b.rows);
        assert_ne!(a.full, b.full);
        assert_eq!(a.rowset, b.rowset);
    }

    #[test]
    fn the_tag_matters_to_full_only() {
        let (a, b) = (of(&[(&[], b"UPDATE 1")]), of(&[(&[], b"UPDATE 2")]));
        assert_eq!((a.rows, a.rowset), (b.rows, b.rowset));
        assert_ne!(a.full, b.full);
    }

    #[test]
    fn rows_do_not_run_together_and_duplicates_count() {
        assert_ne!(of(&[(&[b"ab", b"c"], b"")]).rows, of(&[(&[b"a", b"bc"], b"")]).rows);
        let (once, twice) = (of(&[(&[b"a"], b"")]), of(&[(&[b"a", b"a"], b"")]));
        assert_ne!(once.rowset, twice.rowset);
        assert_ne!(of(&[(&[b""], b"")]).rowset, of(&[(&[], b"")]).rowset);
    }

    #[test]
    fn a_row_belongs_to_its_result_set() {
        let (a, b) = (of(&[(&[b"1"], b"x"), (&[b"2"], b"x")]), of(&[(&[b"1", b"2"], b"x"), (&[], b"x")]));
        assert_ne!(a.rows, b.rows);
        assert_ne!(a.rowset, b.rowset);
    }

    #[test]
    fn reset_leaves_nothing_behind() {
        let mut sums = Checksums::new();
        sums.row(b"left over");
        sums.reset();
        assert_eq!(sums.digest(), Checksums::new().digest());
        sums.row(b"1");
        sums.end_result(b"SELECT 1");
        assert_eq!(sums.digest(), of(&[(&[b"1"], b"SELECT 1")]));
    }

    #[test]
    fn the_values_are_part_of_the_format() {
        // Traces are compared across versions: these must never change.
        let digest = of(&[(&[b"\0\x01\0\0\0\x011"], b"SELECT 1")]);
        let hex = [digest.full, digest.rows, digest.rowset].map(|sum| format!("{sum:032x}"));
        let known = [
            "2471de092bb88e7e3e3265836e60b08a",
            "21fc65d26c8862aec9ebb359671e2c23",
            "b73670b87fe56da1df2dce3ea7704de6",
        ];
        assert_eq!(hex, known);
    }
}
