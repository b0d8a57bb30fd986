//! What a function call does.
//!
//! - [`Functions`], [`Call`]: the pair's functions, and what a call of one asks for
//! - [`Effects`]: the tables that a statement reads and writes, those of the routines that it calls included
//! - `own`: the routines of the pair's owner, with what they declare and what their bodies hold
//! - `triggers`: what a write of a table sets off
//! - `resolve`: what those bodies do together with the routines that they call in turn

mod effects;
mod own;
mod resolve;
mod triggers;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use splitproof_capture::sql::{self, Body, StatementKind};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::{Catalog, Volatility};

use super::{Variation, system};
pub use effects::Effects;
use own::{Bodies, Own};
use triggers::Triggers;

/// What a function call does, the harmless first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Nothing beyond giving a result from its arguments and the data.
    Pure,
    /// Nothing either, though it is declared volatile: its body only reads.
    OnlyReads(Arc<str>),
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
    /// A function declared to change nothing by its owner, whose body does this.
    Undeclared(Arc<str>, Arc<str>),
    /// A function declared volatile by its owner: it may write.
    Volatile(Arc<str>),
    /// Nothing is known about it.
    Unknown(Arc<str>),
}

/// The functions of a pair, and its views.
#[derive(Clone, Debug)]
pub struct Functions {
    engine: Engine,
    /// The engine's own: what the worst overload promises.
    system: HashMap<Box<str>, Volatility>,
    own: Vec<Own>,
    /// Positions in `own`.
    by_name: HashMap<Box<str>, Vec<usize>>,
    triggers: Triggers,
    /// Schema and name.
    views: BTreeSet<(Box<str>, Box<str>)>,
}

impl Functions {
    /// The functions that a catalogue lists; where it lists none of the engine's own, those come from a built-in table.
    pub fn new(engine: Engine, catalog: Option<&Catalog>) -> Self {
        let mut functions = Functions {
            engine,
            system: HashMap::new(),
            own: Vec::new(),
            by_name: HashMap::new(),
            triggers: Triggers::default(),
            views: BTreeSet::new(),
        };
        let bodies = catalog.map(|catalog| functions.list(catalog));
        if engine == Engine::Postgresql && functions.system.is_empty() {
            functions.add_system();
        }
        if let (Some(catalog), Some(bodies)) = (catalog, bodies) {
            functions.resolve(&bodies, catalog);
        }
        functions
    }

    /// Takes what a catalogue lists; gives the bodies of the pair's own, where they are known.
    fn list(&mut self, catalog: &Catalog) -> Vec<Option<Body>> {
        let source = Bodies::new(self.engine, catalog);
        let mut bodies = Vec::new();
        for function in &catalog.functions {
            let own = Own::new(self.engine, function);
            if !system::is_system_schema(self.engine, &own.schema) {
                self.by_name.entry(own.name.clone()).or_default().push(self.own.len());
                self.own.push(own);
                bodies.push(source.of(function));
            } else if !own.is_procedure {
                self.promise(&own.name, own.volatility);
            }
        }
        for (trigger, body) in source.triggers() {
            self.triggers.push(&trigger.table, [trigger.event.as_str()], self.own.len());
            self.own.push(Own::trigger(&trigger.schema, &trigger.name));
            bodies.push(body);
        }
        for trigger in &catalog.triggers {
            let called = sql::Function {
                schema: Some(trigger.function_schema.clone()),
                name: trigger.function.clone(),
                args: 0,
            };
            // Those of the system's own change no other table.
            for at in self.places(&called).collect::<Vec<_>>() {
                self.triggers.push(&trigger.table, trigger.events.iter().map(String::as_str), at);
            }
        }
        let views = catalog.relations.iter().filter(|relation| relation.kind == 'v');
        self.views = views.map(|view| (view.schema.as_str().into(), view.name.as_str().into())).collect();
        bodies
    }

