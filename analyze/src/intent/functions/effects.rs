//! The tables that a statement reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use splitproof_capture::sql::{Effect, Relation, Statement, StatementKind};
use splitproof_replay::catalog::Catalog;

use super::{Call, Functions};
use crate::intent::{Variation, determinism, system};

/// What a statement or routine does with tables, what it calls included. Tables have no schema here: a text need not name
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Tables that it reads.
    pub reads: BTreeSet<Arc<str>>,
    /// True when it may read any other table: through a view, or a function that is not known.
    pub reads_any: bool,
    /// Tables that it writes.
    pub writes: BTreeSet<Arc<str>>,
    /// True when it may write any other table.
    pub writes_any: bool,
    /// Written tables of whose change the number of rows in the answer does not tell: what routines and triggers write,
    /// and what is not the outermost INSERT, UPDATE, DELETE or the like.
    pub uncounted: BTreeSet<Arc<str>>,
    /// Written tables whose new rows may differ each time, and why.
    pub written_vary: BTreeMap<Arc<str>, Variation>,
    /// Why its result may differ each time.
    pub(super) varies: Option<Variation>,
    /// What of it belongs to the primary for certain, as a clause without its subject.
    pub(super) demand: Option<Arc<str>>,
    /// True when it may do more than read data: what is not known, or state of the session.
    pub(super) unproven: bool,
}

impl Effects {
    /// May do anything.
    pub(super) fn anything(&mut self) {
        (self.reads_any, self.writes_any, self.unproven) = (true, true, true);
    }

    pub(super) fn demands(&mut self, what: impl Into<Arc<str>>) {
        self.demand.get_or_insert_with(|| what.into());
    }

    /// Does what the other does too; its result is another matter.
    pub(super) fn also(&mut self, other: &Effects) {
        self.reads.extend(other.reads.iter().cloned());
        self.writes.extend(other.writes.iter().cloned());
        self.uncounted.extend(other.writes.iter().cloned());
        self.reads_any |= other.reads_any;
        self.writes_any |= other.writes_any;
        for (table, why) in &other.written_vary {
            self.written_vary.entry(table.clone()).or_insert_with(|| why.clone());
        }
    }
}

impl Functions {
    /// What a statement does, with the routines that it calls.
    pub fn effects(&self, statement: &Statement, catalog: Option<&Catalog>) -> Effects {
        match &statement.kind {
            StatementKind::SetStatement { inner }
            | StatementKind::ExecuteImmediate { inner }
            | StatementKind::Explain { analyze: true, inner } => return self.effects(inner, catalog),
            StatementKind::Explain { analyze: false, .. } => return Effects::default(),
            _ => {}
        }
        let reads = statement.reads.iter();
        let mut effects = Effects {
            reads: reads.clone().map(table).collect(),
            reads_any: reads.clone().any(|relation| self.is_view(relation)),
            ..Effects::default()
        };
        // A lock writes nothing that a read could miss, and maintenance changes no answer.
        if statement.effect == Effect::Write {
            effects.writes.extend(statement.writes.iter().map(table));
            if !is_counted(statement) {
                effects.uncounted.clone_from(&effects.writes);
            }
            let unknown = match statement.kind {
                StatementKind::Call => statement.functions.is_empty(),
                StatementKind::Do | StatementKind::Block | StatementKind::Unknown => true,
                _ => false,
            };
            effects.writes_any |= unknown;
        }
        let determinism = determinism::of(statement, self, catalog);
        if let Some(why) = determinism.written {
            effects.written_vary = effects.writes.iter().map(|table| (table.clone(), why.clone())).collect();
        }
        effects.varies = match statement.kind {
            // What variables and expressions of a body give goes on to its other statements.
            StatementKind::SetVariables | StatementKind::Evaluate => determinism::source(statement, self),
            _ => determinism.answer,
        };
        for callee in self.callees(statement) {
            match (&callee.system, callee.own.as_slice()) {
                (None, []) | (Some(Call::Volatile(_)), _) => {
                    (effects.reads_any, effects.writes_any) = (true, true);
                }
                (Some(_), _) => effects.reads_any |= system::reads_any(self.engine, callee.function),
                (None, _) => {}
            }
            callee.own.iter().for_each(|own| effects.also(&own.effects));
        }
        self.set_off(statement, &mut effects);
        effects
    }

    /// The tables that the bodies of what a statement calls read.
    pub fn behind(&self, statement: &Statement) -> BTreeSet<Arc<str>> {
        self.callees(statement)
            .flat_map(|callee| callee.own)
            .flat_map(|own| own.effects.reads.iter().cloned())
            .collect()
    }

    /// True when the relation is not a table of its own: what it reads is not in the text.
    fn is_view(&self, relation: &Relation) -> bool {
        let mut named = self.views.iter().filter(|(_, name)| **name == *relation.name);
        named.any(|(schema, _)| relation.schema.as_ref().is_none_or(|named| **named == **schema))
    }
}

/// True when the number of changed rows in the answer is that of all rows that the text itself changes.
fn is_counted(statement: &Statement) -> bool {
    let counts = matches!(
        statement.kind,
        StatementKind::Insert
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::Merge
            | StatementKind::Replace
            | StatementKind::CopyFrom
            | StatementKind::LoadData { .. }
    );
    counts && !statement.modifying_cte && !statement.partial
}

/// The name of a table in the commit history. Schemas are left out: a text need not name them.
fn table(relation: &Relation) -> Arc<str> {
    relation.name.as_str().into()
}
