//! Statements that begin, end or shape a transaction.

use super::tokens::Cursor;
use crate::sql::{Effect, Isolation, Statement, StatementKind, TransactionMode, XaVerb};

/// `None` where the words after the first belong to no such statement.
pub(super) fn read(first: &str, mut cursor: Cursor<'_, '_>) -> Option<Statement> {
    let mut state = crate::sql::State::default();
    let kind = match first {
        "begin" | "start" => {
            if first == "start" && !cursor.eat("transaction") {
                return None;
            }
            cursor.eat("work");
            let mut mode = TransactionMode::default();
            while !cursor.done() {
                if cursor.eat_all(&["with", "consistent", "snapshot"]) {
                    state.snapshot = true;
                } else if let Some(read_only) = access(&mut cursor) {
                    mode.read_only = Some(read_only);
                } else if !cursor.eat_symbol(",") {
                    return None;
                }
            }
            state.implicit_commit = true;
            StatementKind::Begin(mode)
        }
        "commit" | "rollback" => {
            cursor.eat("work");
            if first == "rollback" && cursor.eat("to") {
                cursor.eat("savepoint");
                StatementKind::RollbackTo { name: cursor.name().ok()? }
            } else {
                let chain = cursor.eat_all(&["and", "chain"]);
                cursor.eat_all(&["and", "no", "chain"]);
                let no = cursor.eat("no");
                state.release = cursor.eat("release") && !no;
                match first {
                    "commit" => StatementKind::Commit { chain },
                    _ => StatementKind::Rollback { chain },
                }
            }
        }
        "savepoint" => StatementKind::Savepoint { name: cursor.name().ok()? },
        "release" => {
            cursor.eat("savepoint");
            StatementKind::Release { name: cursor.name().ok()? }
        }
        "xa" => {
            let verb = xa(&mut cursor)?;
            let effect = if verb == XaVerb::Recover { Effect::Read } else { Effect::Transaction };
            return Some(Statement::new(StatementKind::Xa { verb }, effect));
        }
        _ => return None,
    };
    cursor.done().then(|| Statement { state, ..Statement::new(kind, Effect::Transaction) })
}

fn xa(cursor: &mut Cursor<'_, '_>) -> Option<XaVerb> {
    let one_phase = cursor.end >= 2 && cursor.from(cursor.end - 2).are(&["one", "phase"]);
    Some(match () {
        () if cursor.eat("start") || cursor.eat("begin") => XaVerb::Start,
        () if cursor.eat("end") => XaVerb::End,
        () if cursor.eat("prepare") => XaVerb::Prepare,
        () if cursor.eat("commit") && one_phase => XaVerb::CommitOnePhase,
        () if cursor.source.is(cursor.at.saturating_sub(1), "commit") => XaVerb::Commit,
        () if cursor.eat("rollback") => XaVerb::Rollback,
        () if cursor.eat("recover") => XaVerb::Recover,
        () => return None,
    })
}

/// READ ONLY or READ WRITE: true for the first.
fn access(cursor: &mut Cursor<'_, '_>) -> Option<bool> {
    if cursor.eat_all(&["read", "only"]) {
        Some(true)
    } else if cursor.eat_all(&["read", "write"]) {
        Some(false)
    } else {
        None
    }
}

/// The characteristics after SET [scope] TRANSACTION.
pub(super) fn characteristics(mut cursor: Cursor<'_, '_>) -> Result<TransactionMode, String> {
    let mut mode = TransactionMode::default();
    while !cursor.done() {
        if let Some(read_only) = access(&mut cursor) {
            mode.read_only = Some(read_only);
        } else if cursor.eat_all(&["isolation", "level"]) {
            mode.isolation = Some(match () {
                () if cursor.eat_all(&["read", "uncommitted"]) => Isolation::ReadUncommitted,
                () if cursor.eat_all(&["read", "committed"]) => Isolation::ReadCommitted,
                () if cursor.eat_all(&["repeatable", "read"]) => Isolation::RepeatableRead,
                () if cursor.eat("serializable") => Isolation::Serializable,
                () => return Err(format!("an isolation level is missing {}", cursor.here())),
            });
        } else if !cursor.eat_symbol(",") {
            return Err(format!("no transaction characteristic, {}", cursor.here()));
        }
    }
    Ok(mode)
}
