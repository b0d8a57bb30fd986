//! Facts without a tree, for texts too deep or too large.
//!
//! The parser's own summary names tables, functions and statement types. What it leaves out is looked for among the
//! tokens, in a way that rather finds too much: a lock seen where there is none costs a read on the primary.

use std::collections::BTreeSet;

use pg_query::protobuf::summary_result::Context;

use crate::sql::lexer::{Kind, Lexer};
use crate::sql::{Effect, Function, Relation, RowLock, Statement, StatementKind};

/// The facts of a text as one statement, or why it could not be parsed.
pub(super) fn statements(sql: &str) -> Result<Vec<Statement>, String> {
    let summary = pg_query::summary(sql, 0, -1).map_err(|error| match error {
        pg_query::Error::Parse(message) => message,
        error => error.to_string(),
    })?;
    let types: BTreeSet<_> = summary.statement_types.iter().map(String::as_str).collect();
    let single = pg_query::split_with_scanner(sql).map(|texts| texts.len() <= 1).unwrap_or(false);
    let (kind, effect) = match types.iter().next().filter(|_| types.len() == 1 && single) {
        Some(&"SelectStmt") => (StatementKind::Select, Effect::Read),
        Some(&"InsertStmt") => (StatementKind::Insert, Effect::Write),
        Some(&"UpdateStmt") => (StatementKind::Update, Effect::Write),
        Some(&"DeleteStmt") => (StatementKind::Delete, Effect::Write),
        _ => {
            let name = types.into_iter().collect::<Vec<_>>().join(" and ");
            (StatementKind::Define { name }, Effect::Write)
        }
    };
    let mut statement = Statement { partial: true, ..Statement::new(kind, effect) };
    let named = |schema: &str| (!schema.is_empty()).then(|| schema.to_owned());
    for table in &summary.tables {
        let relation = Relation { schema: named(&table.schema_name), name: table.table_name.clone() };
        match table.context {
            Context::Dml | Context::Ddl => statement.writes.push(relation),
            _ => statement.reads.push(relation),
        }
    }
    for function in &summary.functions {
        // The number of arguments is not told.
        statement.functions.push(Function {
            schema: function.schema_name.clone().filter(|schema| !schema.is_empty()),
            name: function.function_name.clone(),
            args: u16::MAX,
        });
    }
    statement.reads.sort();
    statement.writes.sort();
    statement.functions.sort();
    if statement.kind == StatementKind::Select {
        statement.row_lock = row_lock(sql);
        if !statement.writes.is_empty() || has_word(sql, &[b"into"]) {
            statement.effect = Effect::Write;
        } else if statement.row_lock.is_some() {
            statement.effect = Effect::Lock;
        }
    }
    statement.arbitrary_rows = has_word(sql, &[b"limit", b"offset", b"fetch", b"distinct"]);
    Ok(vec![statement])
}

fn words(sql: &str) -> impl Iterator<Item = &[u8]> {
    let text = sql.as_bytes();
    Lexer::new(text).filter(|token| token.kind == Kind::Word).filter_map(|token| text.get(token.start..token.end))
}

fn has_word(sql: &str, any: &[&[u8]]) -> bool {
    words(sql).any(|word| any.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
}

/// FOR followed by the first word of a strength.
fn row_lock(sql: &str) -> Option<RowLock> {
    let mut after_for = false;
    for word in words(sql) {
        if std::mem::replace(&mut after_for, word.eq_ignore_ascii_case(b"for")) {
            for (name, lock) in [
                (&b"update"[..], RowLock::Update),
                (b"no", RowLock::NoKeyUpdate),
                (b"share", RowLock::Share),
                (b"key", RowLock::KeyShare),
            ] {
                if word.eq_ignore_ascii_case(name) {
                    return Some(lock);
                }
            }
        }
    }
    None
}
