//! What ProxySQL finds out about a statement from its digest, and what the statement does to its transaction.

use splitproof_capture::sql::mysql::Mode;
use splitproof_capture::sql::{Dialect, Effect, StatementKind, XaVerb};

/// What a statement is, found once per digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// SET of any kind; its literals decide further.
    pub set: bool,
    /// USE
    pub use_database: bool,
    /// KILL
    pub kill: bool,
    /// SHOW WARNINGS or SHOW COUNT(*) WARNINGS
    pub warnings: bool,
    /// It names LAST_INSERT_ID or @@IDENTITY.
    pub insert_id: bool,
    /// LOAD DATA LOCAL
    pub load_local: bool,
    /// What it does to its transaction.
    pub transaction: Transaction,
    /// A SELECT that locks nothing.
    pub plain_select: bool,
    /// It opens a transaction where autocommit is off.
    pub opens: bool,
    /// Why its connection is kept for the session from then on, where it is.
    pub keeps: Option<&'static str>,
    /// UNLOCK TABLES
    pub unlocks: bool,
}

/// What a statement does to its transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transaction {
    /// Nothing.
    #[default]
    Nothing,
    /// BEGIN, START TRANSACTION
    Begins,
    /// COMMIT, ROLLBACK, and what commits implicitly.
    Ends,
    /// COMMIT AND CHAIN: it ends, and the next one begins.
    Chains,
}

/// `mysql-keep_multiplexing_variables`: reading these keeps no connection.
const KEPT_MULTIPLEXING: [&[u8]; 3] = [b"tx_isolation", b"transaction_isolation", b"version"];

impl Class {
    /// The class of a digest; the text tells what the digest does not.
    pub fn of(digest: &[u8], sql: &[u8]) -> Self {
        let starts = |word: &[u8]| digest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let has = |word: &[u8]| digest.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        let set = starts(b"SET ");
        let keeps = if starts(b"PREPARE ") {
            Some("a statement prepared in SQL")
        } else if starts(b"CREATE TEMPORARY TABLE ") {
            Some("a temporary table")
        } else if starts(b"LOCK TABLE") || starts(b"FLUSH TABLES WITH READ LOCK") {
            Some("locked tables")
        } else if has(b"GET_LOCK(") {
            Some("GET_LOCK")
        } else if has(b"SQL_CALC_FOUND_ROWS") {
            Some("SQL_CALC_FOUND_ROWS")
        } else if !set && digest.contains(&b'@') && !reads_kept(digest) {
            Some("a variable in the text")
        } else {
            None
        };
        let mut class = Class {
            set,
            use_database: starts(b"USE "),
            kill: starts(b"KILL "),
            warnings: digest.eq_ignore_ascii_case(b"SHOW WARNINGS")
                || digest.eq_ignore_ascii_case(b"SHOW COUNT(*) WARNINGS"),
            insert_id: has(b"LAST_INSERT_ID") || has(b"@@IDENTITY"),
            load_local: starts(b"LOAD DATA LOCAL"),
            keeps,
            unlocks: starts(b"UNLOCK TABLES"),
            ..Class::default()
        };
        let facts = Dialect::Mysql(Mode::default()).facts(&String::from_utf8_lossy(sql));
        for statement in &facts.statements {
            class.transaction = match &statement.kind {
                StatementKind::Begin(_) | StatementKind::Xa { verb: XaVerb::Start } => Transaction::Begins,
                StatementKind::Commit { chain: true } | StatementKind::Rollback { chain: true } => Transaction::Chains,
                StatementKind::Commit { .. } | StatementKind::Rollback { .. } => Transaction::Ends,
                StatementKind::Xa {
                    verb: XaVerb::Commit | XaVerb::CommitOnePhase | XaVerb::Rollback | XaVerb::Prepare,
                } => Transaction::Ends,
                _ if statement.state.implicit_commit => Transaction::Ends,
                _ => class.transaction,
            };
            class.opens |= matches!(statement.effect, Effect::Read | Effect::Write | Effect::Lock)
                && !(statement.reads.is_empty() && statement.writes.is_empty());
        }
        if let [statement] = facts.statements.as_slice() {
            class.plain_select = statement.kind == StatementKind::Select
                && statement.row_lock.is_none()
                && statement.effect == Effect::Read;
        }
        class
    }
}

/// `SELECT @@version` and the like.
fn reads_kept(digest: &[u8]) -> bool {
    let Some(rest) =
        digest.get(..7).filter(|start| start.eq_ignore_ascii_case(b"SELECT ")).and_then(|_| digest.get(7..))
    else {
        return false;
    };
    rest.split(|&c| c == b',').all(|item| {
        let name = item.trim_ascii().strip_prefix(b"@@".as_slice());
        let name = name.map(|name| match name.get(..8) {
            Some(scope) if scope.eq_ignore_ascii_case(b"session.") => &name[8..],
            _ => name,
        });
        name.is_some_and(|name| {
            KEPT_MULTIPLEXING
                .iter()
                .any(|kept| name.get(..kept.len()).is_some_and(|start| start.eq_ignore_ascii_case(kept)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(sql: &str) -> Class {
        Class::of(sql.as_bytes(), sql.as_bytes())
    }

    #[test]
    fn what_keeps_a_connection() {
        for (sql, keeps) in [
            ("SELECT @a := 1", true),
            ("SELECT @@version", false),
            ("SELECT @@session.tx_isolation", false),
            ("SELECT @@version, @@sql_mode", true),
            ("SET @a = 1", false),
            ("LOCK TABLES t READ", true),
            ("SELECT GET_LOCK('a', 1)", true),
            ("SELECT SQL_CALC_FOUND_ROWS id FROM t", true),
            ("PREPARE s FROM 'SELECT 1'", true),
            ("create temporary table x (a int)", true),
            ("SELECT 1", false),
        ] {
            assert_eq!(class(sql).keeps.is_some(), keeps, "{sql}");
        }
    }

    #[test]
    fn what_is_done_to_transactions() {
        for (sql, expected) in [
            ("BEGIN", Transaction::Begins),
            ("START TRANSACTION READ ONLY", Transaction::Begins),
            ("COMMIT", Transaction::Ends),
            ("COMMIT AND CHAIN", Transaction::Chains),
            ("ROLLBACK TO SAVEPOINT a", Transaction::Nothing),
            ("CREATE TABLE t (a INT)", Transaction::Ends),
            ("SELECT 1", Transaction::Nothing),
        ] {
            assert_eq!(class(sql).transaction, expected, "{sql}");
        }
        assert!(class("SELECT a FROM t").opens && !class("SELECT 1").opens);
        assert!(class("SELECT a FROM t").plain_select && !class("SELECT a FROM t FOR UPDATE").plain_select);
    }
}
