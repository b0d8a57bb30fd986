//! Which statement it is.

use serde::{Deserialize, Serialize};

use super::Statement;

/// Which statement it is, with the names and modes on which a session's state depends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StatementKind {
    /// SELECT, TABLE or VALUES.
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// MERGE
    Merge,
    /// TRUNCATE
    Truncate,
    /// COPY ... TO
    CopyTo {
        /// True when the server writes a file or runs a program.
        server_side: bool,
    },
    /// COPY ... FROM
    CopyFrom,

    /// BEGIN or START TRANSACTION.
    Begin(TransactionMode),
    /// COMMIT or END.
    Commit {
        /// AND CHAIN: the next transaction begins at once.
        chain: bool,
    },
    /// ROLLBACK or ABORT.
    Rollback {
        /// AND CHAIN: the next transaction begins at once.
        chain: bool,
    },
    /// SAVEPOINT
    Savepoint {
        /// The savepoint.
        name: String,
    },
    /// RELEASE SAVEPOINT
    Release {
        /// The savepoint.
        name: String,
    },
    /// ROLLBACK TO SAVEPOINT
    RollbackTo {
        /// The savepoint.
        name: String,
    },
    /// PREPARE TRANSACTION
    PrepareTransaction,
    /// COMMIT PREPARED
    CommitPrepared,
    /// ROLLBACK PREPARED
    RollbackPrepared,
    /// SET TRANSACTION
    SetTransaction(TransactionMode),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION
    SetCharacteristics(TransactionMode),
    /// SET CONSTRAINTS
    SetConstraints,

    /// SET of a setting; also SET ROLE, SET SESSION AUTHORIZATION and SET TIME ZONE by their setting's name.
    Set {
        /// The setting, in lower case.
        name: String,
        /// The new value; `None` is DEFAULT, or a setting with a dot in its name, whose values share a shape.
        value: Option<String>,
        /// SET LOCAL: until the transaction ends.
        local: bool,
    },
    /// RESET of one setting, or of all.
    Reset {
        /// The setting, in lower case; `None` is ALL.
        name: Option<String>,
    },
    /// SHOW, and in MySQL and MariaDB also DESCRIBE of a table and HELP.
    Show {
        /// The setting, or what is shown (`warnings`, `create table`), in lower case.
        name: String,
    },
    /// DISCARD
    Discard {
        /// What is thrown away.
        what: Discard,
    },

    /// PREPARE
    Prepare {
        /// The prepared statement.
        name: String,
        /// What EXECUTE will do.
        inner: Box<Statement>,
    },
    /// EXECUTE
    Execute {
        /// The prepared statement.
        name: String,
    },
    /// DEALLOCATE
    Deallocate {
        /// The prepared statement; `None` is ALL.
        name: Option<String>,
    },
    /// DECLARE ... CURSOR
    Declare {
        /// The cursor.
        name: String,
        /// WITH HOLD: it outlives the transaction.
        hold: bool,
        /// What it reads.
        inner: Box<Statement>,
    },
    /// FETCH or MOVE
    Fetch {
        /// The cursor.
        name: String,
    },
    /// CLOSE
    CloseCursor {
        /// The cursor; `None` is ALL.
        name: Option<String>,
    },

    /// LISTEN
    Listen {
        /// The channel.
        channel: String,
    },
    /// UNLISTEN
    Unlisten {
        /// The channel; `None` is all.
        channel: Option<String>,
    },
    /// NOTIFY
    Notify {
        /// The channel.
        channel: String,
    },
    /// LOCK TABLE
    LockTable,

    /// CREATE TABLE, VIEW or SEQUENCE, CREATE TABLE AS and SELECT INTO; `writes` begins with the new object.
    Create {
        /// True when the object lives only in the session.
        temporary: bool,
        /// ON COMMIT DROP
        on_commit_drop: bool,
    },
    /// DROP of tables, views or sequences, which `writes` names.
    Drop,
    /// ALTER ... RENAME TO; `writes` names the old object.
    Rename {
        /// The new name.
        to: String,
    },
    /// CALL
    Call,
    /// DO
    Do,
    /// EXPLAIN
    Explain {
        /// EXPLAIN ANALYZE runs the statement.
        analyze: bool,
        /// The statement explained.
        inner: Box<Statement>,
    },
    /// VACUUM, ANALYZE, REINDEX, CLUSTER, CHECKPOINT or LOAD, by its name.
    Maintain {
        /// The statement's first word, in lower case.
        name: String,
    },
    /// Any other definition or administration statement.
    Define {
        /// The name of its parse node, such as `CreateFunctionStmt`; in MySQL and MariaDB its first words in lower
        /// case, such as `create function`.
        name: String,
    },

    // The rest are statements of MySQL and MariaDB.
    /// REPLACE
    Replace,
    /// LOAD DATA or LOAD XML
    LoadData {
        /// LOCAL: the client sends the file.
        local: bool,
    },
    /// SET of variables, character sets and roles; `state.assignments` holds what it assigns.
    SetVariables,
    /// SET STATEMENT ... FOR: variables set for one statement.
    SetStatement {
        /// The statement.
        inner: Box<Statement>,
    },
    /// USE
    Use {
        /// The database.
        database: String,
    },
    /// LOCK TABLES: `reads` holds those locked for reading, `writes` those locked for writing.
    LockTables,
    /// UNLOCK TABLES
    UnlockTables,
    /// HANDLER: direct access to a table's rows through a cursor of the session.
    Handler {
        /// The table, or the alias under which it was opened.
        table: String,
        /// What is done with it.
        verb: HandlerVerb,
    },
    /// XA: a transaction of several resource managers.
    Xa {
        /// What is done with it.
        verb: XaVerb,
    },
    /// EXECUTE IMMEDIATE
    ExecuteImmediate {
        /// What it does.
        inner: Box<Statement>,
    },
    /// DO: expressions whose results are thrown away.
    Evaluate,
    /// BEGIN NOT ATOMIC and other compound statements outside a stored program.
    Block,
    /// GET DIAGNOSTICS
    GetDiagnostics,
    /// SIGNAL or RESIGNAL
    Signal,
    /// KILL
    Kill {
        /// KILL QUERY leaves the connection alive.
        query: bool,
    },
    /// The statement's text stands in a variable.
    Unknown,
}

