//! SET in its forms, and statements in the text of statements.

use super::super::lexer::Kind;
use super::super::shape::{endless, router_variable};
use super::statement::finish;
use super::tokens::Cursor;
use super::transaction::characteristics;
use super::walk::{Clause, Walker, write};
use super::{inner, statement, unknown};
use crate::sql::{Assignment, Effect, Scope, Statement, StatementKind};

/// SET
pub(super) fn read(mut cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    if let Some(statement) = transaction(cursor)? {
        return Ok(statement);
    }
    if cursor.is("password") && !matches!(cursor.source.kind(cursor.at + 1), Some(Kind::Dot)) {
        return Ok(account("set password"));
    }
    if cursor.are(&["default", "role"]) {
        return Ok(account("set default role"));
    }
    if cursor.are(&["resource", "group"]) {
        return Ok(Statement::new(StatementKind::SetVariables, Effect::Session));
    }
    if cursor.is("statement") && cursor.source.kind(cursor.at + 1) == Some(Kind::Word) {
        return set_statement(cursor.from(cursor.at + 1), depth);
    }
    let statement = Statement::new(StatementKind::SetVariables, Effect::Session);
    let mut walker = Walker::new(cursor.source, statement);
    let mut scope = None;
    while !cursor.done() {
        let end = cursor.find(|at| cursor.source.kind(at) == Some(Kind::Comma));
        let assignment = assignment(Cursor { end, ..cursor }, &mut scope, &mut walker)?;
        walker.found.state.assignments.push(assignment);
        cursor.at = end + 1;
    }
    Ok(settle(finish(walker, |_| false)))
}

/// The effect follows from what is assigned.
fn settle(mut statement: Statement) -> Statement {
    let assignments = &statement.state.assignments;
    let server = assignments.iter().any(|assignment| matches!(assignment.scope, Scope::Global | Scope::Persist));
    let commits = assignments.iter().any(|assignment| {
        let on = |value: &str| ["1", "on", "true", "default"].iter().any(|on| value.eq_ignore_ascii_case(on));
        assignment.scope == Scope::Session
            && assignment.name == "autocommit"
            && assignment.value.as_deref().is_none_or(on)
    });
    if statement.effect == Effect::Session && server {
        statement.effect = Effect::Utility;
    }
    statement.state.implicit_commit = commits;
    statement
}

fn account(name: &str) -> Statement {
    let mut statement = Statement::new(StatementKind::Define { name: name.to_owned() }, Effect::Write);
    statement.state.implicit_commit = true;
    statement
}

/// SET [GLOBAL | SESSION | LOCAL] TRANSACTION
fn transaction(mut cursor: Cursor<'_, '_>) -> Result<Option<Statement>, String> {
    let global = cursor.eat("global");
    let session = !global && (cursor.eat("session") || cursor.eat("local"));
    // A variable may have this name: what follows tells.
    if !cursor.eat("transaction") || cursor.symbol("=") {
        return Ok(None);
    }
    let mode = characteristics(cursor)?;
    let statement = match () {
        () if session => Statement::new(StatementKind::SetCharacteristics(mode), Effect::Session),
        () if !global => Statement::new(StatementKind::SetTransaction(mode), Effect::Transaction),
        () => {
            let mut statement = Statement::new(StatementKind::SetVariables, Effect::Utility);
            let assign = |name: &str, value| Assignment { scope: Scope::Global, name: name.to_owned(), value };
            if let Some(isolation) = mode.isolation {
                let value = format!("{isolation:?}");
                statement.state.assignments.push(assign("transaction_isolation", Some(value)));
            }
            if let Some(read_only) = mode.read_only {
                let value = if read_only { "on" } else { "off" };
                statement.state.assignments.push(assign("transaction_read_only", Some(value.to_owned())));
            }
            statement
        }
    };
    Ok(Some(statement))
}

/// One assignment. A scope without `@@` holds for those after it too, as in `SET GLOBAL a = 1, b = 2`.
fn assignment(
    mut cursor: Cursor<'_, '_>,
    sticky: &mut Option<Scope>,
    walker: &mut Walker<'_, '_>,
) -> Result<Assignment, String> {
    if let Some(name) = cursor.source.variable(cursor.at) {
        cursor.at += 1;
        write(&mut walker.found.state.variables_written, name.clone());
        let value = value(cursor, walker)?.filter(|_| router_variable(name.as_bytes()));
        return Ok(Assignment { scope: Scope::User, name, value });
    }
    if let Some(found) = special(cursor) {
        return Ok(found);
    }
    let (mut scope, system) = (sticky.unwrap_or(Scope::Session), cursor.kind() == Some(Kind::System));
    cursor.at += usize::from(system);
    let dot = |cursor: &Cursor<'_, '_>| cursor.source.kind(cursor.at + 1) == Some(Kind::Dot);
    let words = [
        ("global", Scope::Global),
        ("session", Scope::Session),
        ("local", Scope::Session),
        ("persist", Scope::Persist),
        ("persist_only", Scope::Persist),
    ];
    if system {
        scope = Scope::Session;
    }
    for (word, named) in words {
        if cursor.is(word) && (system == dot(&cursor)) && !matches!(cursor.source.text(cursor.at + 1), "=" | ":=") {
            cursor.at += 1 + usize::from(system);
            scope = named;
            if !system {
                *sticky = Some(named);
            }
            break;
        }
    }
    let mut name = cursor.name()?.to_lowercase();
    while cursor.eat_symbol(".") {
        name = format!("{name}.{}", cursor.name()?.to_lowercase());
    }
    let value = value(cursor, walker)?.filter(|_| !endless(name.as_bytes()));
    Ok(Assignment { scope, name, value })
}

