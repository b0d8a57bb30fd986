//! Statements that show something: SHOW, EXPLAIN, DESCRIBE.

use super::super::lexer::Kind;
use super::statement::{self, finish};
use super::tokens::Cursor;
use super::walk::{Clause, Walker};
use crate::sql::{Effect, Follows, Statement, StatementKind};

/// SHOW
pub(super) fn show(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let source = cursor.source;
    let scope = cursor.eat("global") || cursor.eat("session") || cursor.eat("local");
    while !scope && cursor.is_any(&["full", "extended", "storage"]) && source.kind(cursor.at + 1) == Some(Kind::Word) {
        cursor.at += 1;
    }
    let name = name(&mut cursor)?;
    let mut statement = Statement::new(StatementKind::Show { name: name.clone() }, Effect::Read);
    match name.as_str() {
        "warnings" | "errors" => statement.state.follows.push(Follows::Diagnostics),
        "profile" | "profiles" => statement.state.follows.push(Follows::Profile),
        "create table" | "create view" | "create sequence" => {
            cursor.eat_if_exists();
            statement.reads.push(cursor.relation()?);
        }
        "columns" | "index" if (cursor.eat("from") || cursor.eat("in")) => {
            let mut table = cursor.relation()?;
            if cursor.eat("from") || cursor.eat("in") {
                table.schema = Some(cursor.name()?);
            }
            statement.reads.push(table);
        }
        _ => {}
    }
    let filter = cursor.find(|at| source.is(at, "where"));
    let mut walker = Walker::new(source, statement);
    walker.run(filter, cursor.end, Clause::Expression);
    Ok(finish(walker, |_| false))
}

/// What is shown.
fn name(cursor: &mut Cursor<'_, '_>) -> Result<String, String> {
    // SHOW COUNT(*) WARNINGS
    if cursor.is("count") && cursor.source.kind(cursor.at + 1) == Some(Kind::Open) {
        cursor.at += 1;
        cursor.skip_parenthesis();
    }
    let first = cursor.name().map_err(|_| format!("SHOW of nothing, {}", cursor.here()))?.to_ascii_lowercase();
    // Those whose second word tells what they are.
    let pairs = [
        "all",
        "analyze",
        "binary",
        "character",
        "create",
        "engine",
        "explain",
        "function",
        "index",
        "master",
        "open",
        "package",
        "parse_tree",
        "plugins",
        "procedure",
        "relaylog",
        "replica",
        "slave",
        "table",
        "user",
        "storage",
    ];
    let second = pairs.contains(&first.as_str()) && cursor.kind() == Some(Kind::Word);
    let second = if second && !cursor.is_any(&["from", "in", "like", "where", "for"]) {
        cursor.name()?.to_ascii_lowercase()
    } else {
        String::new()
    };
    Ok(match (first.as_str(), second.as_str()) {
        ("fields", _) => "columns".to_owned(),
        ("index" | "indexes" | "keys", _) => "index".to_owned(),
        ("create", "schema") => "create database".to_owned(),
        ("schemas", _) => "databases".to_owned(),
        (_, "") => first,
        _ => format!("{first} {second}"),
    })
}

/// EXPLAIN and DESCRIBE: of a statement, or of a table's columns.
pub(super) fn explain(mut cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    let mut analyze = false;
    loop {
        if cursor.eat("analyze") {
            analyze = true;
        } else if cursor.eat_any(&["extended", "partitions"]) {
        } else if cursor.is("format") && cursor.source.text(cursor.at + 1) == "=" {
            cursor.at += 3;
        } else if cursor.eat("into") {
            // MySQL 8.1 puts the plan into a user variable.
            cursor.at += 1;
        } else {
            break;
        }
    }
    if cursor.are(&["for", "connection"]) || cursor.are(&["for", "schema"]) || cursor.are(&["for", "database"]) {
        if cursor.is_any(&["for"]) && cursor.source.is(cursor.at + 1, "connection") {
            return Ok(Statement::new(StatementKind::Show { name: "explain".to_owned() }, Effect::Read));
        }
        cursor.at += 3;
    }
    if cursor.kind() == Some(Kind::Open)
        || cursor.is_any(&["select", "insert", "replace", "update", "delete", "with", "values"])
        || cursor.is("table") && !analyze
    {
        return explained(cursor, depth, analyze);
    }
    let mut statement = Statement::new(StatementKind::Show { name: "columns".to_owned() }, Effect::Read);
    statement.reads.push(cursor.relation()?);
    Ok(statement)
}

/// MariaDB's ANALYZE of a statement, which runs it.
pub(super) fn explain_analyze(mut cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    if cursor.is("format") {
        cursor.at += 3;
    }
    explained(cursor, depth, true)
}

fn explained(cursor: Cursor<'_, '_>, depth: u32, analyze: bool) -> Result<Statement, String> {
    if depth >= super::DEEPEST {
        return Err(format!("nested too deeply, {}", cursor.here()));
    }
    let inner = statement::read(cursor, depth + 1)?;
    let kind = StatementKind::Explain { analyze, inner: Box::new(inner.clone()) };
    // EXPLAIN alone runs nothing; but a server that is read-only refuses it of a write.
    let effect = if inner.effect == Effect::Write { Effect::Utility } else { Effect::Read };
    Ok(if analyze { Statement { kind, ..inner } } else { Statement::new(kind, effect) })
}
