//! Sessions of a log that does not tell them apart.
//!
//! Some logs tell who asked and not in which connection. A connection does one thing at a time, so that requests of the same
//! name which overlap were sent in several. The fewest that suffice are taken.

use std::collections::{BTreeSet, HashMap};

use compact_str::{CompactString, format_compact};

/// Names that are remembered at a time.
const LIMIT: usize = 50_000;

/// How long each of the connections of a name was busy.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    by_name: HashMap<CompactString, Busy>,
}

#[derive(Debug, Default)]
struct Busy {
    /// The end of the last request of each, and its number.
    until: BTreeSet<(i64, u32)>,
}

impl Lanes {
    /// Names the connection of a request: one that was free by then, or a new one. Stamps of requests that follow one another
    /// may overlap by `tolerance_ns`.
    pub fn name(&mut self, who: &str, start_ns: i64, end_ns: i64, tolerance_ns: i64) -> CompactString {
        if self.by_name.len() >= LIMIT && !self.by_name.contains_key(who) {
            self.by_name.clear();
        }
        let busy = self.by_name.entry(CompactString::new(who)).or_default();
        let (begun, free) = ((start_ns, u32::MAX), (start_ns.saturating_add(tolerance_ns), u32::MAX));
        let found = busy.until.range(..=begun).next_back().or_else(|| busy.until.range(..=free).next()).copied();
        let number = match found {
            Some(lane) => {
                busy.until.remove(&lane);
                lane.1
            }
            None => u32::try_from(busy.until.len()).unwrap_or(u32::MAX),
        };
        busy.until.insert((end_ns.max(found.map_or(i64::MIN, |(until, _)| until)), number));
        format_compact!("{who} {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_overlap_are_of_several_connections() {
        let mut lanes = Lanes::default();
        let mut name = |who, start, end| lanes.name(who, start, end, 2).to_string();
        assert_eq!(name("a", 0, 10), "a 0");
        assert_eq!(name("a", 5, 12), "a 1");
        assert_eq!(name("b", 5, 12), "b 0");
        // Within the tolerance of the first, and of the second.
        assert_eq!(name("a", 8, 20), "a 0");
        assert_eq!(name("a", 10, 21), "a 1");
        // Both are free: the one that was busy last, and then the other.
        assert_eq!(name("a", 30, 31), "a 1");
        assert_eq!(name("a", 30, 32), "a 0");
        assert_eq!(name("a", 0, 1), "a 2");
    }
}
