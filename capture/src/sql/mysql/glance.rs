//! What a text does, as far as its first words tell.

use super::Mode;
use super::lexer::{Kind, Lexer, Token};

/// Whether a text begins with a LOAD DATA or LOAD XML that asks the client for a file.
pub(crate) fn loads_local(sql: &[u8], mode: &Mode) -> bool {
    // Few texts have the word anywhere.
    if !mentions(sql, b"local") {
        return false;
    }
    let mut words = Lexer::new(sql, *mode).filter(|token| token.kind != Kind::Comment).take(4);
    let mut next = || words.next().and_then(|token| sql.get(token.start..token.end)).unwrap_or_default();
    let is = |word: &[u8], expected: &[u8]| word.eq_ignore_ascii_case(expected);
    if !is(next(), b"load") {
        return false;
    }
    let what = next();
    if !is(what, b"data") && !is(what, b"xml") {
        return false;
    }
    let mut word = next();
    if is(word, b"low_priority") || is(word, b"concurrent") {
        word = next();
    }
    is(word, b"local")
}

/// How often a text's statements prepare (SQL's PREPARE), and how often they execute what is prepared.
pub(crate) fn prepares_and_executes(sql: &[u8], mode: &Mode) -> (u32, u32) {
    let (mut prepares, mut executes) = (0, 0);
    let mut first = true;
    let mut tokens = Lexer::new(sql, *mode).filter(|token| token.kind != Kind::Comment).peekable();
    let is = |token: &Token, word: &[u8]| {
        token.kind == Kind::Word
            && sql.get(token.start..token.end).is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    while let Some(token) = tokens.next() {
        let begins = std::mem::replace(&mut first, token.kind == Kind::Semicolon);
        if begins && is(&token, b"prepare") {
            prepares += 1;
        } else if begins && is(&token, b"execute") {
            executes += 1;
            prepares += u32::from(tokens.peek().is_some_and(|next| is(next, b"immediate")));
        }
    }
    (prepares, executes)
}

/// Whether a text has parameters (`?`).
pub(crate) fn has_parameters(sql: &[u8], mode: &Mode) -> bool {
    memchr::memchr(b'?', sql).is_some() && Lexer::new(sql, *mode).any(|token| token.kind == Kind::Param)
}

/// Whether a text ends inside a comment that would end with its line.
pub(crate) fn ends_in_line_comment(sql: &[u8], mode: &Mode) -> bool {
    let marked = memchr::memchr(b'#', sql).is_some() || memchr::memmem::find(sql, b"--").is_some();
    let last = || Lexer::new(sql, *mode).last().filter(|token| token.kind == Kind::Comment && token.end == sql.len());
    marked && last().is_some_and(|token| !sql.get(token.start..).is_some_and(|text| text.starts_with(b"/*")))
}

fn mentions(sql: &[u8], word: &[u8]) -> bool {
    let Some(&first) = word.first() else { return true };
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), sql)
        .any(|at| sql.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_client_sends() {
        for (sql, expected) in [
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", true),
            ("/* c */ load xml concurrent local infile 'x' into table t", true),
            ("load data low_priority local infile 'x' into table t", true),
            ("LOAD DATA INFILE '/local' INTO TABLE local", false),
            ("SELECT 'load data local'", false),
            ("", false),
        ] {
            assert_eq!(loads_local(sql.as_bytes(), &Mode::default()), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_are_no_text() {
        assert!(has_parameters(b"SELECT ?", &Mode::default()));
        assert!(!has_parameters(b"SELECT '?', `?` -- ?", &Mode::default()));
    }

    #[test]
    fn comments_up_to_the_end() {
        for sql in ["SELECT 1 -- a", "SELECT 1 # a", "-- a SELECT 1"] {
            assert!(ends_in_line_comment(sql.as_bytes(), &Mode::default()), "{sql}");
        }
        for sql in ["SELECT 1 /* -- a */", "SELECT '-- a'", "SELECT 1--1", "-- a\nSELECT 1", ""] {
            assert!(!ends_in_line_comment(sql.as_bytes(), &Mode::default()), "{sql}");
        }
    }

    #[test]
    fn prepared_statements_of_sql() {
        for (sql, expected) in [
            ("PREPARE s FROM 'select ?'", (1, 0)),
            ("/* c */ execute s using @a", (0, 1)),
            ("SELECT 1; EXECUTE IMMEDIATE 'x'", (1, 1)),
            ("PREPARE s FROM @a; EXECUTE s; EXECUTE s", (1, 2)),
            ("/*!50000 EXECUTE s */", (0, 1)),
            ("SELECT 'a; EXECUTE s'", (0, 0)),
            ("CALL prepare()", (0, 0)),
        ] {
            assert_eq!(prepares_and_executes(sql.as_bytes(), &Mode::default()), expected, "{sql}");
        }
    }
}
