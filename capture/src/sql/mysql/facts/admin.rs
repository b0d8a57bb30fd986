//! Statements about the server, its accounts, its storage and its replication.

use super::super::Family;
use super::super::lexer::Kind;
use super::tokens::Cursor;
use crate::sql::{Effect, Statement, StatementKind};

/// A statement that maintains the server or its storage.
pub(super) fn maintain(name: &str) -> Statement {
    Statement::new(StatementKind::Maintain { name: name.to_owned() }, Effect::Utility)
}

/// What a row of the table stands for.
#[derive(Clone, Copy)]
enum Row {
    /// A definition: it writes to the server's own tables, and commits.
    Define,
    /// Maintenance that commits the open transaction.
    MaintainCommit,
    /// Maintenance that commits the open transaction in MySQL, and leaves it alone in MariaDB.
    MysqlCommits,
    /// Maintenance that leaves it alone.
    Maintain,
    /// Maintenance of the tables that it names, which commits.
    Tables,
    /// Reads the tables that it names.
    ReadTables,
    /// Changes the session only.
    Session,
    /// Writes rows that the text does not show.
    Write,
}

/// By their first words; the longest that fits counts.
///
/// Which of them commit is the manuals' list "Statements That Cause an Implicit Commit", checked against MariaDB 10.11
/// where it knows the statement.
const STATEMENTS: &[(&[&str], Row)] = &[
    // Account management
    (&["grant"], Row::Define),
    (&["revoke"], Row::Define),
    // Table maintenance
    (&["analyze", "table"], Row::Tables),
    (&["check", "table"], Row::Tables),
    (&["check", "view"], Row::Tables),
    (&["checksum", "table"], Row::ReadTables),
    (&["optimize", "table"], Row::Tables),
    (&["repair", "table"], Row::Tables),
    (&["repair", "view"], Row::Tables),
    // Components, plugins and functions
    (&["install", "component"], Row::MaintainCommit),
    (&["install", "plugin"], Row::MaintainCommit),
    (&["install", "soname"], Row::MaintainCommit),
    (&["uninstall", "component"], Row::MaintainCommit),
    (&["uninstall", "plugin"], Row::MaintainCommit),
    (&["uninstall", "soname"], Row::MaintainCommit),
    // Other administration
    (&["binlog"], Row::Write),
    (&["cache", "index"], Row::MysqlCommits),
    (&["flush"], Row::MaintainCommit),
    (&["reset", "persist"], Row::Maintain),
    (&["reset"], Row::MaintainCommit),
    (&["restart"], Row::Maintain),
    (&["shutdown"], Row::Maintain),
    (&["clone"], Row::MaintainCommit),
    (&["import", "table"], Row::MaintainCommit),
    (&["backup", "stage"], Row::MaintainCommit),
    (&["backup", "lock"], Row::MaintainCommit),
    (&["backup", "unlock"], Row::MaintainCommit),
    (&["lock", "instance"], Row::Maintain),
    (&["unlock", "instance"], Row::Maintain),
    // Replication
    (&["purge"], Row::Maintain),
    (&["change"], Row::MysqlCommits),
    (&["start"], Row::MysqlCommits),
    (&["stop"], Row::MysqlCommits),
    // MySQL's roles of a session
    (&["set", "role"], Row::Session),
];