    /// The engine whose functions these are.
    pub fn engine(&self) -> Engine {
        self.engine
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
            names.split(' ').for_each(|name| self.promise(name, volatility));
        }
    }

    /// Takes what one of the engine's own promises.
    fn promise(&mut self, name: &str, volatility: Volatility) {
        let worst = self.system.entry(name.into()).or_insert(volatility);
        if (*worst as u8) < volatility as u8 {
            *worst = volatility;
        }
    }

    /// What one of the engine's own promises, by its worst overload.
    pub fn promised(&self, name: &str) -> Option<Volatility> {
        self.system.get(name).copied()
    }

    /// What a call does. Without a schema the worst function of that name counts, since the session's search path is
    /// not known; in MySQL and MariaDB a built-in function comes before any other of its name.
    pub fn call(&self, function: &sql::Function) -> Call {
        self.callee(function, false).call()
    }

    /// The worst of all calls of a statement.
    pub fn worst(&self, statement: &sql::Statement) -> Call {
        self.callees(statement).map(|callee| callee.call()).max().unwrap_or(Call::Pure)
    }

    /// What a statement calls.
    pub(super) fn callees<'a>(&'a self, statement: &'a sql::Statement) -> impl Iterator<Item = Callee<'a>> {
        let by_call = matches!(statement.kind, StatementKind::Call);
        statement.functions.iter().map(move |function| self.callee(function, by_call))
    }

    /// What has this name. MySQL and MariaDB: a procedure may share its name with a function, and is only called by CALL.
    fn callee<'a>(&'a self, function: &'a sql::Function, by_call: bool) -> Callee<'a> {
        let system = self.system_call(function);
        let own = match (self.engine, &system) {
            (Engine::Mysql, Some(_)) => Vec::new(),
            (Engine::Mysql, None) => self.named(function).filter(|own| by_call || !own.is_procedure).collect(),
            (Engine::Postgresql, _) => self.named(function).collect(),
        };
        Callee { function, system, own }
    }

    /// What it does as a function of the engine's own, if it is one.
    fn system_call(&self, function: &sql::Function) -> Option<Call> {
        let name = function.name.as_str();
        let is_system = |schema: &str| system::is_system_schema(self.engine, schema);
        let promised = match function.schema.as_deref() {
            Some(schema) if !is_system(schema) => None,
            _ => self.system.get(name).copied(),
        };
        match (self.engine, &function.schema) {
            // Routines of the schema `sys`.
            (Engine::Mysql, Some(_)) => promised.map(|promised| match promised {
                Volatility::Volatile => Call::Volatile(name.into()),
                Volatility::Immutable | Volatility::Stable => Call::Pure,
            }),
            _ => system::call(self.engine, function, promised),
        }
    }

    /// The pair's own of this name.
    fn named(&self, function: &sql::Function) -> impl Iterator<Item = &Own> {
        self.places(function).filter_map(|at| self.own.get(at))
    }

    fn places(&self, function: &sql::Function) -> impl Iterator<Item = usize> {
        let places = self.by_name.get(function.name.as_str()).into_iter().flatten().copied();
        places.filter(|&at| {
            let same = |own: &Own| function.schema.as_deref().is_none_or(|schema| schema == &*own.schema);
            self.own.get(at).is_some_and(same)
        })
    }
}

/// What a call may reach.
pub(super) struct Callee<'a> {
    pub function: &'a sql::Function,
    /// One of the engine's own.
    system: Option<Call>,
    /// Those of the pair's owner.
    own: Vec<&'a Own>,
}

impl Callee<'_> {
    /// The worst that it does.
    pub fn call(&self) -> Call {
        let own = self.own.iter().map(|own| own.call()).max();
        self.system.clone().max(own).unwrap_or_else(|| Call::Unknown(self.function.name.as_str().into()))
    }

    /// Why its result may differ each time, engine's own aside.
    pub fn variation(&self) -> Option<Variation> {
        let own = self.own.iter().find_map(|own| own.effects.varies.clone());
        own.or_else(|| match self.call() {
            Call::Volatile(name) | Call::Unknown(name) if self.own.is_empty() => Some(Variation::Function(name)),
            _ => None,
        })
    }
}
