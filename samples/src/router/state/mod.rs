//! What a session holds, as far as routing depends on it.
//!
//! `mysql` has what only MySQL and MariaDB have.

mod mysql;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use splitproof_capture::sql::{Discard, Isolation, Relation, Statement, StatementKind, TransactionMode};

use crate::router::node::{NodeId, PRIMARY};

/// The modes of later transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// READ ONLY
    pub read_only: bool,
    /// ISOLATION LEVEL
    pub isolation: Isolation,
}

impl Default for Modes {
    fn default() -> Self {
        Modes { read_only: false, isolation: Isolation::ReadCommitted }
    }
}

/// What a rollback takes back.
#[derive(Clone, Debug, Default)]
pub struct Revertible {
    modes: Modes,
    /// Temporary tables, and whether a commit drops them.
    temporary: HashMap<String, bool>,
}

/// A transaction that the client opened.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Where it is.
    pub node: NodeId,
    /// Its modes.
    pub modes: Modes,
    /// Nothing but control statements has run in it, so that it can still move.
    pub fresh: bool,
    /// Whether it has run something that may write.
    pub wrote: bool,
    before: Revertible,
    savepoints: Vec<(String, Revertible)>,
}

/// A prepared statement, of the protocol or of SQL.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Tells it from an earlier one of the same name.
    pub generation: u64,
    /// What it does.
    pub statements: Vec<Arc<Statement>>,
    /// Its text.
    pub sql: Arc<str>,
    /// How to prepare it on another server.
    pub how: How,
}

/// How a statement was prepared.
#[derive(Clone, Debug)]
pub enum How {
    /// By a message of the protocol, which these bytes are.
    Message(Arc<[u8]>),
    /// By this SQL.
    Sql(Arc<str>),
}

/// The state of one session.
#[derive(Clone, Debug)]
pub struct State {
    /// The open transaction.
    pub transaction: Option<Transaction>,
    /// The modes of later transactions.
    pub modes: Modes,
    /// Why everything goes to the primary from now on.
    pub pinned: Option<&'static str>,
    /// Whether the session has written anything.
    pub wrote: bool,
    temporary: HashMap<String, bool>,
    /// Cursors that outlive their transaction, or belong to the open one: where they are, and whether they are held.
    cursors: HashMap<String, (NodeId, bool)>,
    prepared: HashMap<String, Arc<Prepared>>,
    generations: u64,
    mysql: bool,
    /// MySQL: whether each statement is a transaction of its own.
    pub autocommit: bool,
    /// MySQL: where the last statement ran.
    pub last_node: Option<NodeId>,
    /// MySQL: LOCK TABLES holds.
    tables_locked: bool,
    /// MySQL: SET TRANSACTION waits on this server for its transaction.
    next: Option<(NodeId, TransactionMode)>,
    /// MySQL: user variables whose value the primary alone knows.
    variables_of_primary: HashSet<String>,
}

impl Default for State {
    fn default() -> Self {
        State {
            transaction: None,
            modes: Modes::default(),
            pinned: None,
            wrote: false,
            temporary: HashMap::new(),
            cursors: HashMap::new(),
            prepared: HashMap::new(),
            generations: 0,
            mysql: false,
            autocommit: true,
            last_node: None,
            tables_locked: false,
            next: None,
            variables_of_primary: HashSet::new(),
        }
    }
}

impl State {
    /// Whether the session is one of MySQL or MariaDB.
    pub fn is_mysql(&self) -> bool {
        self.mysql
    }

    /// A prepared statement by its name.
    pub fn prepared(&self, name: &str) -> Option<&Arc<Prepared>> {
        self.prepared.get(name)
    }

    /// Remembers a prepared statement.
    pub fn prepare(&mut self, name: String, statements: Vec<Arc<Statement>>, sql: Arc<str>, how: How) -> Arc<Prepared> {
        self.generations += 1;
        let prepared = Arc::new(Prepared { generation: self.generations, statements, sql, how });
        self.prepared.insert(name, Arc::clone(&prepared));
        prepared
    }

    /// Forgets a prepared statement, if it is still this one.
    pub fn unprepare(&mut self, name: &str, generation: Option<u64>) {
        let same = |known: &Arc<Prepared>| generation.is_none_or(|generation| known.generation == generation);
        if self.prepared.get(name).is_some_and(same) {
            self.prepared.remove(name);
        }
    }

    /// Where a cursor is.
    pub fn cursor(&self, name: &str) -> Option<NodeId> {
        self.cursors.get(name).map(|(node, _)| *node)
    }

    /// Whether a table of this name is a temporary one of the session, or a catalogue that lists those (PostgreSQL).
    pub fn is_temporary(&self, table: &Relation) -> bool {
        if !self.mysql && !self.temporary.is_empty() && lists_objects(table) {
            return true;
        }
        table.schema.as_deref().is_none_or(|schema| schema == "pg_temp") && self.temporary.contains_key(&table.name)
    }

