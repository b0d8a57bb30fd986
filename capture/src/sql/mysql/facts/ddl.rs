//! Statements that define things.

use super::super::lexer::Kind;
use super::statement::finish;
use super::tokens::Cursor;
use super::walk::{Clause, Walker};
use crate::sql::{Effect, Statement, StatementKind};

/// A definition, by its name. It commits.
fn define(name: &str) -> Statement {
    let mut statement = Statement::new(StatementKind::Define { name: name.to_owned() }, Effect::Write);
    statement.state.implicit_commit = true;
    statement
}

fn kind(kind: StatementKind, temporary: bool) -> Statement {
    let mut statement = Statement::new(kind, Effect::Write);
    statement.state.temporary = temporary;
    statement.state.implicit_commit = !temporary;
    statement
}

/// What stands between the verb and the thing that it defines, such as `OR REPLACE` and `DEFINER = ...`, passed over:
/// the thing, with the cursor behind it.
fn object(cursor: &mut Cursor<'_, '_>) -> Result<(&'static str, bool), String> {
    const OBJECTS: &[&str] = &[
        "table",
        "view",
        "sequence",
        "index",
        "database",
        "schema",
        "procedure",
        "function",
        "trigger",
        "event",
        "package",
        "user",
        "role",
        "server",
        "tablespace",
        "logfile",
        "resource",
        "spatial reference",
        "instance",
        "library",
        "tables",
        "prepare",
        "undo",
    ];
    let mut temporary = false;
    for _ in 0..32 {
        if cursor.done() {
            break;
        }
        if cursor.eat_all(&["spatial", "reference", "system"]) {
            return Ok(("spatial reference system", temporary));
        }
        if let Some(object) = OBJECTS.iter().find(|object| cursor.is(object)) {
            cursor.at += 1;
            return Ok((object, temporary));
        }
        temporary |= cursor.is("temporary");
        if !cursor.skip_parenthesis() {
            cursor.at += 1;
        }
    }
    Err(format!("nothing that can be defined is named {}", cursor.here()))
}

/// CREATE
pub(super) fn create(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let (object, temporary) = object(&mut cursor)?;
    cursor.eat_if_exists();
    let created = || StatementKind::Create { temporary, on_commit_drop: false };
    match object {
        "table" => create_table(cursor, kind(created(), temporary)),
        "view" => {
            let mut statement = kind(created(), false);
            statement.writes.push(cursor.relation()?);
            let query = cursor.find(|at| cursor.source.is(at, "as")) + 1;
            Ok(with_query(cursor.from(query), statement))
        }
        "sequence" => {
            let mut statement = kind(created(), temporary);
            statement.writes.push(cursor.relation()?);
            Ok(statement)
        }
        "index" => on_table(cursor, define("create index")),
        "trigger" => on_table(cursor, define("create trigger")),
        other => Ok(define(&format!("create {}", long_name(other)))),
    }
}

fn long_name(object: &str) -> &str {
    match object {
        "schema" => "database",
        "resource" => "resource group",
        "logfile" => "logfile group",
        "undo" => "tablespace",
        object => object,
    }
}

/// CREATE TABLE after the name's IF NOT EXISTS.
fn create_table(mut cursor: Cursor<'_, '_>, mut statement: Statement) -> Result<Statement, String> {
    let source = cursor.source;
    statement.writes.push(cursor.relation()?);
    if cursor.eat("like") {
        statement.reads.push(cursor.relation()?);
        return Ok(statement);
    }
    if cursor.kind() == Some(Kind::Open) && source.is(cursor.at + 1, "like") {
        cursor.at += 2;
        statement.reads.push(cursor.relation()?);
        return Ok(statement);
    }
    let is_query =
        |at| source.is_any(at, &["select", "with", "values", "table"]) || source.kind(at) == Some(Kind::Open);
    if cursor.kind() == Some(Kind::Open) && !is_query(cursor.at + 1) {
        cursor.skip_parenthesis();
    }
    // Options and partitions come before the query, which AS, IGNORE and REPLACE may announce.
    let mut query = cursor.find(|at| {
        source.is_any(at, &["select", "as"])
            || source.kind(at) == Some(Kind::Open) && source.is_any(at + 1, &["select", "with"])
    });
    query += usize::from(source.is(query, "as"));
    Ok(with_query(cursor.from(query), statement))
}

