//! What a session has committed itself.

use std::collections::HashMap;
use std::sync::Arc;

use crate::staleness::{Place, Scope};

/// The last commits of one session.
#[derive(Debug, Default)]
pub(super) struct OwnCommits {
    tables: HashMap<Arc<str>, i64>,
    /// One whose tables are not known.
    any_ns: Option<i64>,
    /// The last one of all.
    pub last: Option<Place>,
}

impl OwnCommits {
    /// Takes a commit that changed something.
    pub fn push(&mut self, place: Place, changed: &Scope) {
        match changed {
            Scope::Any => self.any_ns = Some(place.end_ns),
            Scope::Tables(tables) if tables.is_empty() => return,
            Scope::Tables(tables) => {
                for table in tables {
                    self.tables.insert(table.clone(), place.end_ns);
                }
            }
        }
        self.last = Some(place);
    }

    /// The end of the last one that changed these tables.
    pub fn newest(&self, scope: &Scope) -> Option<i64> {
        if scope.is_empty() {
            return None;
        }
        let named = match scope {
            Scope::Any => self.tables.values().copied().max(),
            Scope::Tables(tables) => tables.iter().filter_map(|table| self.tables.get(table)).copied().max(),
        };
        named.max(self.any_ns)
    }
}