/// What HANDLER does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandlerVerb {
    /// OPEN
    Open,
    /// READ
    Read,
    /// CLOSE
    Close,
}

/// What XA does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XaVerb {
    /// XA START and XA BEGIN.
    Start,
    /// XA END
    End,
    /// XA PREPARE
    Prepare,
    /// XA COMMIT
    Commit,
    /// XA COMMIT ... ONE PHASE
    CommitOnePhase,
    /// XA ROLLBACK
    Rollback,
    /// XA RECOVER
    Recover,
}

/// The modes of a transaction, where a statement gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionMode {
    /// READ ONLY or READ WRITE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// ISOLATION LEVEL
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// A transaction isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// READ UNCOMMITTED, which PostgreSQL treats as READ COMMITTED.
    ReadUncommitted,
    /// READ COMMITTED
    ReadCommitted,
    /// REPEATABLE READ
    RepeatableRead,
    /// SERIALIZABLE
    Serializable,
}

impl Isolation {
    /// The level by its name in SQL, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "read uncommitted" => Some(Isolation::ReadUncommitted),
            "read committed" => Some(Isolation::ReadCommitted),
            "repeatable read" => Some(Isolation::RepeatableRead),
            "serializable" => Some(Isolation::Serializable),
            _ => None,
        }
    }
}

/// What DISCARD throws away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// DISCARD ALL
    All,
    /// DISCARD PLANS
    Plans,
    /// DISCARD SEQUENCES
    Sequences,
    /// DISCARD TEMP
    Temp,
}
