//! Statements that read and change rows.

use super::super::Family;
use super::super::lexer::Kind;
use super::statement::finish;
use super::tokens::Cursor;
use super::walk::{Clause, Reference, Walker, write};
use crate::sql::{Effect, Function, HandlerVerb, Relation, Statement, StatementKind};

/// Words between the verb and the table.
const MODIFIERS: &[&str] = &["low_priority", "high_priority", "delayed", "quick", "ignore", "concurrent"];

/// WITH before any statement that may have it.
pub(super) fn with(cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let source = cursor.source;
    let verb =
        cursor.find(|at| source.is_any(at, &["select", "values", "table", "update", "delete", "insert", "replace"]));
    let kind = if source.is_any(verb, &["update", "delete"]) { StatementKind::Update } else { StatementKind::Select };
    let mut walker = Walker::new(source, Statement::new(kind.clone(), Effect::Read));
    if kind == StatementKind::Select {
        walker.run(cursor.at, cursor.end, Clause::Start);
        return Ok(finish(walker, |_| false));
    }
    walker.run(cursor.at, verb, Clause::Start);
    match source.is(verb, "update") {
        true => update(cursor.from(verb), Some(walker)),
        false => delete(cursor.from(verb), Some(walker)),
    }
}

/// A walker for a statement of this kind that writes; one that has read WITH goes on.
fn writer<'s, 'a>(cursor: Cursor<'s, 'a>, kind: StatementKind, with: Option<Walker<'s, 'a>>) -> Walker<'s, 'a> {
    let mut walker = with.unwrap_or_else(|| Walker::new(cursor.source, Statement::new(kind.clone(), Effect::Write)));
    walker.found.kind = kind;
    walker.found.effect = Effect::Write;
    walker
}

/// INSERT and REPLACE
pub(super) fn insert(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let kind = if cursor.is("replace") { StatementKind::Replace } else { StatementKind::Insert };
    cursor.at += 1;
    cursor.eat_any(MODIFIERS);
    cursor.eat("into");
    let target = cursor.relation()?;
    if cursor.eat("partition") {
        cursor.skip_parenthesis();
    }
    let source = cursor.source;
    let is_query =
        |at| source.is_any(at, &["select", "with", "values", "table"]) || source.kind(at) == Some(Kind::Open);
    let mut given = Vec::new();
    if cursor.kind() == Some(Kind::Open) && !is_query(cursor.at + 1) {
        let list = cursor.from(cursor.at + 1);
        cursor.skip_parenthesis();
        given = columns(Cursor { end: cursor.at.saturating_sub(1), ..list });
    }
    let clause = if cursor.is("set") { Clause::Expression } else { Clause::Start };
    if clause == Clause::Expression {
        let list = cursor.from(cursor.at + 1);
        given = columns(Cursor { end: list.find(|at| source.is_any(at, &["on", "returning"])), ..list });
    }
    if (cursor.at..cursor.end).any(|at| source.is(at, "default")) {
        given.clear();
    }
    let mut walker = writer(cursor, kind, None);
    walker.found.writes.push(target);
    walker.found.given = given;
    walker.run(cursor.at, cursor.end, clause);
    let mut statement = finish(walker, |_| false);
    statement.ordered = false;
    Ok(statement)
}

/// The columns of a list, or of a list of assignments.
fn columns(mut cursor: Cursor<'_, '_>) -> Vec<String> {
    let source = cursor.source;
    let mut columns = Vec::new();
    while !cursor.done() {
        let comma = cursor.find(|at| source.kind(at) == Some(Kind::Comma));
        let end = Cursor { end: comma, ..cursor }.find(|at| matches!(source.text(at), "=" | ":="));
        // Its table and schema may stand before it.
        columns.extend(end.checked_sub(1).and_then(|at| source.name(at)));
        cursor.at = comma + 1;
    }
    columns
}

