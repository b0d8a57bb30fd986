//! Tables whose contents may differ from run to run.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::trace::{Outcome, Request};

use super::key::gives_key;
use super::statement::Statement;
use crate::staleness::Scope;

/// What was written that may be something else in each run.
#[derive(Debug, Default)]
pub(super) struct Taints {
    /// Tables whose contents may differ in each run, since when, and why.
    tables: HashMap<Arc<str>, (i64, Arc<str>)>,
    /// When something first wrote to tables that are not known.
    unknown_ns: Option<i64>,
}

impl Taints {
    /// Takes a request.
    pub fn step(&mut self, request: &Request, statement: &Statement) {
        let at_ns = request.start_ns;
        // What failed has written nothing.
        if request.outcome != Outcome::Error && !statement.written_vary.is_empty() {
            let given: &[Arc<str>] = if gives_key(request) { &statement.keys_asked } else { &[] };
            for (table, why) in statement.written_vary.iter().filter(|(table, _)| !given.contains(table)) {
                self.tables.entry(table.clone()).or_insert_with(|| (at_ns, why.clone()));
            }
        }
        if (statement.writes_any || statement.redefines) && request.outcome == Outcome::Ok {
            self.unknown_ns.get_or_insert(at_ns);
        }
    }

    /// Why what these tables hold may have been something else before this time.
    pub fn of(&self, scope: &Scope, before_ns: i64) -> Option<Arc<str>> {
        let mut tainted = self.tables.iter().filter(|(table, (since_ns, _))| {
            let named = match scope {
                Scope::Any => true,
                Scope::Tables(tables) => tables.contains(table),
            };
            named && *since_ns < before_ns
        });
        tainted.next().map(|(_, (_, why))| why.clone())
    }

    /// Whether something whose tables are not known wrote before this time.
    pub fn unknown(&self, scope: &Scope, before_ns: i64) -> bool {
        !scope.is_empty() && self.unknown_ns.is_some_and(|since_ns| since_ns < before_ns)
    }
}
