//! Shapes that production is held against.

use std::collections::{BTreeSet, HashMap};

use splitproof_capture::trace::{self, Reader};

use crate::attribution::needs_execution;
use crate::check::Fixture;
use crate::run::dialect;

/// One shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownShape {
    /// Requests of it.
    pub requests: u64,
    /// The shape's text.
    pub text: String,
    /// A statement of it.
    pub sample: String,
}

/// The shapes of a window or of a fixture, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The shapes.
    pub shapes: HashMap<u64, KnownShape>,
}

impl Known {
    /// The shapes that a trace executes.
    pub fn of_trace(trace: &Reader) -> Result<Self, trace::Error> {
        let dialect = dialect(trace.manifest().engine, "");
        let mut known = Known::default();
        for request in trace.requests() {
            let request = request?;
            let Some(sql) = request.sql.as_deref().filter(|_| needs_execution(&request)) else { continue };
            let id = request.shape_id.unwrap_or_else(|| dialect.shape_id(sql));
            known.add(id, sql, |sql| dialect.normalize(sql));
        }
        Ok(known)
    }

    /// The shapes of all statements of some fixtures.
    pub fn of_fixtures(fixtures: &[Fixture]) -> Self {
        let mut known = Known::default();
        for fixture in fixtures {
            let dialect = dialect(fixture.engine, "");
            for step in fixture.cases.iter().flat_map(|case| &case.session) {
                known.add(dialect.shape_id(&step.sql), &step.sql, |sql| dialect.normalize(sql));
            }
        }
        known
    }

    fn add(&mut self, id: u64, sql: &str, normalize: impl FnOnce(&str) -> String) {
        let shape = self.shapes.entry(id).or_insert_with(|| KnownShape {
            requests: 0,
            text: normalize(sql),
            sample: sql.to_owned(),
        });
        shape.requests += 1;
    }

    /// The ids of the shapes.
    pub fn ids(&self) -> BTreeSet<u64> {
        self.shapes.keys().copied().collect()
    }
}