/// UPDATE of one or several tables: those are written whose columns SET assigns. Where a column does not say whose it
/// is and there are several tables, all of them are.
pub(super) fn update<'s, 'a>(mut cursor: Cursor<'s, 'a>, with: Option<Walker<'s, 'a>>) -> Result<Statement, String> {
    cursor.at += 1;
    cursor.eat_any(MODIFIERS);
    let set = cursor.find(|at| cursor.source.is(at, "set"));
    if set == cursor.end {
        return Err(format!("UPDATE without SET, {}", cursor.here()));
    }
    let mut walker = writer(cursor, StatementKind::Update, with);
    walker.run(cursor.at, cursor.end, Clause::Tables { expect: true });
    let targets = assigned(cursor.from(set + 1));
    let direct = walker.references.iter().filter(|reference| reference.direct).count();
    let known = |reference: &Reference| {
        targets.iter().any(|target| target.as_ref().is_some_and(|name| goes_by(reference, name)))
    };
    let all = direct <= 1
        || targets.iter().any(|target| match target {
            None => true,
            Some(name) => !walker.references.iter().any(|reference| reference.direct && goes_by(reference, name)),
        });
    let mut statement = finish(walker, |reference| reference.direct && (all || known(reference)));
    statement.ordered = false;
    Ok(statement)
}

/// True when columns of this table are written with this name before them.
fn goes_by(reference: &Reference, name: &str) -> bool {
    reference.alias.as_ref().unwrap_or(&reference.relation.name).eq_ignore_ascii_case(name)
}

/// For each assignment, the table that is named before its column.
fn assigned(mut cursor: Cursor<'_, '_>) -> Vec<Option<String>> {
    let source = cursor.source;
    let end = cursor.find(|at| source.is_any(at, &["where", "order", "limit", "returning"]));
    cursor.end = end;
    let mut targets = Vec::new();
    while !cursor.done() {
        let comma = cursor.find(|at| source.kind(at) == Some(Kind::Comma));
        let equal = Cursor { end: comma, ..cursor }.find(|at| matches!(source.text(at), "=" | ":="));
        // column, table.column, schema.table.column
        let table = equal.checked_sub(3).filter(|&at| at >= cursor.at && source.kind(at + 1) == Some(Kind::Dot));
        targets.push(table.and_then(|at| source.name(at)));
        cursor.at = comma + 1;
    }
    targets
}

/// DELETE from one table, or `DELETE a, b FROM ...`, or `DELETE FROM a, b USING ...`.
pub(super) fn delete<'s, 'a>(mut cursor: Cursor<'s, 'a>, with: Option<Walker<'s, 'a>>) -> Result<Statement, String> {
    cursor.at += 1;
    cursor.eat_any(MODIFIERS);
    let from = cursor.eat("from");
    let mut walker = writer(cursor, StatementKind::Delete, with);
    let start = cursor.at;
    let targets = targets(&mut cursor)?;
    let several = if from { cursor.eat("using") } else { cursor.eat("from") };
    if !from && !several {
        return Err(format!("DELETE without FROM, {}", cursor.here()));
    }
    if !several {
        walker.run(start, cursor.end, Clause::Tables { expect: true });
        let mut statement = finish(walker, |reference| reference.direct);
        statement.ordered = false;
        return Ok(statement);
    }
    walker.run(cursor.at, cursor.end, Clause::Tables { expect: true });
    let named = |reference: &Reference, target: &Relation| {
        reference.direct
            && (target.schema.is_none() && goes_by(reference, &target.name)
                || reference.alias.is_none() && reference.relation.name.eq_ignore_ascii_case(&target.name))
    };
    for target in &targets {
        if !walker.references.iter().any(|reference| named(reference, target)) {
            walker.found.writes.push(target.clone());
        }
    }
    let mut statement = finish(walker, |reference| targets.iter().any(|target| named(reference, target)));
    statement.ordered = false;
    Ok(statement)
}

