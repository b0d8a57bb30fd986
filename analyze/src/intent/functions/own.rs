//! A function or procedure of the pair's owner.

use std::collections::HashMap;

use splitproof_capture::sql::mysql::{self, Mode, Server};
use splitproof_capture::sql::{Body, postgresql};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::{Catalog, Function, FunctionKind, Routine, Trigger, Volatility};

use super::{Call, Effects};
use crate::intent::{Variation, system};

/// A function or procedure of the pair's owner.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub schema: Box<str>,
    /// As calls name it: in lower case on MySQL and MariaDB, where case does not matter.
    pub name: Box<str>,
    pub volatility: Volatility,
    pub is_procedure: bool,
    /// True for a function of a well-known module in C that is declared volatile and changes nothing.
    changes_nothing: bool,
    /// What it does, as far as it is known.
    pub effects: Effects,
}

impl Own {
    pub fn new(engine: Engine, function: &Function) -> Self {
        let name = match engine {
            Engine::Postgresql => function.name.clone(),
            Engine::Mysql => function.name.to_lowercase(),
        };
        let mut own = Own {
            changes_nothing: function.language == "c" && system::module_changes_nothing(&name),
            schema: function.schema.as_str().into(),
            name: name.into(),
            volatility: function.volatility,
            is_procedure: function.kind == FunctionKind::Procedure,
            effects: Effects::default(),
        };
        own.effects = own.declared();
        own
    }

    /// A trigger with a body of its own, which no call names.
    pub fn trigger(schema: &str, name: &str) -> Self {
        Own {
            schema: schema.into(),
            name: name.into(),
            volatility: Volatility::Volatile,
            is_procedure: true,
            changes_nothing: false,
            effects: Effects::default(),
        }
    }

    /// What it may do by what it declares, when its body is not known.
    pub fn declared(&self) -> Effects {
        match self.volatility {
            Volatility::Volatile if self.changes_nothing => Effects::default(),
            Volatility::Volatile => Effects {
                reads_any: true,
                writes_any: true,
                unproven: true,
                varies: Some(Variation::Function(self.name.as_ref().into())),
                ..Effects::default()
            },
            Volatility::Stable => Effects { reads_any: true, ..Effects::default() },
            Volatility::Immutable => Effects::default(),
        }
    }

    /// What a call does.
    pub fn call(&self) -> Call {
        let name = || self.name.as_ref().into();
        match (self.volatility, &self.effects.demand) {
            (Volatility::Volatile, _) if self.changes_nothing => Call::ChangesNothing(name()),
            (Volatility::Volatile, None) if !self.effects.unproven => Call::OnlyReads(name()),
            (Volatility::Volatile, _) => Call::Volatile(name()),
            (_, Some(why)) => Call::Undeclared(name(), why.clone()),
            (_, None) => Call::Pure,
        }
    }
}

/// The bodies of a catalogue's routines.
pub(super) struct Bodies<'a> {
    /// MySQL's and MariaDB's, which stand apart; by schema, name, and whether it is a procedure.
    routines: HashMap<(&'a str, &'a str, bool), &'a Routine>,
    triggers: &'a [Trigger],
    engine: Engine,
    server: Server,
}

impl<'a> Bodies<'a> {
    pub fn new(engine: Engine, catalog: &'a Catalog) -> Self {
        let routines = catalog.mysql.iter().flat_map(|mysql| &mysql.routines);
        let routines = routines.filter(|routine| matches!(routine.kind.as_str(), "PROCEDURE" | "FUNCTION"));
        let key = |routine: &'a Routine| (&*routine.schema, &*routine.name, routine.kind == "PROCEDURE");
        Bodies {
            routines: routines.map(|routine| (key(routine), routine)).collect(),
            triggers: catalog.mysql.as_ref().map_or(&[], |mysql| &mysql.triggers),
            engine,
            server: Server::from_version(&catalog.server_version).unwrap_or_default(),
        }
    }

    /// What a function's body holds; `None` where the catalogue does not have it.
    pub fn of(&self, function: &Function) -> Option<Body> {
        if self.engine == Engine::Postgresql {
            return function.definition.as_deref().map(|source| postgresql::body(&function.language, source));
        }
        let is_procedure = function.kind == FunctionKind::Procedure;
        let routine = self.routines.get(&(function.schema.as_str(), function.name.as_str(), is_procedure))?;
        Some(self.read(routine.create.as_deref()?, &routine.sql_mode))
    }

    /// MySQL's and MariaDB's triggers, with their bodies.
    pub fn triggers(&self) -> impl Iterator<Item = (&'a Trigger, Option<Body>)> {
        self.triggers.iter().map(|trigger| {
            let source = trigger.create.as_deref();
            (trigger, source.map(|source| self.read(source, &trigger.sql_mode)))
        })
    }

    fn read(&self, source: &str, sql_mode: &str) -> Body {
        match sql_mode.split(',').any(|mode| mode.eq_ignore_ascii_case("ORACLE")) {
            true => Body::unknown("it is written in Oracle's dialect"),
            false => mysql::body(source, &Mode::of(self.server).with_sql_mode(sql_mode)),
        }
    }
}
