//! What a function call does.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql;
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::{Catalog, FunctionKind, Volatility};

use super::system;

/// What a function call does, the harmless first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Nothing beyond giving a result from its arguments and the data.
    Pure,
    /// Nothing either, though it is declared volatile.
    ChangesNothing(Arc<str>),
    /// Sets state of the session.
    SessionState(Arc<str>),
    /// Tells what the session drew from a sequence.
    SequenceValue(Arc<str>),
    /// Works on advisory locks.
    AdvisoryLock(Arc<str>),
    /// A system function that changes something or works only on the primary.
    System(Arc<str>),
    /// A function declared volatile by its owner: it may write.
    Volatile(Arc<str>),
    /// Nothing is known about it.
    Unknown(Arc<str>),
}

/// The functions of a pair.
#[derive(Clone, Debug)]
pub struct Functions {
    engine: Engine,
    /// By name: what the worst overload in a system schema and in any other schema promises.
    known: HashMap<Box<str>, Promise>,
    /// The same for one schema, by schema and name, where the name is not in a system schema.
    qualified: HashMap<(Box<str>, Box<str>), Volatility>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Promise {
    system: Option<Volatility>,
    own: Option<Volatility>,
    /// True when every volatile function of the name is written in C.
    native: bool,
}

impl Functions {
    /// The functions that a catalogue lists; where it lists none of the engine's own, those come from a built-in table.
    pub fn new(engine: Engine, catalog: Option<&Catalog>) -> Self {
        let mut functions = Functions { engine, known: HashMap::new(), qualified: HashMap::new() };
        let listed = catalog.map_or(&[][..], |catalog| &catalog.functions);
        for function in listed {
            match engine {
                Engine::Postgresql => {
                    functions.add(&function.schema, &function.name, function.volatility, function.language == "c");
                }
                // Names of routines are known in any case; the facts have them in lower case. A procedure may share
                // its name with a function, and is only called by CALL.
                Engine::Mysql if function.kind == FunctionKind::Procedure => {}
                Engine::Mysql => {
                    functions.add(&function.schema, &function.name.to_lowercase(), function.volatility, false);
                }
            }
        }
        let own = |function: &splitproof_replay::catalog::Function| functions.is_system(&function.schema);
        if engine == Engine::Postgresql && !listed.iter().any(own) {
            functions.add_system();
        }
        functions
    }

    /// The engine whose functions these are.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    fn is_system(&self, schema: &str) -> bool {
        system::is_system_schema(self.engine, schema)
    }

    /// The functions of the built-in table.
    fn add_system(&mut self) {
        for line in system::TABLE.lines() {
            let (letter, names) = line.split_once(' ').unwrap_or_default();
            let volatility = match letter {
                "i" => Volatility::Immutable,
                "s" => Volatility::Stable,
                "v" => Volatility::Volatile,
                _ => continue,
            };
            for name in names.split(' ') {
                self.add("pg_catalog", name, volatility, false);
            }
        }
    }

    fn add(&mut self, schema: &str, name: &str, volatility: Volatility, native: bool) {
        let worse = |known: Option<Volatility>| match known {
            Some(known) if known as u8 >= volatility as u8 => Some(known),
            _ => Some(volatility),
        };
        let is_system = self.is_system(schema);
        let is_new = !self.known.contains_key(name);
        let promise = self.known.entry(name.into()).or_default();
        promise.native = native && (is_new || promise.native);
        if is_system {
            promise.system = worse(promise.system);
        } else {
            promise.own = worse(promise.own);
            let qualified = self.qualified.entry((schema.into(), name.into())).or_insert(volatility);
            *qualified = worse(Some(*qualified)).unwrap_or(volatility);
        }
    }

    /// What a call does. Without a schema the worst function of that name counts, since the session's search path is
    /// not known; in MySQL and MariaDB a built-in function comes before any other of its name.
    pub fn call(&self, function: &sql::Function) -> Call {
        let name = function.name.as_str();
        let shared = || Arc::<str>::from(name);
        let promise = self.known.get(name).copied().unwrap_or_default();
        let (system, own) = match function.schema.as_deref() {
            Some(schema) if self.is_system(schema) => (promise.system, None),
            Some(schema) => (None, self.qualified.get(&(Box::from(schema), Box::from(name))).copied()),
            None => (promise.system, promise.own),
        };
        let own = match own {
            Some(Volatility::Volatile) if promise.native && system::module_changes_nothing(name) => {
                Some(Call::ChangesNothing(shared()))
            }
            Some(Volatility::Volatile) => Some(Call::Volatile(shared())),
            Some(Volatility::Immutable | Volatility::Stable) => Some(Call::Pure),
            None => None,
        };
        let system = match (self.engine, &function.schema, system) {
            // Routines of the schema `sys`.
            (Engine::Mysql, Some(_), Some(Volatility::Volatile)) => Some(Call::Volatile(shared())),
            (Engine::Mysql, Some(_), promised) => promised.map(|_| Call::Pure),
            (_, _, promised) => system::call(self.engine, function, promised),
        };
        if self.engine == Engine::Mysql && system.is_some() {
            return system.unwrap_or(Call::Pure);
        }
        system.max(own).unwrap_or_else(|| Call::Unknown(shared()))
    }

    /// The worst of several calls.
    pub fn worst(&self, functions: &[sql::Function]) -> Call {
        functions.iter().map(|function| self.call(function)).max().unwrap_or(Call::Pure)
    }
}
