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

/// What a text forgets of the statements that were prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Forgets {
    /// `DEALLOCATE ALL`, `DISCARD ALL`.
    All,
    /// `DEALLOCATE name`; the name as the server knows it.
    One(Vec<u8>),
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

/// The prepared statements that a text forgets. A text without the words is given up after one scan.
pub(crate) fn forgets(sql: &[u8]) -> Option<Forgets> {
    let words: [&[u8]; 2] = [b"deallocate", b"discard"];
    let mentioned = memchr::memchr2_iter(b'd', b'D', sql).any(|at| {
        words.iter().any(|word| sql.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
    });
    if !mentioned {
        return None;
    }
    let mut forgets = None;
    let mut tokens = Lexer::new(sql).filter(|token| token.kind != Kind::Comment);
    let mut first = true;
    while let Some(token) = tokens.next() {
        let begins = std::mem::replace(&mut first, token.kind == Kind::Semicolon);
        if !begins || !words.iter().any(|word| is(sql, &token, word)) {
            continue;
        }
        let mut name = tokens.next()?;
        if is(sql, &name, b"prepare") && is(sql, &token, b"deallocate") {
            name = tokens.next()?;
        }
        if is(sql, &name, b"all") {
            return Some(Forgets::All);
        }
        if is(sql, &token, b"deallocate") {
            let name = super::prepared::name(sql, &name)?;
            // Of several, the last: a text with more than one is not worth a list.
            forgets = Some(Forgets::One(name));
        }
    }
    forgets
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
    fn forgotten_names() {
        let one = |name: &str| Some(Forgets::One(name.as_bytes().to_vec()));
        for (sql, expected) in [
            ("DEALLOCATE ALL", Some(Forgets::All)),
            ("discard all;", Some(Forgets::All)),
            ("SELECT 1; DEALLOCATE PREPARE S1", one("s1")),
            ("deallocate \"S1\"", one("S1")),
            ("DISCARD PLANS", None),
            ("SELECT 'deallocate all'", None),
            ("DEALLOCATE", None),
        ] {
            assert_eq!(forgets(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_are_no_dollar_quotes() {
        assert!(has_parameters(b"SELECT $1"));
        assert!(!has_parameters(b"SELECT $$ $1 $$, '$1', a$1"));
    }
}
