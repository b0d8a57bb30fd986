//! What the analysis needs to know of a statement beyond its intent, found once per shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use splitproof_capture::sql::StatementKind;

use crate::intent::{Profile, StatementProfile, Variation};
use crate::staleness::Scope;

/// The names that a session gives to statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// PREPARE and DECLARE: later statements do the inner one under this name.
    Gives(String, Box<Statement>),
    /// EXECUTE and FETCH: does what has this name.
    Uses(String),
}

/// What a statement does to the savepoints of its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Savepoint {
    /// SAVEPOINT
    Set(String),
    /// RELEASE SAVEPOINT
    Release(String),
    /// ROLLBACK TO SAVEPOINT
    RollBackTo(String),
}

/// A statement shape.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Statement {
    /// Tables that it reads, the functions that it calls included.
    pub reads: Vec<Arc<str>>,
    /// True when it may read tables that are not known: a view, a function whose body is not.
    pub reads_any: bool,
    /// Tables that it writes, the functions that it calls included.
    pub writes: Vec<Arc<str>>,
    /// True when it may write tables that are not known: a volatile function or procedure whose body is not, DO.
    pub writes_any: bool,
    /// Tables among `writes` of whose change the number of rows in the answer does not tell.
    pub uncounted: Vec<Arc<str>>,
    /// What it does to savepoints, in its order.
    pub savepoints: Vec<Savepoint>,
    /// True when ORDER BY fixes the order of its rows.
    pub ordered: bool,
    /// Why its own answer may differ each time.
    pub varies: Option<Arc<str>>,
    /// Written tables whose new rows may differ each time, and why.
    pub written_vary: BTreeMap<Arc<str>, Arc<str>>,
    /// Those among them whose rows differ only where the statement leaves a key to the server.
    pub keys_asked: Vec<Arc<str>>,
    /// True when it makes a routine, a trigger or a rule.
    pub redefines: bool,
    /// A name that it gives or uses.
    pub named: Option<Named>,
    /// What the parser said, when it did not understand it.
    pub parse_error: Option<Arc<str>>,
    /// Functions of which nothing is known.
    pub unknown_functions: Vec<Arc<str>>,
}

impl Statement {
    /// What a text does.
    pub(super) fn of(profile: &Profile) -> Self {
        let mut whole = Statement {
            ordered: !profile.statements.is_empty(),
            varies: profile.answer_varies().map(|why| why.to_string().into()),
            parse_error: profile.error.clone(),
            unknown_functions: profile.unknown_functions().cloned().collect(),
            ..Statement::default()
        };
        if profile.error.is_some() {
            // Nothing is known of it, so it may do anything.
            (whole.reads_any, whole.writes_any) = (true, true);
        }
        for statement in &profile.statements {
            whole.add(statement);
        }
        for tables in [&mut whole.reads, &mut whole.writes, &mut whole.uncounted] {
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
        let mut other = Statement {
            writes: Vec::new(),
            writes_any: false,
            uncounted: Vec::new(),
            written_vary: BTreeMap::new(),
            ..self.clone()
        };
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

    /// What it changed, where its answer counts so many changed rows. A server that counts none has changed none of the tables
    /// whose rows it counts: with CLIENT_FOUND_ROWS MySQL counts what it found, and what was not found was not changed either.
    pub fn changed_scope(&self, affected: Option<u64>) -> Scope {
        match affected {
            Some(0) if !self.writes_any => Scope::Tables(self.uncounted.clone()),
            _ => self.write_scope(),
        }
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

    fn add(&mut self, statement: &Arc<StatementProfile>) {
        let facts = &statement.facts;
        self.ordered &= facts.ordered;
        let inner = || {
            let statements = statement.inner.iter().cloned().collect();
            Statement::of(&Profile { error: None, statements })
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
            StatementKind::Savepoint { name } => self.savepoints.push(Savepoint::Set(name.clone())),
            StatementKind::Release { name } => self.savepoints.push(Savepoint::Release(name.clone())),
            StatementKind::RollbackTo { name } => self.savepoints.push(Savepoint::RollBackTo(name.clone())),
            StatementKind::Execute { name } => self.named = Some(Named::Uses(name.clone())),
            StatementKind::Fetch { name } => self.named = Some(Named::Uses(cursor_name(name))),
            StatementKind::SetStatement { .. } | StatementKind::ExecuteImmediate { .. } => {
                if let Some(inner) = &statement.inner {
                    self.add(inner);
                }
                return;
            }
            StatementKind::Explain { analyze, .. } => {
                if let Some(inner) = statement.inner.as_ref().filter(|_| *analyze) {
                    self.add(inner);
                }
                return;
            }
            _ => {}
        }
        let effects = &statement.effects;
        self.reads.extend(effects.reads.iter().cloned());
        self.reads_any |= effects.reads_any;
        self.writes.extend(effects.writes.iter().cloned());
        self.writes_any |= effects.writes_any;
        self.uncounted.extend(effects.uncounted.iter().cloned());
        for (table, why) in &effects.written_vary {
            // In a body that it calls, the server does not tell which key that was.
            let own = statement.determinism.written.as_ref() == Some(why);
            if own && matches!(why, Variation::AskedKey(_)) {
                self.keys_asked.push(table.clone());
            }
            self.written_vary.entry(table.clone()).or_insert_with(|| why.to_string().into());
        }
        self.redefines |= redefines(&facts.kind);
    }
}

/// True for what makes a routine, a trigger or a rule: what the catalogue says of those holds no longer.
fn redefines(kind: &StatementKind) -> bool {
    const NAMES: [&str; 7] = [
        "CreateFunctionStmt",
        "CreateTrigStmt",
        "RuleStmt",
        "create function",
        "create procedure",
        "create package",
        "create trigger",
    ];
    matches!(kind, StatementKind::Define { name } if NAMES.contains(&name.as_str()))
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
