//! Where a statement may go, by what it is (pgpool's `send_to_where` and `is_select_query`).

use splitproof_capture::sql::{Effect, Isolation, Statement, StatementKind};

/// Where a statement may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The primary, for this reason.
    Primary(&'static str),
    /// Every node, for this reason.
    All(&'static str),
    /// Any one node, if nothing else speaks against it.
    Either,
    /// Where the statement of this name was prepared.
    Prepared,
}

/// Where a statement may go.
pub fn place(statement: &Statement, sql: &str) -> Place {
    let serializable = |isolation: Option<Isolation>| isolation == Some(Isolation::Serializable);
    match &statement.kind {
        StatementKind::Select => {
            if statement.into {
                Place::Primary("SELECT INTO")
            } else if statement.row_lock.is_some() {
                Place::Primary("it locks rows")
            } else if statement.modifying_cte {
                Place::Primary("a WITH that writes")
            } else {
                Place::Either
            }
        }
        StatementKind::CopyTo { server_side: true } => Place::Primary("COPY to a file of the server"),
        StatementKind::CopyTo { .. } if statement.effect == Effect::Read => Place::Either,
        StatementKind::Show { .. } => Place::Either,
        StatementKind::LockTable => {
            let upper = sql.to_ascii_uppercase();
            let words: Vec<&str> = upper.split_whitespace().collect();
            let light = words.windows(2).any(|pair| matches!(pair, ["ACCESS" | "ROW", "SHARE"]));
            if light { Place::All("a light table lock") } else { Place::Primary("a table lock") }
        }
        StatementKind::Begin(mode) => {
            if serializable(mode.isolation) {
                Place::Primary("SERIALIZABLE: the standbys get a plain BEGIN")
            } else if mode.read_only == Some(false) {
                Place::Primary("READ WRITE: the standbys get a plain BEGIN")
            } else {
                Place::All("BEGIN")
            }
        }
        StatementKind::Commit { .. } | StatementKind::Rollback { .. } => Place::All("it ends the transaction"),
        StatementKind::Savepoint { .. } | StatementKind::Release { .. } | StatementKind::RollbackTo { .. } => {
            Place::All("a savepoint")
        }
        StatementKind::SetTransaction(mode) | StatementKind::SetCharacteristics(mode) => {
            if serializable(mode.isolation) {
                Place::Primary("SERIALIZABLE")
            } else if mode.read_only == Some(false) {
                Place::Primary("READ WRITE")
            } else {
                Place::All("SET")
            }
        }
        StatementKind::Set { name, value, .. } => {
            let value = value.as_deref().map(str::to_ascii_lowercase);
            let value = value.as_deref().map(|value| value.trim_matches('\''));
            match (name.as_str(), value) {
                ("transaction_read_only", Some("off" | "f" | "false")) => Place::Primary("transaction_read_only = off"),
                ("transaction_isolation" | "default_transaction_isolation", Some("serializable")) => {
                    Place::Primary("SERIALIZABLE")
                }
                _ => Place::All("SET"),
            }
        }
        StatementKind::Reset { .. } => Place::All("RESET"),
        StatementKind::Discard { .. } => Place::All("DISCARD"),
        StatementKind::Deallocate { name: None } => Place::All("DEALLOCATE ALL"),
        StatementKind::Execute { .. } | StatementKind::Deallocate { .. } => Place::Prepared,
        StatementKind::Prepare { .. } => Place::Primary("PREPARE"),
        StatementKind::Explain { .. } => Place::Primary("EXPLAIN"),
        StatementKind::Declare { .. } | StatementKind::Fetch { .. } | StatementKind::CloseCursor { .. } => {
            Place::Primary("a cursor")
        }
        StatementKind::Listen { .. } | StatementKind::Unlisten { .. } | StatementKind::Notify { .. } => {
            Place::Primary("notifications")
        }
        StatementKind::PrepareTransaction | StatementKind::CommitPrepared | StatementKind::RollbackPrepared => {
            Place::Primary("a two-phase commit")
        }
        _ => Place::Primary("not a read"),
    }
}

/// Whether pgpool takes the text for a read by its first character; it does not look further unless comments are allowed.
pub fn begins_as_read(sql: &str, ignore_space: bool, comments: bool) -> bool {
    if comments {
        return true;
    }
    let sql = if ignore_space { sql.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']) } else { sql };
    matches!(sql.bytes().next(), None | Some(b's' | b'S' | b'(' | b'w' | b'W' | b't' | b'T' | b';'))
}
