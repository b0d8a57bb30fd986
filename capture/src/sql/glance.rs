//! What a PostgreSQL text does, as far as its tokens tell without parsing it.

use super::lexer::{Kind, Lexer, Token};

/// Where the data of a COPY goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// From the client: `COPY … FROM STDIN`.
    In,
    /// To the client: `COPY … TO STDOUT`.
    Out,
}

/// Whether a text is a COPY from or to the client.
pub(crate) fn copies(sql: &[u8]) -> Option<Copies> {
    let mut tokens = Lexer::new(sql).filter(|token| token.kind != Kind::Comment);
    if !tokens.next().is_some_and(|first| is(sql, &first, b"copy")) {
        return None;
    }
    let mut depth = 0_u32;
    let mut before = None;
    for token in tokens {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Semicolon => return None,
            Kind::Word if depth == 0 => {
                let after = |word: &[u8]| before.as_ref().is_some_and(|before| is(sql, before, word));
                if is(sql, &token, b"stdin") && after(b"from") {
                    return Some(Copies::In);
                }
                if is(sql, &token, b"stdout") && after(b"to") {
                    return Some(Copies::Out);
                }
            }
            _ => {}
        }
        before = Some(token);
    }
    None
}

/// Whether a text has parameters (`$1`) that an execution of it gives. Those in the body of PREPARE or of a function are given
/// by others.
pub(crate) fn has_parameters(sql: &[u8]) -> bool {
    if memchr::memchr(b'$', sql).is_none() {
        return false;
    }
    let mut tokens = Lexer::new(sql).filter(|token| token.kind != Kind::Comment).peekable();
    let mut next_is = |words: &[&[u8]]| tokens.next_if(|token| words.iter().any(|word| is(sql, token, word))).is_some();
    if next_is(&[b"prepare"]) {
        return false;
    }
    if next_is(&[b"create"]) {
        if next_is(&[b"or"]) {
            next_is(&[b"replace"]);
        }
        if next_is(&[b"function", b"procedure"]) {
            return false;
        }
    }
    tokens.any(|token| token.kind == Kind::Param)
}

fn is(sql: &[u8], token: &Token, word: &[u8]) -> bool {
    token.kind == Kind::Word && sql.get(token.start..token.end).is_some_and(|piece| piece.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_from_and_to_the_client() {
        for (sql, expected) in [
            ("COPY t FROM STDIN", Some(Copies::In)),
            ("/* c */ copy t (a, b) from stdin with (format csv)", Some(Copies::In)),
            ("COPY (SELECT x FROM stdin) TO STDOUT;", Some(Copies::Out)),
            ("COPY t FROM '/tmp/stdin'", None),
            ("COPY t TO PROGRAM 'stdout'", None),
            ("SELECT 1 AS copy", None),
            ("", None),
        ] {
            assert_eq!(copies(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_are_no_dollar_quotes() {
        assert!(has_parameters(b"SELECT $1"));
        assert!(!has_parameters(b"SELECT $$ $1 $$, '$1', a$1"));
    }

    #[test]
    fn parameters_of_a_body_are_given_by_others() {
        for (sql, expected) in [
            ("/* c */ PREPARE s AS SELECT $1", false),
            ("create or replace function f(int) returns int begin atomic select $1; end", false),
            ("CREATE PROCEDURE p(int) BEGIN ATOMIC DELETE FROM t WHERE a = $1; END", false),
            ("CREATE TABLE t AS SELECT $1::int", true),
            ("EXPLAIN SELECT $1", true),
        ] {
            assert_eq!(has_parameters(sql.as_bytes()), expected, "{sql}");
        }
    }
}
