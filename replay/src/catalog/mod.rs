//! `catalog.json`: what the pair's catalogue says about functions, defaults and relations, taken when the run starts.
//!
//! - [`Catalog`]: its content; [`MysqlCatalog`] is the part that only MySQL and MariaDB have
//! - [`Catalog::snapshot`]: asks the primary
//! - [`Catalog::write`], [`Catalog::read`]: the file in the run's directory

mod file;
mod mysql;
mod snapshot;

use serde::{Deserialize, Serialize};

pub use file::CatalogError;
pub use mysql::{MysqlCatalog, Routine, Table, Trigger};

/// What the pair's catalogue says, as far as it decides where a statement belongs and whether its answer can repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// Version of the primary.
    pub server_version: String,
    /// The database that was asked. Functions and relations are those of this database; of every one on MySQL and MariaDB.
    pub database: String,
    /// `search_path` of the control connection, the schemas in the order in which an unqualified name is looked up;
    /// `pg_catalog` comes first unless it is listed.
    pub search_path: Vec<String>,
    /// Every function and procedure, those of the system too.
    pub functions: Vec<Function>,
    /// Columns whose default calls a function that is not immutable, or asks for the time: two inserts of the same text may differ.
    pub varying_defaults: Vec<VaryingDefault>,
    /// Relations that are more than an ordinary, permanent table.
    pub relations: Vec<Relation>,
    /// Triggers that call a function. Those of MySQL and MariaDB, which have a body of their own, are in [`MysqlCatalog`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<FunctionTrigger>,
    /// What only MySQL and MariaDB have; null for PostgreSQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mysql: Option<MysqlCatalog>,
}

/// A function or procedure (`pg_proc`; on MySQL and MariaDB `information_schema.routines`, as they were declared).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Argument types as `pg_get_function_identity_arguments` writes them.
    pub args: String,
    /// What it promises about its effects.
    pub volatility: Volatility,
    /// Function or procedure.
    pub kind: FunctionKind,
    /// True when it returns a set of rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returns_set: bool,
    /// Language it is written in.
    pub language: String,
    /// Its body, where it is SQL or PL/pgSQL and not the system's (`pg_proc.prosrc`, or what `pg_get_function_sqlbody`
    /// gives). MySQL and MariaDB have theirs in [`MysqlCatalog::routines`]; catalogues of earlier programs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

/// What a function promises about its effects (`pg_proc.provolatile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Volatility {
    /// The same arguments give the same result for ever.
    #[serde(rename = "i")]
    Immutable,
    /// The same arguments give the same result within a statement, and nothing is changed.
    #[serde(rename = "s")]
    Stable,
    /// Anything may happen, writes included.
    #[serde(rename = "v")]
    Volatile,
}

/// The kind of a function (`pg_proc.prokind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FunctionKind {
    /// An ordinary function.
    #[serde(rename = "f")]
    Function,
    /// A procedure, which `CALL` runs.
    #[serde(rename = "p")]
    Procedure,
    /// An aggregate.
    #[serde(rename = "a")]
    Aggregate,
    /// A window function.
    #[serde(rename = "w")]
    Window,
}

/// A column whose default calls a function that is not immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaryingDefault {
    /// Schema of the table.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Column.
    pub column: String,
    /// The default as `pg_get_expr` writes it; `nextval` for an identity column.
    pub expression: String,
}

/// A trigger of PostgreSQL (`pg_trigger`) that fires in an ordinary session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionTrigger {
    /// Schema of its table or view.
    pub schema: String,
    /// Its table or view.
    pub table: String,
    /// Name.
    pub name: String,
    /// `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`.
    pub events: Vec<String>,
    /// Schema of the function that it calls.
    pub function_schema: String,
    /// The function that it calls.
    pub function: String,
}

/// A relation that is more than an ordinary, permanent table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// `pg_class.relkind`: `r` table, `p` partitioned table, `v` view, `m` materialised view, `f` foreign table,
    /// `S` sequence.
    pub kind: char,
    /// `pg_class.relpersistence`: `p` permanent, `u` unlogged (not on replicas), `t` temporary.
    pub persistence: char,
}

impl Catalog {
    /// The most that any function of this name may do; `None` when there is no such function. Without a schema, every
    /// schema counts, since the caller's `search_path` may differ from ours.
    pub fn volatility(&self, schema: Option<&str>, name: &str) -> Option<Volatility> {
        let same =
            |function: &&Function| function.name == name && schema.is_none_or(|schema| function.schema == schema);
        self.functions
            .iter()
            .filter(same)
            .map(|function| function.volatility)
            .max_by_key(|volatility| *volatility as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(schema: &str, name: &str, volatility: Volatility) -> Function {
        Function {
            schema: schema.to_owned(),
            name: name.to_owned(),
            args: String::new(),
            volatility,
            kind: FunctionKind::Function,
            returns_set: false,
            language: "sql".to_owned(),
            definition: None,
        }
    }

    #[test]
    fn the_worst_overload_counts() {
        let functions = vec![
            function("public", "f", Volatility::Stable),
            function("public", "f", Volatility::Volatile),
            function("audit", "f", Volatility::Immutable),
        ];
        let catalog = Catalog { functions, ..Catalog::default() };
        assert_eq!(catalog.volatility(None, "f"), Some(Volatility::Volatile));
        assert_eq!(catalog.volatility(Some("audit"), "f"), Some(Volatility::Immutable));
        assert_eq!(catalog.volatility(None, "g"), None);
    }

    #[test]
    fn the_letters_of_the_catalogue_are_the_words_of_the_file() {
        let json = serde_json::to_string(&function("public", "f", Volatility::Stable)).unwrap();
        assert!(json.contains(r#""volatility":"s","kind":"f","language""#), "{json}");
    }
}
