//! Shape ids on the hot path of a capture.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Dialect;
use super::dialect::Normalizer;

/// Texts remembered in each of the two halves of the cache.
const REMEMBERED: usize = 1 << 15;
/// Shapes of which text and sample are kept. A workload with more builds its statements by hand.
const COLLECTED: usize = 1 << 18;
/// Of texts with literals, one in so many is remembered while none of them comes again.
const TRIED: u32 = 16;
/// How long one that came again vouches for the others, in texts that do not.
const VOUCHED: u32 = 16;
/// A sample longer than this gives way to a shorter one.
const LONG_SAMPLE: usize = 4096;

/// One shape as seen in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// xxh3-64 of `text`.
    pub id: u64,
    /// The normalised text.
    pub text: String,
    /// A statement of this shape as it was sent, passwords masked: the first, or the shortest if that was long.
    pub sample: String,
    /// How the sample is read.
    pub dialect: Dialect,
    /// How many statements had this shape.
    pub count: u64,
}

/// Gives statements their shape ids and collects the shapes.
///
/// Texts seen before are known by their 64-bit hash in a cache of bounded size, so an application that sends the same
/// texts again costs one hash of the text. Texts with literals go into it only where they do come again. There is one owner; it needs
/// no lock.
#[derive(Debug)]
pub struct Shapes {
    dialect: Dialect,
    normalizer: Normalizer,
    recent: Index,
    older: Index,
    by_id: Index,
    shapes: Vec<Shape>,
    /// Of each shape: whether its statements have literals or placeholders.
    varies: Vec<bool>,
    /// Texts with literals that will be remembered, because others came again.
    vouched: u32,
    tried: u32,
    limit: usize,
    uncollected: u64,
}

impl Shapes {
    /// An empty collection of statements in this dialect.
    pub fn new(dialect: Dialect) -> Self {
        Shapes::with_limit(dialect, COLLECTED)
    }

    fn with_limit(dialect: Dialect, limit: usize) -> Self {
        Shapes {
            dialect,
            normalizer: Normalizer::default(),
            recent: Index::default(),
            older: Index::default(),
            by_id: Index::default(),
            shapes: Vec::new(),
            varies: Vec::new(),
            vouched: 0,
            tried: 0,
            limit,
            uncollected: 0,
        }
    }

    /// The shape id of a statement, which is counted.
    pub fn id(&mut self, sql: &str) -> u64 {
        self.id_in(sql, self.dialect)
    }

    /// The same for a statement of a session that reads its texts in its own way (`sql_mode`).
    pub fn id_in(&mut self, sql: &str, dialect: Dialect) -> u64 {
        let text = xxh3_64_with_seed(sql.as_bytes(), dialect.seed());
        if let Some(at) = self.known(text)
            && let Some(shape) = self.shapes.get_mut(at)
        {
            if self.varies.get(at) == Some(&true) {
                self.vouched = (self.vouched + VOUCHED).min(REMEMBERED as u32);
            }
            shape.count += 1;
            return shape.id;
        }
        let id = self.normalizer.id(sql, dialect);
        let at = match self.by_id.get(&id) {
            Some(&at) => at,
            None if self.shapes.len() < self.limit => self.collect(id, sql, dialect),
            None => {
                self.uncollected += 1;
                return id;
            }
        };
        if let Some(shape) = self.shapes.get_mut(at as usize) {
            shape.count += 1;
            if shape.sample.len() > LONG_SAMPLE && sql.len() < shape.sample.len() {
                shape.sample = dialect.mask_password(sql).into_owned();
                shape.dialect = dialect;
            }
        }
        if self.is_worth_it(at) {
            self.remember(text, at);
        }
        id
    }

