//! Bodies of functions and procedures in SQL and PL/pgSQL.

use super::{facts, plpgsql};
use crate::sql::Body;
use crate::sql::lexer::{Kind, Lexer, Token};

/// The body of a function or procedure in this language. `source` is `pg_proc.prosrc`, or for a body in SQL-standard
/// form (`BEGIN ATOMIC ... END`, `RETURN ...`) what `pg_get_function_sqlbody` gives.
///
/// Never fails: what cannot be read is a body that is not known.
pub fn body(language: &str, source: &str) -> Body {
    match language {
        "sql" => parsed(&standard(source), None),
        "plpgsql" => match plpgsql::read(source) {
            Ok(found) => parsed(&found.texts.join(";\n"), found.unknown),
            Err(error) => Body::unknown(error),
        },
        _ => Body::unknown(format!("it is written in {language}")),
    }
}

fn parsed(sql: &str, unknown: Option<String>) -> Body {
    let facts = facts(sql);
    let partial = facts.statements.iter().any(|statement| statement.partial);
    let too_large = || partial.then(|| "a statement in it is too large or too deep".to_owned());
    Body { unknown: unknown.or(facts.error).or_else(too_large), statements: facts.statements }
}

/// The statements of a body in SQL. One in SQL-standard form is no text of statements by itself.
fn standard(source: &str) -> String {
    let tokens: Vec<Token> = Lexer::new(source.as_bytes()).filter(|token| token.kind != Kind::Comment).collect();
    let is = |at: usize, word: &str| {
        let token = tokens.get(at).filter(|token| token.kind == Kind::Word);
        token.is_some_and(|token| source.get(token.start..token.end).unwrap_or("").eq_ignore_ascii_case(word))
    };
    let after = |at: usize| tokens.get(at).map_or(source.len(), |token| token.end);
    if is(0, "return") {
        format!("SELECT {}", source.get(after(0)..).unwrap_or_default())
    } else if is(0, "begin") && is(1, "atomic") {
        let end = tokens.iter().rev().find(|token| token.kind != Kind::Semicolon).map_or(0, |token| token.start);
        source.get(after(1)..end).unwrap_or_default().to_owned()
    } else {
        source.to_owned()
    }
}

#[cfg(test)]
mod tests;
