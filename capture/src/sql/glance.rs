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

/// Whether a text has parameters (`$1`).
pub(crate) fn has_parameters(sql: &[u8]) -> bool {
    memchr::memchr(b'$', sql).is_some() && Lexer::new(sql).any(|token| token.kind == Kind::Param)
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
}
