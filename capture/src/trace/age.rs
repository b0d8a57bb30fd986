//! How the rows of one file are split into row groups, so that a reader streams in start order with bounded memory.
//!
//! Rows come in the order in which they finish, so a file holds requests that began before an earlier file ended.
//! The rows that began after everything before the file are its main group; main groups of different files never
//! overlap. The others are grouped by how many files back they reach: 1, 2 to 3, 4 to 7, and so on. A reader that
//! meets the first row of a group which reaches back `n` files has to hold the group for about `n` files, but only
//! requests that lasted at least `n / 2` files are in it. So what it holds at any time is, for each of the few classes,
//! about as many rows as there were requests in flight, however long the trace is and however long a request lasted.

use std::ops::Range;

/// What orders rows: start, session, seq.
pub(crate) type Key = (i64, u64, u32);

/// The newest row of each file written so far, or of a file before it.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    newest: Vec<Key>,
}

impl Ages {
    /// Splits the sorted keys of the next file into the row groups of that file, oldest first.
    pub(crate) fn split(&self, keys: &[Key]) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut end = keys.len();
        let mut back = 1;
        while end > 0 {
            let start = match self.newest.len().checked_sub(back) {
                Some(file) => keys[..end].partition_point(|key| key < &self.newest[file]),
                None => 0,
            };
            if start < end {
                groups.push(start..end);
            }
            end = start;
            back *= 2;
        }
        groups.reverse();
        groups
    }

    /// Remembers a file by its sorted keys.
    pub(crate) fn push(&mut self, keys: &[Key]) {
        let before = self.newest.last().copied();
        if let Some(newest) = keys.last().copied().max(before) {
            self.newest.push(newest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(starts: &[i64]) -> Vec<Key> {
        starts.iter().map(|&start| (start, 0, 0)).collect()
    }

    #[test]
    fn the_first_file_is_one_group() {
        let groups = Ages::default().split(&keys(&[1, 2, 3]));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups.first(), Some(&(0..3)));
        assert!(Ages::default().split(&[]).is_empty());
    }

    #[test]
    fn older_rows_are_grouped_by_how_far_they_reach_back() {
        let mut ages = Ages::default();
        for newest in [10, 20, 30, 40] {
            ages.push(&keys(&[newest]));
        }
        // After 40: main. From 30: one file back. From 10: two to three. Before: older than all.
        assert_eq!(ages.split(&keys(&[5, 15, 25, 31, 35, 40, 50])), [0..1, 1..3, 3..5, 5..7]);
    }

    #[test]
    fn a_file_of_old_rows_does_not_move_the_newest_back() {
        let mut ages = Ages::default();
        ages.push(&keys(&[100]));
        ages.push(&keys(&[50]));
        assert_eq!(ages.split(&keys(&[60, 110])), [0..1, 1..2]);
    }
}
