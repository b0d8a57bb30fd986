//! What the bodies of the pair's routines do together with what they call in turn.
//!
//! Each routine begins with nothing, and takes over what its body's statements do, given what is known of the others so
//! far. That only grows, so that it ends, however the routines call each other; recursion adds nothing.

use std::collections::HashSet;

use splitproof_capture::sql::{Body, Effect, Scope, Statement, StatementKind};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::{Catalog, Volatility};

use super::own::Own;
use super::{Call, Effects, Functions};

impl Functions {
    /// Finds out what every routine does whose body is known; `bodies` are those of `own`.
    pub(super) fn resolve(&mut self, bodies: &[Option<Body>], catalog: &Catalog) {
        for (own, _) in self.own.iter_mut().zip(bodies).filter(|(_, body)| body.is_some()) {
            own.effects = Effects::default();
        }
        let mut settled = false;
        while !settled {
            settled = true;
            for (at, body) in bodies.iter().enumerate() {
                let (Some(body), Some(own)) = (body, self.own.get(at)) else { continue };
                let found = self.body(own, body, catalog);
                if let Some(own) = self.own.get_mut(at).filter(|own| own.effects != found) {
                    own.effects = found;
                    settled = false;
                }
            }
        }
    }

    /// What a body does, as far as its calls are known by now. What was found before is kept, so that it only grows.
    fn body(&self, own: &Own, body: &Body, catalog: &Catalog) -> Effects {
        let before = &own.effects;
        let mut all = Effects { varies: before.varies.clone(), demand: before.demand.clone(), ..Effects::default() };
        if body.unknown.is_some() {
            all.anything();
            all.reads_any = own.volatility != Volatility::Immutable;
            all.varies = all.varies.or_else(|| own.declared().varies);
        }
        let temporary = temporary(body);
        for statement in &body.statements {
            let found = self.effects(statement, Some(catalog));
            all.also(&found);
            all.varies = all.varies.or(found.varies);
            self.demands(statement, &temporary, &mut all);
        }
        for &table in &temporary {
            all.reads.remove(table);
            all.writes.remove(table);
            all.written_vary.remove(table);
        }
        // Values may flow from anywhere in a body into what it writes, and from there into its result.
        if all.varies.is_none() {
            let mut varying = all.written_vary.iter();
            let read_back = varying.find(|(table, _)| all.reads_any || all.reads.contains(&***table));
            all.varies = read_back.map(|(_, why)| why.clone());
        }
        if let Some(why) = &all.varies {
            all.written_vary = all.writes.iter().map(|table| (table.clone(), why.clone())).collect();
        }
        for (table, why) in &mut all.written_vary {
            if let Some(earlier) = before.written_vary.get(table) {
                why.clone_from(earlier);
            }
        }
        // Where nothing speaks against it, a promise is believed.
        if own.volatility != Volatility::Volatile && all.demand.is_none() {
            all.writes_any = false;
        }
        all
    }

    /// What of a statement belongs to the primary, and what is more than a read of data.
    fn demands(&self, statement: &Statement, temporary: &HashSet<&str>, all: &mut Effects) {
        let state = &statement.state;
        all.unproven |=
            !state.variables_read.is_empty() || !state.variables_written.is_empty() || !state.follows.is_empty();
        match statement.effect {
            Effect::Read => {}
            Effect::Write => self.writes(statement, temporary, all),
            Effect::Lock => all.demands("takes locks"),
            Effect::Utility => all.demands("works on the server"),
            Effect::Transaction => all.unproven = true,
            Effect::Session => match &statement.kind {
                StatementKind::GetDiagnostics | StatementKind::Signal => {}
                StatementKind::SetVariables => {
                    all.unproven |= state.assignments.iter().any(|assignment| assignment.scope != Scope::User);
                }
                // What they name runs under its name later.
                StatementKind::Prepare { .. }
                | StatementKind::Execute { .. }
                | StatementKind::Declare { .. }
                | StatementKind::Fetch { .. } => all.anything(),
                _ => all.unproven = true,
            },
        }
        for callee in self.callees(statement) {
            match &callee.system {
                Some(Call::System(name) | Call::AdvisoryLock(name) | Call::SequenceValue(name)) => {
                    all.demands(format!("calls {name}()"));
                }
                Some(Call::SessionState(_)) => all.unproven = true,
                _ => {}
            }
            for demand in callee.own.iter().filter_map(|own| own.effects.demand.clone()) {
                all.demands(demand);
            }
            all.unproven |= matches!(callee.call(), Call::Volatile(_) | Call::Unknown(_));
        }
    }

    /// What of a statement that writes belongs to the primary.
    fn writes(&self, statement: &Statement, temporary: &HashSet<&str>, all: &mut Effects) {
        let mut written = statement.writes.iter().filter(|table| !temporary.contains(&*table.name));
        match (&statement.kind, written.next()) {
            // What it calls is looked at anyway.
            (StatementKind::Call, _) => {}
            (StatementKind::Do | StatementKind::Block | StatementKind::Unknown, _) => all.anything(),
            (StatementKind::Notify { .. }, _) => all.demands("sends a notification"),
            (StatementKind::Create { temporary: true, .. }, _) if self.engine == Engine::Postgresql => {
                all.demands("makes a temporary table");
            }
            (_, Some(table)) => all.demands(format!("writes {table}")),
            // Tables of the body's own: replicas of MySQL and MariaDB have them too.
            (_, None) if !statement.writes.is_empty() => all.unproven = true,
            (_, None) => {
                all.anything();
                all.demands("defines something");
            }
        }
    }
}

/// Temporary tables that a body makes: no other session sees them.
fn temporary(body: &Body) -> HashSet<&str> {
    let makes = |statement: &&Statement| matches!(statement.kind, StatementKind::Create { temporary: true, .. });
    let made = body.statements.iter().filter(makes).filter_map(|statement| statement.writes.first());
    made.map(|table| table.name.as_str()).collect()
}
