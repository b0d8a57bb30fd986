//! What only MySQL's and MariaDB's catalogue has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What only MySQL's and MariaDB's catalogue has. The statements that make routines and triggers are as `SHOW CREATE` gives
/// them: null where the user of the control connection may not see them, and in catalogues of earlier programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MysqlCatalog {
    /// Global variables that decide what a statement means or does, by name.
    pub settings: BTreeMap<String, String>,
    /// Stored functions and procedures, those of the system too.
    pub routines: Vec<Routine>,
    /// Tables, views and sequences of every schema but the system's.
    pub tables: Vec<Table>,
    /// Triggers, of every schema but the system's.
    pub triggers: Vec<Trigger>,
}

/// A stored function or procedure (`information_schema.routines`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// `FUNCTION`, `PROCEDURE`, `PACKAGE` or `PACKAGE BODY`.
    pub kind: String,
    /// What it was declared to do with data: `CONTAINS SQL` (said of everything that does not say), `NO SQL`,
    /// `READS SQL DATA` or `MODIFIES SQL DATA`. The server does not check it.
    pub data_access: String,
    /// Whether it was declared `DETERMINISTIC`. The server does not check it.
    pub deterministic: bool,
    /// The `sql_mode` that its text is read with.
    pub sql_mode: String,
    /// The statement that makes it. `information_schema` shows its body too, but without the escapes in its texts, so that it
    /// does not tell where they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<String>,
}

/// A table, view or sequence (`information_schema.tables`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// `BASE TABLE`, `VIEW`, `SEQUENCE`, `SYSTEM VERSIONED`.
    pub kind: String,
    /// Storage engine; null for a view.
    pub engine: Option<String>,
    /// The query of a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

/// A trigger (`information_schema.triggers`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Schema of the trigger and of its table.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// `BEFORE` or `AFTER`.
    pub timing: String,
    /// `INSERT`, `UPDATE` or `DELETE`.
    pub event: String,
    /// The `sql_mode` that its text is read with.
    #[serde(default)]
    pub sql_mode: String,
    /// The statement that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<String>,
}
