//! Which statement it is, by its first words.

use super::super::lexer::Kind;
use super::tokens::Cursor;
use super::walk::{Clause, Walker};
use super::{admin, ddl, dml, set, show, transaction};
use crate::sql::{Effect, Follows, Statement, StatementKind};

/// The facts of the statement that the cursor spans.
pub(super) fn read(cursor: Cursor<'_, '_>, depth: u32) -> Result<Statement, String> {
    let first = match cursor.kind() {
        Some(Kind::Open) => return query(cursor),
        Some(Kind::Word) => cursor.source.text(cursor.at).to_ascii_lowercase(),
        _ => return Err(format!("no statement begins like this, {}", cursor.here())),
    };
    let rest = cursor.from(cursor.at + 1);
    match first.as_str() {
        "select" | "values" | "table" => query(cursor),
        "with" => dml::with(cursor),
        "insert" | "replace" => dml::insert(cursor),
        "update" => dml::update(cursor, None),
        "delete" => dml::delete(cursor, None),
        "load" => dml::load(rest),
        "call" => dml::call(rest),
        "do" => dml::evaluate(rest),
        "handler" => dml::handler(rest),
        "truncate" => ddl::truncate(rest),
        "create" => ddl::create(rest),
        "alter" => ddl::alter(rest),
        "drop" => ddl::drop(rest),
        "rename" => ddl::rename(rest),
        "set" => set::read(rest, depth),
        "show" => show::show(rest),
        "explain" | "describe" | "desc" => show::explain(rest, depth),
        "help" => Ok(Statement::new(StatementKind::Show { name: "help".to_owned() }, Effect::Read)),
        "use" => Ok(Statement::new(StatementKind::Use { database: rest.clone().name()? }, Effect::Session)),
        "begin" if rest.is("not") => Ok(block(cursor)),
        "if" | "case" | "loop" | "repeat" | "while" | "for" => Ok(block(cursor)),
        _ if cursor.source.text(cursor.at + 1) == ":" => Ok(block(cursor)),
        "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "xa" => {
            transaction::read(&first, rest).map_or_else(|| admin::read(cursor), Ok)
        }
        "lock" | "unlock" => admin::table_locks(&first, rest),
        "prepare" | "execute" | "deallocate" => set::prepared(&first, rest, depth),
        "get" => Ok(diagnostics(rest)),
        "signal" | "resignal" => Ok(Statement::new(StatementKind::Signal, Effect::Session)),
        "analyze" if !rest.is_any(&["table", "tables", "local", "no_write_to_binlog"]) => {
            show::explain_analyze(rest, depth)
        }
        "kill" => Ok(admin::kill(rest)),
        _ => admin::read(cursor),
    }
}

/// SELECT, VALUES, TABLE, and any of them in parentheses.
pub(super) fn query(cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let statement = Statement::new(StatementKind::Select, Effect::Read);
    let mut walker = Walker::new(cursor.source, statement);
    walker.run(cursor.at, cursor.end, Clause::Start);
    Ok(finish(walker, |_| false))
}

/// What a walker found, with those references written for which `written` says so, and the effect of a read settled.
pub(super) fn finish(walker: Walker<'_, '_>, written: impl Fn(&super::walk::Reference) -> bool) -> Statement {
    let Walker { references, functions, mut found, draws, .. } = walker;
    for reference in references {
        let list = if written(&reference) { &mut found.writes } else { &mut found.reads };
        list.push(reference.relation);
    }
    tidy(&mut found.reads);
    tidy(&mut found.functions);
    found.functions.extend(functions);
    tidy(&mut found.functions);
    found.surroundings.sort();
    found.state.follows.sort();
    let mut seen = Vec::new();
    found.writes.retain(|relation| {
        let new = !seen.contains(relation);
        seen.push(relation.clone());
        new
    });
    if found.effect == Effect::Read {
        if draws {
            found.effect = Effect::Write;
        } else if found.state.server_file && found.into {
            found.effect = Effect::Utility;
        } else if found.row_lock.is_some() {
            found.effect = Effect::Lock;
        }
    }
    found
}

fn tidy<T: Ord>(list: &mut Vec<T>) {
    list.sort();
    list.dedup();
}

/// A compound statement outside a stored program: it may do anything; what its statements name is found roughly.
fn block(cursor: Cursor<'_, '_>) -> Statement {
    let statement = Statement { partial: true, ..Statement::new(StatementKind::Block, Effect::Write) };
    let mut walker = Walker::new(cursor.source, statement);
    let mut at = cursor.at;
    while at < cursor.end {
        let piece = cursor.from(at);
        let end = piece.find(|at| cursor.source.kind(at) == Some(Kind::Semicolon));
        walker.run(at, end, Clause::Expression);
        at = end + 1;
    }
    let mut statement = finish(walker, |_| false);
    statement.ordered = false;
    statement
}

/// GET [CURRENT | STACKED] DIAGNOSTICS
fn diagnostics(cursor: Cursor<'_, '_>) -> Statement {
    let statement = Statement::new(StatementKind::GetDiagnostics, Effect::Session);
    let mut walker = Walker::new(cursor.source, statement);
    walker.run(cursor.at, cursor.end, Clause::Expression);
    let mut statement = finish(walker, |_| false);
    // Its variables are targets.
    let targets = std::mem::take(&mut statement.state.variables_read);
    statement.state.variables_written.extend(targets);
    statement.state.follows.push(Follows::Diagnostics);
    statement
}
