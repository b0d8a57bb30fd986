//! pgpool-II in streaming replication mode.
//!
//! - [`Pgpool`]: the model; `session`: one client connection
//! - `conf`: `pgpool.conf`; `list`: its lists of patterns and of preferences
//! - `place`: where a statement may go, by what it is
//!
//! The semantics are those of pgpool-II 4.2 to 4.4, read in its source and held against what 4.3.5 did; `docs/models.md` lists them with what
//! is left out.

mod conf;
mod list;
mod place;
mod session;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use splitproof_capture::sql::{Dialect, Facts, Function};
use splitproof_capture::trace::{Engine, Request};
use splitproof_replay::catalog::{Catalog, Volatility};

use super::intern::Interned;
use super::{About, Decision, Error, Model, Node, Nodes, Options, Sent};
use crate::intent::Functions;
use conf::Conf;

/// Statements remembered; then all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// The model of pgpool-II with its configuration.
pub struct Pgpool {
    conf: Conf,
    nodes: Vec<Node>,
    primary: usize,
    weights: Vec<u32>,
    catalog: Option<Arc<Catalog>>,
    /// The system's functions.
    system: Functions,
    facts: RefCell<HashMap<u64, Arc<Facts>>>,
    words: Interned,
    unknown_functions: Cell<u64>,
}

/// Whether a call may write, as pgpool sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    No,
    Yes,
    /// Nothing says whether it is volatile.
    Unknown,
}

impl Pgpool {
    /// Reads `pgpool.conf`; a later file's settings come after those of an earlier one.
    pub fn load(paths: &[PathBuf], options: &Options) -> Result<Self, Error> {
        let conf = Conf::read(paths)?;
        let (nodes, primary, weights) = conf.nodes(paths)?;
        Ok(Pgpool {
            conf,
            nodes,
            primary,
            weights,
            catalog: options.catalog.clone(),
            system: Functions::new(Engine::Postgresql, None),
            facts: RefCell::default(),
            words: Interned::default(),
            unknown_functions: Cell::new(0),
        })
    }

    fn facts(&self, request: &Request, sql: &str) -> Arc<Facts> {
        let shape = request.shape_id.unwrap_or_else(|| Dialect::Postgresql.shape_id(sql));
        if let Some(facts) = self.facts.borrow().get(&shape) {
            return facts.clone();
        }
        let facts = Arc::new(Dialect::Postgresql.facts(sql));
        let mut known = self.facts.borrow_mut();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(shape, facts.clone());
        facts
    }

    /// Whether pgpool takes a call for a write: by its lists, or without any by the catalogue.
    fn writes(&self, function: &Function) -> Writes {
        let qualified = function.schema.as_ref().map(|schema| format!("{schema}.{}", function.name));
        let name = qualified.as_deref().unwrap_or(&function.name);
        let (read_only, write) = (&self.conf.read_only_functions, &self.conf.write_functions);
        if !read_only.is_empty() {
            return if read_only.has(name) { Writes::No } else { Writes::Yes };
        }
        if !write.is_empty() {
            return if write.has(name) { Writes::Yes } else { Writes::No };
        }
        let listed =
            self.catalog.as_deref().and_then(|catalog| catalog.volatility(function.schema.as_deref(), &function.name));
        match listed.or_else(|| self.system.promised(&function.name)) {
            Some(Volatility::Volatile) => Writes::Yes,
            Some(_) => Writes::No,
            None => Writes::Unknown,
        }
    }

    fn unlogged(&self, schema: Option<&str>, name: &str) -> bool {
        self.catalog.as_deref().is_some_and(|catalog| {
            catalog.relations.iter().any(|relation| {
                relation.persistence == 'u'
                    && relation.name == name
                    && schema.is_none_or(|schema| schema == relation.schema)
            })
        })
    }

    fn word(&self, text: &str) -> Arc<str> {
        self.words.get(text)
    }

    fn decision(&self, sent: Sent, reason: &str, rule: Option<&str>) -> Decision {
        Decision { sent, reason: self.word(reason), rule: rule.map(|rule| self.word(rule)) }
    }

    fn all(&self) -> Nodes {
        Nodes::all(self.nodes.len())
    }
}

impl Model for Pgpool {
    fn about(&self) -> About {
        let mut unmodelled = self.conf.unmodelled();
        if self.catalog.is_none() && self.conf.read_only_functions.is_empty() && self.conf.write_functions.is_empty() {
            unmodelled.push("no catalogue says which of your functions are volatile, as pgpool would ask: give a run's with --catalog".into());
        }
        About {
            model: "pgpool-II 4.2 to 4.4, streaming replication".into(),
            nodes: self.nodes.clone(),
            unknown: self.conf.unknown.clone(),
            unmodelled,
            notes: Vec::new(),
        }
    }

    fn connect(&self, request: &Request) -> Box<dyn super::Session + '_> {
        Box::new(session::Session::new(self, request))
    }

    fn notes(&self) -> Vec<String> {
        match self.unknown_functions.get() {
            0 => Vec::new(),
            calls => {
                vec![format!("{calls} statements call functions of unknown volatility: where they go is not known")]
            }
        }
    }
}
