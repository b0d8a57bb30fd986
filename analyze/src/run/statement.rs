//! What the analysis needs to know of a statement beyond its intent, found once per shape.

use std::sync::Arc;

use splitproof_capture::sql::{Effect, Function, Relation, StatementKind};
use splitproof_replay::catalog::{Catalog, Volatility};

use crate::intent::{Call, Functions, Profile, StatementProfile};
use crate::staleness::Scope;

/// The names that a session gives to statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// PREPARE and DECLARE: later statements do the inner one under this name.
    Gives(String, Box<Statement>),
    /// EXECUTE and FETCH: does what has this name.
    Uses(String),
}

/// A statement shape.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Statement {
    /// Tables that it reads.
    pub reads: Vec<Arc<str>>,
    /// True when it may read tables that its text does not name: a view, a function.
    pub reads_any: bool,
    /// Tables that it writes.
    pub writes: Vec<Arc<str>>,
    /// True when it may write tables that its text does not name: a volatile function, a procedure, DO.
    pub writes_any: bool,
    /// True when ORDER BY fixes the order of its rows.
    pub ordered: bool,
    /// Why its own answer may differ each time.
    pub varies: Option<Arc<str>>,
    /// Why what it writes may differ each time.
    pub writes_vary: Option<Arc<str>>,
    /// A name that it gives or uses.
    pub named: Option<Named>,
    /// What the parser said, when it did not understand it.
    pub parse_error: Option<Arc<str>>,
    /// Functions of which nothing is known.
    pub unknown_functions: Vec<Arc<str>>,
}

/// Whom to ask about functions and relations.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub functions: &'a Functions,
    pub catalog: Option<&'a Catalog>,
}

impl Statement {
    /// What a text does.
    pub(super) fn of(profile: &Profile, pair: Pair<'_>) -> Self {
        let mut whole = Statement {
            ordered: !profile.statements.is_empty(),
            varies: profile.answer_varies().map(|why| why.to_string().into()),
            writes_vary: profile.written_varies().map(|why| why.to_string().into()),
            parse_error: profile.error.clone(),
            unknown_functions: profile.unknown_functions().cloned().collect(),
            ..Statement::default()
        };
        if profile.error.is_some() {
            // Nothing is known of it, so it may do anything.
            (whole.reads_any, whole.writes_any) = (true, true);
        }
        for statement in &profile.statements {
            whole.add(statement, pair);
        }
        for tables in [&mut whole.reads, &mut whole.writes] {
            tables.sort();
            tables.dedup();
        }
        whole
    }

    /// True when it may change data.
    pub fn is_write(&self) -> bool {
        self.writes_any || !self.writes.is_empty()
    }

    /// The same without a table of the session's own and without its writes: no other session sees them, and no other
    /// node gets them.
    pub(super) fn without_temporary(&self, table: &str) -> Self {
        let mut other = Statement { writes: Vec::new(), writes_any: false, ..self.clone() };
        other.reads.retain(|read| &**read != table);
        other
    }

    /// What it reads.
    pub fn read_scope(&self) -> Scope {
        if self.reads_any { Scope::Any } else { Scope::Tables(self.reads.clone()) }
    }

    /// What it writes.
    pub fn write_scope(&self) -> Scope {
        if self.writes_any { Scope::Any } else { Scope::Tables(self.writes.clone()) }
    }

    /// What it reads or writes.
    pub fn scope(&self) -> Scope {
        if self.reads_any || self.writes_any {
            return Scope::Any;
        }
        let mut tables = self.reads.clone();
        tables.extend(self.writes.iter().cloned());
        tables.sort();
        tables.dedup();
        Scope::Tables(tables)
    }

    fn add(&mut self, statement: &Arc<StatementProfile>, pair: Pair<'_>) {
        let facts = &statement.facts;
        self.ordered &= facts.ordered;
        let inner = || {
            let statements = statement.inner.iter().cloned().collect();
            Statement::of(&Profile { error: None, statements }, pair)
        };
        match &facts.kind {
            StatementKind::Prepare { name, .. } => {
                self.named = Some(Named::Gives(name.clone(), Box::new(inner())));
                return;
            }
            StatementKind::Declare { name, .. } => {
                self.named = Some(Named::Gives(cursor_name(name), Box::new(inner())));
                return;
            }
            StatementKind::Execute { name } => self.named = Some(Named::Uses(name.clone())),
            StatementKind::Fetch { name } => self.named = Some(Named::Uses(cursor_name(name))),
            StatementKind::SetStatement { .. } | StatementKind::ExecuteImmediate { .. } => {
                if let Some(inner) = &statement.inner {
                    self.add(inner, pair);
                }
                return;
            }
            StatementKind::Explain { analyze, .. } => {
                if let Some(inner) = statement.inner.as_ref().filter(|_| *analyze) {
                    self.add(inner, pair);
                }
                return;
            }
            _ => {}
        }
        self.reads.extend(facts.reads.iter().map(table));
        self.reads_any |= facts.reads.iter().any(|relation| pair.is_view(relation));
        // A lock writes nothing that a read could miss, and maintenance changes no answer.
        if facts.effect == Effect::Write {
            self.writes.extend(facts.writes.iter().map(table));
            self.writes_any |= matches!(
                facts.kind,
                StatementKind::Call | StatementKind::Do | StatementKind::Block | StatementKind::Unknown
            );
        }
        for function in &facts.functions {
            match pair.functions.call(function) {
                Call::Volatile(_) | Call::Unknown(_) => (self.reads_any, self.writes_any) = (true, true),
                _ => self.reads_any |= pair.may_read(function),
            }
        }
    }
}

impl Pair<'_> {
    /// True when the relation is not a table of its own: what it reads is not in the text.
    fn is_view(&self, relation: &Relation) -> bool {
        let Some(catalog) = self.catalog else { return false };
        catalog.relations.iter().any(|known| {
            known.kind == 'v'
                && known.name == relation.name
                && relation.schema.as_ref().is_none_or(|schema| *schema == known.schema)
        })
    }

    /// True for a function of the pair's own that is declared stable: it may read any table.
    fn may_read(&self, function: &Function) -> bool {
        let Some(catalog) = self.catalog else { return false };
        catalog.functions.iter().any(|known| {
            known.name == function.name
                && known.schema != "pg_catalog"
                && known.volatility == Volatility::Stable
                && function.schema.as_ref().is_none_or(|schema| *schema == known.schema)
        })
    }
}

/// The name of a table in the commit history. Schemas are left out: a text need not name them.
fn table(relation: &Relation) -> Arc<str> {
    relation.name.as_str().into()
}

/// Cursors and prepared statements have names of their own.
fn cursor_name(name: &str) -> String {
    format!("{CURSOR}{name}")
}

/// True for the name of a cursor, as [`Named`] has it.
pub(super) fn is_cursor(name: &str) -> bool {
    name.starts_with(CURSOR)
}

/// Cursors and prepared statements may have the same name.
const CURSOR: &str = "cursor ";
