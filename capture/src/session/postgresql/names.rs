//! The prepared statements and portals of a session, by name.
//!
//! Names change when the client asks, ahead of the server's answer, because clients send several requests without
//! waiting. What a failed or skipped request changed is put back when the server's answer tells.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;

use crate::session::shared::Text;

/// A prepared statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub text: Text,
    /// Types as declared in Parse.
    pub declared: Vec<u32>,
    /// Types that the server told, when it was asked.
    pub described: Vec<u32>,
    /// When it is SQL's PREPARE or DEALLOCATE: what its execution does.
    pub renames: Vec<Renaming>,
}

/// What SQL's PREPARE, DEALLOCATE and DISCARD do.
#[derive(Clone, Debug)]
pub(super) enum Renaming {
    Prepare(CompactString, Text),
    Deallocate(CompactString),
    DeallocateAll,
}

impl Statement {
    /// Type of a parameter; 0 when neither side told.
    pub fn param_type(&self, index: usize) -> u32 {
        let known = |types: &[u32]| types.get(index).copied().filter(|&oid| oid != 0);
        known(&self.described).or_else(|| known(&self.declared)).unwrap_or(0)
    }
}

/// A statement with its parameters, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Portal {
    pub statement: CompactString,
    /// `None` when the statement's Parse was not seen.
    pub source: Option<Arc<Statement>>,
    /// Pipeline group that made it.
    pub group: u32,
}

/// What a Parse, a Close or SQL's PREPARE did, so that it can be undone.
#[derive(Debug)]
pub(super) struct Change {
    name: CompactString,
    before: Option<Arc<Statement>>,
    after: Option<Arc<Statement>>,
}

/// Objects by name. The unnamed one is the one in use most, so it has a place of its own.
#[derive(Debug)]
struct ByName<T> {
    unnamed: Option<T>,
    named: HashMap<CompactString, T>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        ByName { unnamed: None, named: HashMap::new() }
    }
}

impl<T> ByName<T> {
    fn get(&self, name: &str) -> Option<&T> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(name) }
    }

    fn set(&mut self, name: &str, value: Option<T>) -> Option<T> {
        match value {
            value if name.is_empty() => std::mem::replace(&mut self.unnamed, value),
            Some(value) => self.named.insert(name.into(), value),
            None => self.named.remove(name),
        }
    }
}

/// Everything that has a name.
#[derive(Debug, Default)]
pub(super) struct Names {
    statements: ByName<Arc<Statement>>,
    portals: ByName<Portal>,
}

impl Names {
    pub fn statement(&self, name: &str) -> Option<&Arc<Statement>> {
        self.statements.get(name)
    }

    pub fn portal(&self, name: &str) -> Option<&Portal> {
        self.portals.get(name)
    }

    /// Parse, or SQL's PREPARE.
    pub fn prepare(&mut self, name: &str, statement: Statement) -> Change {
        let after = Arc::new(statement);
        let before = self.statements.set(name, Some(Arc::clone(&after)));
        Change { name: name.into(), before, after: Some(after) }
    }

    /// Close of a statement.
    pub fn close_statement(&mut self, name: &str) -> Change {
        Change { name: name.into(), before: self.statements.set(name, None), after: None }
    }

    /// DEALLOCATE ALL: the unnamed statement stays until the next one.
    pub fn close_all_statements(&mut self) -> Vec<Change> {
        let all = self.statements.named.drain();
        all.map(|(name, statement)| Change { name, before: Some(statement), after: None }).collect()
    }

    /// The server refused the change (`reached`), or passed over it.
    pub fn undo(&mut self, change: Change, reached: bool) {
        let name = change.name.as_str();
        let unchanged_since = match (self.statements.get(name), &change.after) {
            (Some(now), Some(after)) => Arc::ptr_eq(now, after),
            (None, None) => true,
            _ => false,
        };
        if unchanged_since {
            // A Parse of the unnamed statement drops the one before, even when it fails.
            let before = if reached && name.is_empty() { None } else { change.before };
            self.statements.set(name, before);
        }
    }

    /// The server told the types of a statement's parameters.
    pub fn describe(&mut self, name: &str, types: Vec<u32>) {
        if let Some(statement) = self.statements.get_mut(name) {
            Arc::make_mut(statement).described = types;
        }
    }

    /// Bind.
    pub fn bind(&mut self, name: &str, portal: Portal) {
        self.portals.set(name, Some(portal));
    }

    /// Close of a portal. Needs no undo: the error that makes the server pass over it ends the transaction.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.set(name, None);
    }

    /// A simple query drops the unnamed statement and the unnamed portal.
    pub fn simple_query(&mut self) {
        self.statements.unnamed = None;
        self.portals.unnamed = None;
    }

    /// Portals live no longer than their transaction, which ended with this pipeline group. Those of later groups,
    /// which the client may have sent already, stay.
    pub fn end_transaction(&mut self, group: u32) {
        self.portals.unnamed.take_if(|portal| portal.group <= group);
        if !self.portals.named.is_empty() {
            self.portals.named.retain(|_, portal| portal.group > group);
        }
    }

    /// What the client did meanwhile is not known, so any name may mean something else now.
    pub fn forget(&mut self) {
        *self = Names::default();
    }
}
