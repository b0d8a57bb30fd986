//! What stands before the body in the statement that makes a stored program.

use super::super::tokens::Cursor;
use crate::sql::mysql::lexer::Kind;

/// Words of a function's type behind its name and its parenthesis.
const OF_TYPES: &[&str] =
    &["unsigned", "signed", "zerofill", "binary", "ascii", "unicode", "byte", "precision", "varying"];

/// The body of the stored program that this statement makes.
pub(super) fn skip<'s, 'a>(mut cursor: Cursor<'s, 'a>) -> Result<Cursor<'s, 'a>, String> {
    if !cursor.eat("create") {
        return Err(format!("no statement that makes a stored program, {}", cursor.here()));
    }
    let source = cursor.source;
    cursor.at = cursor.find(|at| source.is_any(at, &["function", "procedure", "trigger"]));
    let (is_function, is_trigger) = (cursor.is("function"), cursor.is("trigger"));
    cursor.at += 1;
    cursor.eat_if_exists();
    cursor.relation()?;
    if is_trigger {
        cursor.at = cursor.find(|at| source.is(at, "each") && source.is(at + 1, "row")) + 2;
        if cursor.eat_any(&["follows", "precedes"]) {
            cursor.relation()?;
        }
        return Ok(cursor);
    }
    if !cursor.skip_parenthesis() {
        return Err(format!("a stored program has no parameters, {}", cursor.here()));
    }
    if is_function {
        returns(&mut cursor)?;
    }
    while characteristic(&mut cursor)? {}
    Ok(cursor)
}

fn returns(cursor: &mut Cursor<'_, '_>) -> Result<(), String> {
    if !cursor.eat("returns") {
        return Err(format!("a function has no type, {}", cursor.here()));
    }
    cursor.name()?;
    loop {
        let charset = cursor.eat_any(&["charset", "collate"]) || cursor.eat_all(&["character", "set"]);
        if charset {
            cursor.at += 1;
        } else if !cursor.skip_parenthesis() && !cursor.eat_any(OF_TYPES) {
            return Ok(());
        }
    }
}

/// Steps over a characteristic: "CREATE PROCEDURE and CREATE FUNCTION Statements" of the manuals.
fn characteristic(cursor: &mut Cursor<'_, '_>) -> Result<bool, String> {
    const WORDS: &[&[&str]] = &[
        &["language", "sql"],
        &["not", "deterministic"],
        &["deterministic"],
        &["contains", "sql"],
        &["no", "sql"],
        &["reads", "sql", "data"],
        &["modifies", "sql", "data"],
        &["sql", "security", "definer"],
        &["sql", "security", "invoker"],
    ];
    if cursor.is("language") && !cursor.are(&["language", "sql"]) {
        return Err(format!("it is not written in SQL, {}", cursor.here()));
    }
    if cursor.eat("comment") {
        let is_text = cursor.kind() == Some(Kind::Text);
        cursor.at += 1;
        return if is_text { Ok(true) } else { Err(format!("a comment is no text, {}", cursor.here())) };
    }
    Ok(WORDS.iter().any(|words| cursor.eat_all(words)))
}
