//! Where the entries are that could not be read.

use std::path::{Path, PathBuf};

use crate::trace::Loss;

/// Places that are kept of one file and reason.
const LIMIT: usize = 1000;

/// The entries of one file that could not be read, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub reason: Loss,
    /// What places are counted in: `line`, from 1 on, or `byte`, from 0 on, of the unpacked text.
    pub unit: &'static str,
    /// Where they begin, from the first to the last of a run without gaps.
    pub places: Vec<(u64, u64)>,
    /// How many more places there are.
    pub more: u64,
}

/// What became unread so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    all: Vec<Unread>,
    /// Where those of the file at hand begin.
    file: usize,
}

impl Places {
    /// An entry that begins there is not read.
    pub fn add(&mut self, path: &Path, reason: Loss, unit: &'static str, place: u64) {
        let of_file = self.all.get_mut(self.file..).unwrap_or_default();
        let Some(unread) = of_file.iter_mut().find(|unread| unread.reason == reason) else {
            let places = vec![(place, place)];
            return self.all.push(Unread { path: path.to_owned(), reason, unit, places, more: 0 });
        };
        if let Some((_, last)) = unread.places.last_mut()
            && (place == *last || place == *last + 1)
        {
            *last = place;
        } else if unread.places.len() < LIMIT {
            unread.places.push((place, place));
        } else {
            unread.more += 1;
        }
    }

    /// A file ends. Entries of several processes do not end in the order in which they begin.
    pub fn end_of_file(&mut self) {
        for unread in self.all.get_mut(self.file..).unwrap_or_default() {
            unread.places.sort_unstable();
        }
        self.file = self.all.len();
    }

    /// All of them, file by file.
    pub fn into_all(self) -> Vec<Unread> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_order_and_without_end() {
        let mut places = Places::default();
        let mut add = |path: &str, reason, place| places.add(Path::new(path), reason, "line", place);
        for line in [3, 4, 5, 9, 7] {
            add("a.log", Loss::LogMalformed, line);
        }
        add("a.log", Loss::LogTruncated, 12);
        places.end_of_file();
        for line in 0..LIMIT as u64 + 5 {
            places.add(Path::new("b.log"), Loss::LogMalformed, "line", line * 2);
        }
        places.end_of_file();
        let all = places.into_all();
        let told: Vec<_> = all.iter().map(|unread| (unread.path.to_str(), unread.reason, unread.more)).collect();
        assert_eq!(
            told,
            [
                (Some("a.log"), Loss::LogMalformed, 0),
                (Some("a.log"), Loss::LogTruncated, 0),
                (Some("b.log"), Loss::LogMalformed, 5)
            ]
        );
        assert_eq!(all[0].places, [(3, 5), (7, 7), (9, 9)]);
    }
}