/// Names separated by commas, each perhaps with `.*`.
fn targets(cursor: &mut Cursor<'_, '_>) -> Result<Vec<Relation>, String> {
    let mut targets = Vec::new();
    loop {
        let mut relation = Relation { schema: None, name: cursor.name()? };
        while cursor.eat_symbol(".") {
            if !cursor.eat_symbol("*") {
                relation = Relation { schema: Some(relation.name), name: cursor.name()? };
            }
        }
        targets.push(relation);
        if !cursor.eat_symbol(",") {
            return Ok(targets);
        }
    }
}

/// LOAD DATA, LOAD XML and LOAD INDEX INTO CACHE.
pub(super) fn load(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    if cursor.eat("index") {
        let mut statement = super::admin::maintain("load index into cache");
        cursor.eat_all(&["into", "cache"]);
        statement.state.implicit_commit = cursor.source.mode.server.family == Family::MySql;
        statement.reads.push(cursor.relation()?);
        return Ok(statement);
    }
    if !cursor.eat_any(&["data", "xml"]) {
        return Err(format!("LOAD of something unknown, {}", cursor.here()));
    }
    cursor.eat_any(MODIFIERS);
    let local = cursor.eat("local");
    let into = cursor.find(|at| cursor.source.is(at, "into"));
    cursor.at = into;
    if !cursor.eat_all(&["into", "table"]) {
        return Err(format!("LOAD without INTO TABLE, {}", cursor.here()));
    }
    let target = cursor.relation()?;
    let set = cursor.find(|at| cursor.source.is(at, "set"));
    let mut walker = writer(cursor, StatementKind::LoadData { local }, None);
    for at in cursor.at..set {
        // Columns that are read into variables.
        if let Some(name) = cursor.source.variable(at) {
            write(&mut walker.found.state.variables_written, name);
        }
    }
    walker.run(set, cursor.end, Clause::Expression);
    walker.found.state.server_file = !local;
    walker.found.writes.push(target);
    Ok(finish(walker, |_| false))
}

/// CALL: the procedure is among the functions; variables among its arguments may be changed by it.
pub(super) fn call(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let name = cursor.relation()?;
    let mut walker = writer(cursor, StatementKind::Call, None);
    let mut args = 0;
    if cursor.kind() == Some(Kind::Open) {
        let inside = Cursor { at: cursor.at + 1, end: cursor.end.saturating_sub(1), ..cursor };
        args = u16::from(!inside.done());
        let mut part = inside;
        while !part.done() {
            part.at = part.find(|at| cursor.source.kind(at) == Some(Kind::Comma)) + 1;
            args += u16::from(!part.done());
        }
        walker.run(inside.at, inside.end, Clause::Expression);
    }
    walker.functions.push(Function { schema: name.schema, name: name.name.to_lowercase(), args });
    let mut statement = finish(walker, |_| false);
    for name in statement.state.variables_read.clone() {
        write(&mut statement.state.variables_written, name);
    }
    Ok(statement)
}

/// DO
pub(super) fn evaluate(cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let mut walker = Walker::new(cursor.source, Statement::new(StatementKind::Evaluate, Effect::Read));
    walker.run(cursor.at, cursor.end, Clause::Expression);
    Ok(finish(walker, |_| false))
}

/// HANDLER
pub(super) fn handler(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let mut table = cursor.relation()?;
    let verb = match () {
        () if cursor.eat("open") => HandlerVerb::Open,
        () if cursor.eat("read") => HandlerVerb::Read,
        () if cursor.eat("close") => HandlerVerb::Close,
        () => return Err(format!("HANDLER with something unknown, {}", cursor.here())),
    };
    let opened = table.clone();
    if verb == HandlerVerb::Open {
        cursor.eat("as");
        if !cursor.done() {
            table = Relation { schema: None, name: cursor.name()? };
        }
    }
    let kind = StatementKind::Handler { table: table.name, verb };
    let mut walker = Walker::new(cursor.source, Statement::new(kind, Effect::Session));
    walker.run(cursor.at, cursor.end, Clause::Expression);
    walker.found.reads.push(opened);
    Ok(finish(walker, |_| false))
}
