//! Proving that a statement only reads, for `--only reads`.
//!
//! - [`Reads`]: remembers what was proven
//! - [`Session`]: what was sent of a session of MySQL
//! - `postgresql`, `mysql`: what is proven, by engine

mod mysql;
mod postgresql;
mod routines;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use splitproof_capture::trace::Engine;

use crate::catalog::Catalog;

pub use mysql::Session;

/// Proves statements to be reads, with the pair's catalogue. Remembers its verdict by shape: statements of different
/// effect never share one.
#[derive(Debug)]
pub struct Reads {
    rules: Rules,
    known: Mutex<HashMap<u64, bool>>,
}

#[derive(Debug)]
enum Rules {
    Postgresql(postgresql::Rules),
    Mysql(mysql::Rules),
}

impl Reads {
    /// With the functions and views of this catalogue, for servers of these versions.
    pub fn new<'a>(engine: Engine, catalog: Catalog, versions: impl IntoIterator<Item = &'a str>) -> Self {
        let rules = match engine {
            Engine::Postgresql => Rules::Postgresql(postgresql::Rules::new(catalog)),
            Engine::Mysql => Rules::Mysql(mysql::Rules::new(&catalog, versions)),
        };
        Reads { rules, known: Mutex::default() }
    }

    /// True when every statement of the text is proven to change nothing that outlives the session: it reads without
    /// locks and calls no volatile function, or it shapes the session's transactions or settings, on which its reads
    /// depend. What is not understood is not proven. `session` is what was sent before in the same session.
    pub fn allows(&self, session: &mut Session, shape_id: Option<u64>, sql: &str) -> bool {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let shape_id = shape_id.filter(|_| self.is_told_by_shape(sql));
        if let Some(shape_id) = shape_id
            && let Some(&known) = lock().get(&shape_id)
        {
            return known;
        }
        let verdict = match &self.rules {
            Rules::Postgresql(rules) => rules.prove(sql),
            Rules::Mysql(rules) => rules.prove(session, sql),
        };
        if let Some(shape_id) = shape_id {
            lock().insert(shape_id, verdict);
        }
        verdict
    }

    /// False where texts of one shape may be of different effect.
    fn is_told_by_shape(&self, sql: &str) -> bool {
        match self.rules {
            Rules::Postgresql(_) => true,
            Rules::Mysql(_) => mysql::is_told_by_shape(sql),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_kept_by_shape() {
        for engine in [Engine::Postgresql, Engine::Mysql] {
            let reads = Reads::new(engine, Catalog::default(), []);
            let mut session = Session::default();
            assert!(reads.allows(&mut session, Some(7), "SELECT 1"));
            assert!(reads.allows(&mut session, Some(7), "this text is not looked at again"));
        }
    }

    #[test]
    fn what_a_session_prepared_and_how_it_quotes_is_not_in_the_shape() {
        let reads = Reads::new(Engine::Mysql, Catalog::default(), []);
        let mut session = Session::default();
        assert!(!reads.allows(&mut session, Some(7), "EXECUTE s"));
        assert!(reads.allows(&mut session, Some(8), "PREPARE s FROM 'SELECT 1'"));
        assert!(reads.allows(&mut session, Some(7), "EXECUTE s"));
        assert!(reads.allows(&mut session, Some(9), "SELECT 'a'"));
        let text = "SELECT 'a\\'; DELETE FROM t; -- '";
        assert!(reads.allows(&mut session, Some(9), text));
        assert!(reads.allows(&mut session, Some(10), "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"));
        assert!(!reads.allows(&mut session, Some(9), text));
    }
}