/// Adds what the query after the cursor reads.
fn with_query(cursor: Cursor<'_, '_>, statement: Statement) -> Statement {
    let mut walker = Walker::new(cursor.source, statement);
    walker.run(cursor.at, cursor.end, Clause::Start);
    let mut statement = finish(walker, |_| false);
    statement.ordered = false;
    statement
}

/// Adds the table after ON, where there is one.
fn on_table(cursor: Cursor<'_, '_>, mut statement: Statement) -> Result<Statement, String> {
    let on = cursor.find(|at| cursor.source.is(at, "on"));
    if on < cursor.end {
        statement.writes.push(cursor.from(on + 1).relation()?);
    }
    Ok(statement)
}

/// ALTER
pub(super) fn alter(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let (object, _) = object(&mut cursor)?;
    cursor.eat_if_exists();
    match object {
        "table" => alter_table(cursor),
        "view" => {
            let mut statement = define("alter view");
            statement.writes.push(cursor.relation()?);
            let query = cursor.find(|at| cursor.source.is(at, "as")) + 1;
            Ok(with_query(cursor.from(query), statement))
        }
        "sequence" => {
            let mut statement = define("alter sequence");
            statement.writes.push(cursor.relation()?);
            Ok(statement)
        }
        "instance" => Ok(super::admin::maintain("alter instance")),
        other => Ok(define(&format!("alter {}", long_name(other)))),
    }
}

fn alter_table(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let source = cursor.source;
    let mut statement = define("alter table");
    statement.writes.push(cursor.relation()?);
    let rename = cursor.find(|at| source.is(at, "rename") && !source.is_any(at + 1, &["column", "index", "key"]));
    if rename < cursor.end {
        let mut to = cursor.from(rename + 1);
        let _ = to.eat("to") || to.eat("as") || to.eat_symbol("=");
        statement.kind = StatementKind::Rename { to: to.relation()?.name };
    }
    // EXCHANGE PARTITION p WITH TABLE t, and MariaDB's CONVERT TABLE t TO PARTITION.
    let table = cursor.find(|at| source.is(at, "table"));
    if table < cursor.end {
        statement.writes.push(cursor.from(table + 1).relation()?);
    }
    Ok(statement)
}

/// DROP
pub(super) fn drop(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let (object, temporary) = object(&mut cursor)?;
    cursor.eat_if_exists();
    match object {
        "table" | "tables" | "view" | "sequence" => {
            let mut statement = kind(StatementKind::Drop, temporary);
            statement.writes = cursor.relations()?;
            Ok(statement)
        }
        "prepare" => Ok(Statement::new(StatementKind::Deallocate { name: Some(cursor.name()?) }, Effect::Session)),
        "index" => on_table(cursor, define("drop index")),
        other => Ok(define(&format!("drop {}", long_name(other)))),
    }
}

/// RENAME TABLE and RENAME USER.
pub(super) fn rename(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    if cursor.eat("user") {
        return Ok(define("rename user"));
    }
    if !cursor.eat("table") && !cursor.eat("tables") {
        return Err(format!("RENAME of something unknown, {}", cursor.here()));
    }
    cursor.eat_if_exists();
    let mut statement = define("rename table");
    let mut first = None;
    loop {
        statement.writes.push(cursor.relation()?);
        if cursor.eat("wait") || cursor.eat("nowait") {
            cursor.at = cursor.find(|at| cursor.source.is(at, "to"));
        }
        if !cursor.eat("to") {
            return Err(format!("RENAME without TO, {}", cursor.here()));
        }
        let to = cursor.relation()?;
        first.get_or_insert(to.name);
        if !cursor.eat_symbol(",") {
            break;
        }
    }
    if let (1, Some(to)) = (statement.writes.len(), first) {
        statement.kind = StatementKind::Rename { to };
    }
    Ok(statement)
}

/// TRUNCATE
pub(super) fn truncate(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    cursor.eat("table");
    let mut statement = kind(StatementKind::Truncate, false);
    statement.writes.push(cursor.relation()?);
    Ok(statement)
}
