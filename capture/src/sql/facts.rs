//! What a statement does, as far as its text tells. Volatility of functions is not in the text: it comes from the
//! catalogs of the pair at hand, so these facts name functions and leave the verdict to the analysis.

use serde::{Deserialize, Serialize};

use super::{State, StatementKind};

/// The facts of one SQL text, which may hold several statements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// One entry per statement, in order; empty for an empty text or one that could not be parsed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    /// Why the text could not be parsed. Nothing is known of its effect then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The facts of one statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Which statement it is, with what the session's state depends on.
    #[serde(flatten)]
    pub kind: StatementKind,
    /// What it does to the database or session.
    pub effect: Effect,
    /// Tables, views and sequences that it reads. Names of common table expressions are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Relation>,
    /// Tables that it changes, locks or defines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Relation>,
    /// Columns that an INSERT or REPLACE names and gives values to, unless its text asks for a DEFAULT somewhere. Empty when
    /// that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Functions and procedures that it calls, at any depth; operators and casts are not looked into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Function>,
    /// What it reads of its surroundings without a function call: `current_timestamp`, `current_user`,
    /// the literals `'now'` and `'today'` cast to a time, and `tablesample`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surroundings: Vec<String>,
    /// Settings that it changes through set_config().
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// The strongest row lock that it takes, at any depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_lock: Option<RowLock>,
    /// True for an INSERT, UPDATE, DELETE or MERGE inside WITH.
    #[serde(default, skip_serializing_if = "is_false")]
    pub modifying_cte: bool,
    /// True for SELECT ... INTO: a table (PostgreSQL), a server file or variables (MySQL and MariaDB).
    #[serde(default, skip_serializing_if = "is_false")]
    pub into: bool,
    /// True when the outermost ORDER BY fixes the order of the rows (ties aside).
    #[serde(default, skip_serializing_if = "is_false")]
    pub ordered: bool,
    /// True when LIMIT, OFFSET or DISTINCT ON picks rows without an ORDER BY to say which, at any depth.
    #[serde(default, skip_serializing_if = "is_false")]
    pub arbitrary_rows: bool,
    /// True when a changing statement returns rows, at any depth.
    #[serde(default, skip_serializing_if = "is_false")]
    pub returning: bool,
    /// True when the statement was too large or too deeply nested for its tree to be read, so that only its
    /// tables, functions and kind are known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// What it takes from its session and leaves there (MySQL and MariaDB).
    #[serde(default, skip_serializing_if = "State::is_empty")]
    pub state: State,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Statement {
    /// A statement of which only kind and effect are known.
    pub fn new(kind: StatementKind, effect: Effect) -> Self {
        Statement {
            kind,
            effect,
            reads: Vec::new(),
            writes: Vec::new(),
            given: Vec::new(),
            functions: Vec::new(),
            surroundings: Vec::new(),
            settings: Vec::new(),
            row_lock: None,
            modifying_cte: false,
            into: false,
            ordered: false,
            arbitrary_rows: false,
            returning: false,
            partial: false,
            state: State::default(),
        }
    }
}

/// What a statement does, functions aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads data, or nothing at all.
    Read,
    /// Changes data or definitions, or may do so (CALL, DO).
    Write,
    /// Takes or gives back row or table locks and changes nothing else.
    Lock,
    /// Changes or uses state that lives in the session.
    Session,
    /// Begins, ends or shapes a transaction.
    Transaction,
    /// Maintains the server or its storage: VACUUM, ANALYZE, CHECKPOINT, COPY to a server file; FLUSH, SET GLOBAL,
    /// KILL, the administration of replication.
    Utility,
}

impl Effect {
    /// The word that stands in a trace.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Lock => "lock",
            Effect::Session => "session",
            Effect::Transaction => "transaction",
            Effect::Utility => "utility",
        }
    }
}

/// A table, view or sequence as the statement names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Relation {
    /// The schema, where it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A function call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Function {
    /// The schema, where it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// Number of arguments given.
    pub args: u16,
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}()", self.name),
            None => write!(f, "{}()", self.name),
        }
    }
}

/// A call of set_config(); what was not a constant is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The setting's name.
    pub name: Option<String>,
    /// The new value; not kept for settings with a dot in their name, which share a shape.
    pub value: Option<String>,
    /// True when the change ends with the transaction.
    pub local: Option<bool>,
}

/// A row locking clause, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowLock {
    /// FOR KEY SHARE
    KeyShare,
    /// FOR SHARE
    Share,
    /// FOR NO KEY UPDATE
    NoKeyUpdate,
    /// FOR UPDATE
    Update,
}