    /// Whether the session holds anything that lives on the primary only.
    pub fn holds_on(&self, node: NodeId) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| transaction.node == node)
            || self.cursors.values().any(|(at, _)| *at == node)
            || (node == PRIMARY && (!self.temporary.is_empty() || self.pinned.is_some()))
    }

    /// What a statement that ended well on `node` does to the state.
    pub fn apply(&mut self, statement: &Statement, node: NodeId) {
        if self.mysql {
            self.apply_mysql(statement, node);
        }
        match &statement.kind {
            StatementKind::Begin(mode) if self.transaction.is_none() => self.begin(node, *mode),
            StatementKind::SetTransaction(mode) => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.modes = merge(transaction.modes, *mode);
                }
            }
            StatementKind::Savepoint { name } => {
                let now = self.revertible();
                if let Some(transaction) = &mut self.transaction {
                    transaction.savepoints.push((name.clone(), now));
                }
            }
            StatementKind::RollbackTo { name } => {
                let mark = self.transaction.as_mut().and_then(|transaction| {
                    let at = transaction.savepoints.iter().rposition(|(known, _)| known == name)?;
                    transaction.savepoints.truncate(at + 1);
                    transaction.savepoints.last().map(|(_, before)| before.clone())
                });
                if let Some(mark) = mark {
                    self.restore(mark);
                }
            }
            StatementKind::SetCharacteristics(mode) => self.modes = merge(self.modes, *mode),
            StatementKind::Set { name, value, local } => self.set(name, value.as_deref(), *local),
            StatementKind::Reset { name } => match name {
                Some(name) => self.set(name, None, false),
                None => self.modes = Modes::default(),
            },
            StatementKind::Discard { what: Discard::All } => *self = self.fresh(),
            StatementKind::Discard { what: Discard::Temp } => self.temporary.clear(),
            StatementKind::Deallocate { name } => match name {
                Some(name) => drop(self.prepared.remove(name)),
                None => self.prepared.clear(),
            },
            StatementKind::Declare { name, hold, .. } => {
                self.cursors.insert(name.clone(), (node, *hold));
            }
            StatementKind::CloseCursor { name } => match name {
                Some(name) => drop(self.cursors.remove(name)),
                None => self.cursors.clear(),
            },
            StatementKind::Create { temporary: true, on_commit_drop } => {
                if let Some(table) = statement.writes.first()
                    && (self.transaction.is_some() || !on_commit_drop)
                {
                    self.temporary.insert(table.name.clone(), *on_commit_drop);
                }
            }
            StatementKind::Drop => {
                for table in &statement.writes {
                    self.temporary.remove(&table.name);
                }
            }
            StatementKind::Rename { to } => {
                let renamed = statement.writes.first().and_then(|table| self.temporary.remove(&table.name));
                if let Some(dropped) = renamed {
                    self.temporary.insert(to.clone(), dropped);
                }
            }
            _ => {
                for setting in &statement.settings {
                    if let Some(name) = &setting.name {
                        self.set(&name.to_lowercase(), setting.value.as_deref(), setting.local == Some(true));
                    }
                }
            }
        }
    }

    /// The server says that a transaction is open on `node` that did not begin with BEGIN.
    pub fn begin(&mut self, node: NodeId, mode: TransactionMode) {
        let shaped = self.next.take().map_or(self.modes, |(_, next)| merge(self.modes, next));
        self.transaction = Some(Transaction {
            node,
            modes: merge(shaped, mode),
            fresh: true,
            wrote: false,
            before: self.revertible(),
            savepoints: Vec::new(),
        });
    }

    /// The transaction is over.
    pub fn end(&mut self, committed: bool) {
        let Some(transaction) = self.transaction.take() else { return };
        self.wrote |= transaction.wrote && committed;
        if committed {
            self.temporary.retain(|_, dropped_on_commit| !*dropped_on_commit);
        } else {
            self.restore(transaction.before);
        }
        // Those that were declared in it and are not held are gone; earlier ones are all held.
        self.cursors.retain(|_, (_, hold)| *hold);
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool) {
        let fresh = Modes::default();
        let read_only = || value.map_or(fresh.read_only, is_on);
        let isolation = || value.and_then(Isolation::from_name).unwrap_or(fresh.isolation);
        match (name, &mut self.transaction) {
            ("transaction_read_only", Some(transaction)) => transaction.modes.read_only = read_only(),
            ("transaction_isolation", Some(transaction)) => transaction.modes.isolation = isolation(),
            ("default_transaction_read_only", _) if !local => self.modes.read_only = read_only(),
            ("default_transaction_isolation", _) if !local => self.modes.isolation = isolation(),
            _ => {}
        }
    }

    fn revertible(&self) -> Revertible {
        Revertible { modes: self.modes, temporary: self.temporary.clone() }
    }

    fn restore(&mut self, before: Revertible) {
        if self.mysql {
            return;
        }
        self.modes = before.modes;
        self.temporary = before.temporary;
    }

    /// Whether a rollback takes settings and temporary tables back, as on PostgreSQL.
    pub fn reverts_settings(&self) -> bool {
        !self.mysql
    }

    /// A session that was reset; generations go on, since servers may know earlier ones.
    pub fn fresh(&self) -> State {
        let as_new = if self.mysql { State::of_mysql() } else { State::default() };
        State { generations: self.generations, ..as_new }
    }
}

fn lists_objects(table: &Relation) -> bool {
    const CATALOGUES: [&str; 9] = [
        "pg_attribute",
        "pg_class",
        "pg_constraint",
        "pg_index",
        "pg_indexes",
        "pg_sequences",
        "pg_tables",
        "pg_type",
        "pg_views",
    ];
    match table.schema.as_deref() {
        Some("information_schema") => true,
        None | Some("pg_catalog") => CATALOGUES.contains(&table.name.as_str()),
        Some(_) => false,
    }
}

fn merge(modes: Modes, mode: TransactionMode) -> Modes {
    Modes { read_only: mode.read_only.unwrap_or(modes.read_only), isolation: mode.isolation.unwrap_or(modes.isolation) }
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "on" | "true" | "t" | "yes" | "y" | "1")
}
