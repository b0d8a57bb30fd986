//! What a MySQL or MariaDB text does, found at the level of its tokens.
//!
//! A statement is known by its first words (`statement`), of which each kind has a file; what stands below at any
//! depth is found by one generic walk (`walk`). The grammar is not checked further: that a text was accepted is seen
//! from the server's answer. The body of a stored program is taken apart into such statements (`body`). A statement whose first words are not known makes the text an error, never a guess.

mod admin;
mod body;
mod ddl;
mod dml;
mod set;
mod show;
mod statement;
mod tokens;
mod transaction;
mod walk;
mod words;

use super::{Mode, split};
use crate::sql::{Facts, Statement};
use tokens::{Cursor, Source};

pub use body::body;

/// Statements in the text of statements (PREPARE, EXPLAIN, SET STATEMENT) are read to this depth.
const DEEPEST: u32 = 8;

/// The facts of a MySQL or MariaDB text. Meant for once per shape.
///
/// Never fails: a text that cannot be read gives facts with an `error`.
pub fn facts(sql: &str, mode: &Mode) -> Facts {
    match read(sql, *mode, 0) {
        Ok(statements) => Facts { statements, error: None },
        Err(error) => Facts { statements: Vec::new(), error: Some(error) },
    }
}

fn read(sql: &str, mode: Mode, depth: u32) -> Result<Vec<Statement>, String> {
    let source = Source::new(sql, mode)?;
    let words = source.toks.iter().map(|tok| split::Item { kind: tok.kind, start: tok.start, end: tok.end });
    let mut statements = Vec::new();
    for range in split::ranges(sql.as_bytes(), words) {
        if !range.is_empty() {
            let cursor = Cursor { source: &source, at: range.start, end: range.end };
            statements.push(statement::read(cursor, depth)?);
        }
    }
    Ok(statements)
}

/// The one statement that a text holds, for PREPARE; unknown where it is another number.
fn inner(sql: &str, mode: Mode, depth: u32) -> Result<Statement, String> {
    if depth >= DEEPEST {
        return Ok(unknown());
    }
    let mut statements = read(sql, mode, depth + 1)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Ok(unknown()),
    }
}

/// A statement whose text is not known: it may do anything.
fn unknown() -> Statement {
    Statement::new(crate::sql::StatementKind::Unknown, crate::sql::Effect::Write)
}

#[cfg(test)]
mod tests;