/// Any statement that no other file knows.
pub(super) fn read(mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    let start = cursor.at;
    let mut words = cursor;
    // LOCAL and NO_WRITE_TO_BINLOG may stand behind the verb, and TABLES for TABLE.
    words.at += 1;
    words.eat_any(&["local", "no_write_to_binlog"]);
    let second = words.at;
    let fits = |row: &&(&[&str], Row)| {
        let table = |word: &str| word == "table" && cursor.source.is(second, "tables");
        row.0.iter().enumerate().all(|(number, word)| match number {
            0 => cursor.source.is(start, word),
            _ => cursor.source.is(second, word) || table(word),
        })
    };
    let found = STATEMENTS.iter().filter(fits).max_by_key(|row| row.0.len());
    let Some((words, row)) = found else {
        return Err(format!("a statement that is not known, {}", cursor.here()));
    };
    let name = match words {
        ["flush" | "reset" | "change" | "start" | "stop" | "purge"] => {
            let more = (start..cursor.end).take(3).take_while(|&at| cursor.source.kind(at) == Some(Kind::Word));
            let more = more.map(|at| cursor.source.text(at).to_ascii_lowercase());
            more.filter(|word| !matches!(word.as_str(), "local" | "no_write_to_binlog" | "to" | "for"))
                .collect::<Vec<_>>()
                .join(" ")
        }
        words => words.join(" "),
    };
    cursor.at = if words.len() > 1 { second + 1 } else { start + 1 };
    let mut statement = maintain(&name);
    match row {
        Row::Define => statement = Statement::new(StatementKind::Define { name }, Effect::Write),
        Row::Tables => {
            cursor.eat_if_exists();
            statement.writes = cursor.relations()?;
        }
        Row::ReadTables => {
            statement.effect = Effect::Read;
            statement.reads = cursor.relations()?;
        }
        Row::Session => statement = Statement::new(StatementKind::SetVariables, Effect::Session),
        Row::Write => statement = Statement::new(StatementKind::Define { name }, Effect::Write),
        Row::MaintainCommit | Row::MysqlCommits | Row::Maintain => {}
    }
    statement.state.implicit_commit = match row {
        Row::Define | Row::MaintainCommit | Row::Tables => true,
        Row::MysqlCommits => cursor.source.mode.server.family == Family::MySql,
        Row::Maintain | Row::ReadTables | Row::Session | Row::Write => false,
    };
    if words == &["flush"] {
        flush(cursor, &mut statement)?;
    }
    Ok(statement)
}

/// FLUSH: some of its forms hold locks until UNLOCK TABLES.
fn flush(mut cursor: Cursor<'_, '_>, statement: &mut Statement) -> Result<(), String> {
    cursor.eat_any(&["local", "no_write_to_binlog"]);
    if !cursor.eat("tables") && !cursor.eat("table") {
        return Ok(());
    }
    if !cursor.done() && !cursor.is_any(&["with", "for"]) {
        statement.writes = cursor.relations()?;
    }
    let locks = cursor.are(&["with", "read", "lock"]) || cursor.are(&["for", "export"]);
    if locks {
        statement.effect = Effect::Lock;
        statement.kind = StatementKind::Maintain { name: "flush tables with read lock".to_owned() };
    } else {
        statement.kind = StatementKind::Maintain { name: "flush tables".to_owned() };
    }
    Ok(())
}

/// LOCK TABLES and UNLOCK TABLES.
pub(super) fn table_locks(first: &str, mut cursor: Cursor<'_, '_>) -> Result<Statement, String> {
    if cursor.eat("instance") {
        return Ok(Statement { effect: Effect::Lock, ..maintain(&format!("{first} instance")) });
    }
    if !cursor.eat("tables") && !cursor.eat("table") {
        return Err(format!("{} of something unknown, {}", first.to_uppercase(), cursor.here()));
    }
    if first == "unlock" {
        let mut statement = Statement::new(StatementKind::UnlockTables, Effect::Lock);
        statement.state.implicit_commit = true;
        return Ok(statement);
    }
    let mut statement = Statement::new(StatementKind::LockTables, Effect::Lock);
    statement.state.implicit_commit = true;
    loop {
        let table = cursor.relation()?;
        if cursor.eat("as") || !cursor.is_any(&["read", "write", "low_priority", "concurrent"]) {
            cursor.name()?;
        }
        let reads = cursor.eat("read");
        let end = cursor.find(|at| cursor.source.kind(at) == Some(Kind::Comma));
        if reads {
            statement.reads.push(table)
        } else {
            statement.writes.push(table)
        }
        cursor.at = end;
        if !cursor.eat_symbol(",") {
            return Ok(statement);
        }
    }
}

/// KILL
pub(super) fn kill(mut cursor: Cursor<'_, '_>) -> Statement {
    cursor.eat_any(&["hard", "soft"]);
    Statement::new(StatementKind::Kill { query: cursor.is("query") }, Effect::Utility)
}
