//! The pair's functions and one profile per shape.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::{self, Dialect};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::Catalog;

use super::{Functions, Profile};

/// Knows the pair, and remembers what it found out about each statement shape.
#[derive(Debug)]
pub struct Judge {
    dialect: Dialect,
    catalog: Option<Arc<Catalog>>,
    functions: Functions,
    profiles: HashMap<u64, Arc<Profile>>,
}

impl Judge {
    /// A judge for a pair that speaks this dialect and has this catalogue; without one, only the engine's own functions
    /// are known.
    pub fn new(dialect: Dialect, catalog: Option<Arc<Catalog>>) -> Self {
        let functions = Functions::new(engine(dialect), catalog.as_deref());
        Judge { dialect, functions, catalog, profiles: HashMap::new() }
    }

    /// Functions of the pair.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// How the pair's texts are read.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The pair's engine.
    pub fn engine(&self) -> Engine {
        engine(self.dialect)
    }

    /// What a text's shape says. The parser runs once per shape; `shape_id` saves finding the shape.
    pub fn profile(&mut self, shape_id: Option<u64>, sql: &str) -> Arc<Profile> {
        let shape_id = shape_id.unwrap_or_else(|| self.dialect.shape_id(sql));
        if let Some(profile) = self.profiles.get(&shape_id) {
            return profile.clone();
        }
        let facts = self.dialect.facts(sql);
        self.learn(shape_id, facts)
    }

    /// Takes the facts of a shape from a trace, so that it need not be parsed again.
    pub fn learn(&mut self, shape_id: u64, facts: sql::Facts) -> Arc<Profile> {
        let profile = Arc::new(Profile::new(facts, &self.functions, self.catalog.as_deref()));
        self.profiles.insert(shape_id, profile.clone());
        profile
    }

    /// Every shape met so far.
    pub fn profiles(&self) -> impl Iterator<Item = (u64, &Arc<Profile>)> {
        self.profiles.iter().map(|(&shape_id, profile)| (shape_id, profile))
    }
}

fn engine(dialect: Dialect) -> Engine {
    match dialect {
        Dialect::Postgresql => Engine::Postgresql,
        Dialect::Mysql(_) => Engine::Mysql,
    }
}