/// NAMES, CHARACTER SET and ROLE, which have no `=`.
fn special(mut cursor: Cursor<'_, '_>) -> Option<Assignment> {
    let name = match () {
        () if cursor.eat("names") => "names",
        () if cursor.eat_all(&["character", "set"]) || cursor.eat("charset") => "character_set",
        () if cursor.is("role") && !matches!(cursor.source.text(cursor.at + 1), "=" | ":=") => {
            cursor.at += 1;
            "role"
        }
        () => return None,
    };
    if cursor.symbol("=") {
        return None;
    }
    let words = (cursor.at..cursor.end).map(|at| {
        let source = cursor.source;
        source.string(at).or_else(|| source.name(at)).unwrap_or_else(|| source.text(at).to_owned())
    });
    let value = words.collect::<Vec<_>>().join(" ");
    Some(Assignment { scope: Scope::Session, name: name.to_owned(), value: Some(value) })
}

/// What is assigned, where it is one literal or word; variables, functions and tables in it are noted.
fn value(mut cursor: Cursor<'_, '_>, walker: &mut Walker<'_, '_>) -> Result<Option<String>, String> {
    if !cursor.eat_symbol("=") && !cursor.eat_symbol(":=") {
        return Err(format!("an assignment without a value, {}", cursor.here()));
    }
    if cursor.done() {
        return Err(format!("an assignment without a value, {}", cursor.here()));
    }
    let source = cursor.source;
    walker.run(cursor.at, cursor.end, Clause::Expression);
    let signed = cursor.end - cursor.at == 2 && matches!(source.text(cursor.at), "-" | "+");
    Ok(match source.kind(cursor.at) {
        Some(Kind::Number) if signed => None,
        _ if signed && source.kind(cursor.at + 1) == Some(Kind::Number) => {
            Some(format!("{}{}", source.text(cursor.at), source.text(cursor.at + 1)))
        }
        _ if cursor.end - cursor.at > 1 => None,
        Some(Kind::Text) => source.string(cursor.at),
        Some(Kind::Word | Kind::Quoted) => source.name(cursor.at).map(|name| name.to_lowercase()),
        Some(Kind::Number) => Some(source.text(cursor.at).to_owned()),
        _ => None,
    })
}

/// SET STATEMENT assignments FOR statement
fn set_statement(mut cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    let source = cursor.source;
    let end = cursor.find(|at| source.is(at, "for"));
    if end == cursor.end || depth >= super::DEEPEST {
        return Err(format!("SET STATEMENT without FOR, {}", cursor.here()));
    }
    let inner = statement::read(cursor.from(end + 1), depth + 1)?;
    let kind = StatementKind::SetStatement { inner: Box::new(inner.clone()) };
    let mut walker = Walker::new(source, Statement::new(kind.clone(), Effect::Session));
    let mut scope = None;
    let mut assignments = Vec::new();
    let all = Cursor { end, ..cursor };
    while cursor.at < end {
        let comma = Cursor { at: cursor.at, ..all }.find(|at| source.kind(at) == Some(Kind::Comma));
        assignments.push(assignment(Cursor { at: cursor.at, end: comma, ..all }, &mut scope, &mut walker)?);
        cursor.at = comma + 1;
    }
    // It does what the inner statement does; the variables are as before when it has ended.
    let mut statement = Statement { kind, ..inner };
    statement.state.assignments = assignments;
    Ok(statement)
}

/// PREPARE, EXECUTE and DEALLOCATE.
pub(super) fn prepared(first: &str, mut cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    if first == "deallocate" {
        cursor.eat("prepare");
        return Ok(Statement::new(StatementKind::Deallocate { name: Some(cursor.name()?) }, Effect::Session));
    }
    if first == "execute" && cursor.eat("immediate") {
        let using = cursor.find(|at| cursor.source.is(at, "using"));
        let text = text_of(Cursor { end: using, ..cursor }, depth)?;
        let kind = StatementKind::ExecuteImmediate { inner: Box::new(text.clone()) };
        let mut statement = Statement { kind, ..text };
        variables(cursor, &mut statement);
        return Ok(statement);
    }
    let name = cursor.name()?;
    if first == "execute" {
        let mut statement = Statement::new(StatementKind::Execute { name }, Effect::Session);
        variables(cursor, &mut statement);
        return Ok(statement);
    }
    if !cursor.eat("from") {
        return Err(format!("PREPARE without FROM, {}", cursor.here()));
    }
    let kind = StatementKind::Prepare { name, inner: Box::new(text_of(cursor, depth)?) };
    let mut statement = Statement::new(kind, Effect::Session);
    variables(cursor, &mut statement);
    Ok(statement)
}

/// The statement whose text is a literal here; unknown where it is an expression.
fn text_of(cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    match cursor.source.string(cursor.at).filter(|_| cursor.end - cursor.at == 1) {
        Some(text) => inner(&text, cursor.source.mode, depth),
        None => Ok(unknown()),
    }
}

/// Notes the variables that the rest of the statement reads.
fn variables(cursor: Cursor<'_, '_>, statement: &mut Statement) {
    for name in (cursor.at..cursor.end).filter_map(|at| cursor.source.variable(at)) {
        write(&mut statement.state.variables_read, name);
    }
}