    /// The dialect of statements whose session names no other.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The shapes seen so far, in the order in which they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter()
    }

    /// Number of shapes collected.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// True when no statement was seen.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// Statements whose shape was not collected, because there were too many shapes already. Their ids are right.
    pub fn uncollected(&self) -> u64 {
        self.uncollected
    }

    fn known(&mut self, text: u64) -> Option<usize> {
        if let Some(&at) = self.recent.get(&text) {
            return Some(at as usize);
        }
        let at = *self.older.get(&text)?;
        self.remember(text, at);
        Some(at as usize)
    }

    /// Whether a new text of this shape goes into the cache.
    fn is_worth_it(&mut self, at: u32) -> bool {
        if self.varies.get(at as usize) != Some(&true) {
            return true;
        }
        self.tried = (self.tried + 1) % TRIED;
        let vouched = self.vouched > 0;
        self.vouched = self.vouched.saturating_sub(1);
        vouched || self.tried == 0
    }

    /// Two halves make a cheap cache: when the recent one is full, it becomes the older one, which is dropped.
    fn remember(&mut self, text: u64, at: u32) {
        if self.recent.len() >= REMEMBERED {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(text, at);
    }

    fn collect(&mut self, id: u64, sql: &str, dialect: Dialect) -> u32 {
        let at = self.shapes.len() as u32;
        let text = self.normalizer.run(sql, dialect).to_owned();
        self.varies.push(text.contains('?'));
        self.shapes.push(Shape { id, text, sample: dialect.mask_password(sql).into_owned(), dialect, count: 0 });
        self.by_id.insert(id, at);
        at
    }
}

/// From a hash to a place in `Shapes::shapes`.
type Index = HashMap<u64, u32, BuildHasherDefault<Hashed>>;

/// The keys are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::mysql::Mode;
    use crate::sql::shape_id;

    #[test]
    fn ids_are_those_of_the_texts_and_shapes_are_counted() {
        let mut shapes = Shapes::new(Dialect::Postgresql);
        for number in 0..10 {
            let sql = format!("SELECT {}", number % 4);
            assert_eq!(shapes.id(&sql), shape_id(&sql));
        }
        shapes.id("BEGIN");
        let seen: Vec<_> =
            shapes.iter().map(|shape| (shape.text.as_str(), shape.sample.as_str(), shape.count)).collect();
        assert_eq!(seen, [("select ?", "SELECT 0", 10), ("begin", "BEGIN", 1)]);
    }

    #[test]
    fn a_text_has_a_shape_in_each_way_to_read_it() {
        let mode = Mode::default();
        let ansi = Mode { ansi_quotes: true, ..mode };
        let mut shapes = Shapes::new(Dialect::Mysql(mode));
        for dialect in [Dialect::Mysql(mode), Dialect::Mysql(ansi), Dialect::Postgresql, Dialect::Mysql(mode)] {
            assert_eq!(shapes.id_in("SELECT \"a\" # b", dialect), dialect.shape_id("SELECT \"a\" # b"));
        }
        let seen: Vec<_> = shapes.iter().map(|shape| (shape.text.as_str(), shape.count)).collect();
        assert_eq!(seen, [("select ?", 2), ("select \"a\"", 1), ("select \"a\" # b", 1)]);
    }

    #[test]
    fn memory_is_bounded_and_what_does_not_fit_is_counted() {
        let mut shapes = Shapes::with_limit(Dialect::Postgresql, 2);
        for number in 0..3 * REMEMBERED {
            shapes.id(&format!("SELECT {number}"));
        }
        assert!(shapes.recent.len() <= REMEMBERED && shapes.older.len() <= REMEMBERED);
        shapes.id("SELECT a");
        assert_eq!(shapes.id("SELECT b"), shape_id("SELECT b"));
        assert_eq!((shapes.len(), shapes.uncollected()), (2, 1));
    }

    #[test]
    fn texts_with_literals_are_remembered_where_they_come_again() {
        let mut shapes = Shapes::new(Dialect::Postgresql);
        for number in 0..1000 {
            shapes.id(&format!("SELECT {number}"));
        }
        assert_eq!(shapes.recent.len(), 1000 / TRIED as usize);
        for _ in 0..TRIED {
            shapes.id("BEGIN");
            for number in 0..100 {
                shapes.id(&format!("SELECT a FROM t WHERE b = {number}"));
            }
        }
        assert_eq!(shapes.recent.len(), 1000 / TRIED as usize + 101, "each of them, and BEGIN at its first time");
    }

    #[test]
    fn samples_are_short_and_without_passwords() {
        let mut shapes = Shapes::new(Dialect::Postgresql);
        shapes.id(&format!("SELECT '{}'", "x".repeat(5000)));
        shapes.id("SELECT 'x'");
        shapes.id("ALTER ROLE bob PASSWORD 'secret'");
        let samples: Vec<_> = shapes.iter().map(|shape| shape.sample.as_str()).collect();
        assert_eq!(samples, ["SELECT 'x'", "ALTER ROLE bob PASSWORD '***'"]);
    }
}
