//! What a statement takes from its session, and what it leaves there.

use serde::{Deserialize, Serialize};

/// What a MySQL or MariaDB statement takes from its session and leaves there. Empty for PostgreSQL, where the kind of
/// a statement and the functions that it calls say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// What SET assigns, in order; `SET NAMES` and `SET CHARACTER SET` as `names` and `character_set`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
    /// User variables that it reads, in lower case, without `@`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables_read: Vec<String>,
    /// User variables that it sets, by SET, `:=`, INTO, or as an argument of CALL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables_written: Vec<String>,
    /// System variables that it reads, in lower case, without `@@` and scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system_variables: Vec<String>,
    /// What of the session's earlier statements it asks for: it belongs where they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<Follows>,
    /// SQL_CALC_FOUND_ROWS: FOUND_ROWS() will ask for this statement's rows.
    #[serde(skip_serializing_if = "is_false")]
    pub found_rows: bool,
    /// The open transaction is committed before the statement runs. `SET autocommit = 1` and `UNLOCK TABLES` do so
    /// only under conditions that the text does not tell.
    #[serde(skip_serializing_if = "is_false")]
    pub implicit_commit: bool,
    /// CREATE or DROP of a TEMPORARY table or sequence.
    #[serde(skip_serializing_if = "is_false")]
    pub temporary: bool,
    /// START TRANSACTION WITH CONSISTENT SNAPSHOT.
    #[serde(skip_serializing_if = "is_false")]
    pub snapshot: bool,
    /// COMMIT or ROLLBACK with RELEASE: the server ends the connection.
    #[serde(skip_serializing_if = "is_false")]
    pub release: bool,
    /// What a locking read does about rows that another session holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_wait: Option<LockWait>,
    /// FOR SYSTEM_TIME: it reads past rows of a versioned table.
    #[serde(skip_serializing_if = "is_false")]
    pub history: bool,
    /// It reads or writes a file at the server: INTO OUTFILE or DUMPFILE, LOAD DATA without LOCAL.
    #[serde(skip_serializing_if = "is_false")]
    pub server_file: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl State {
    /// True when the statement has nothing to do with its session.
    pub fn is_empty(&self) -> bool {
        *self == State::default()
    }
}

/// One assignment of SET.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Whose variable it is.
    pub scope: Scope,
    /// The variable, in lower case, without `@`.
    pub name: String,
    /// The new value where it is a literal or a word, quotes taken away. Not kept where values share a shape: user
    /// variables, passwords, and what replication sets anew for each statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Whose variable an assignment changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// `@name`: the session's own.
    User,
    /// SESSION, LOCAL, or no scope at all.
    Session,
    /// GLOBAL: the server's, for sessions to come.
    Global,
    /// PERSIST and PERSIST_ONLY: the server's, across restarts.
    Persist,
}

/// What a statement asks of the session's earlier statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follows {
    /// LAST_INSERT_ID() without an argument, `@@last_insert_id`, `@@identity`.
    LastInsertId,
    /// FOUND_ROWS()
    FoundRows,
    /// ROW_COUNT()
    RowCount,
    /// SHOW WARNINGS, SHOW ERRORS, GET DIAGNOSTICS, `@@warning_count`, `@@error_count`.
    Diagnostics,
    /// LASTVAL() and PREVIOUS VALUE FOR: the sequence value that this session drew.
    SequenceValue,
    /// SHOW PROFILE and SHOW PROFILES.
    Profile,
}

/// What a locking read does about rows that another session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockWait {
    /// NOWAIT: it fails.
    NoWait,
    /// WAIT n: it fails after so many seconds.
    Limited,
    /// SKIP LOCKED: it passes over them.
    SkipLocked,
}
