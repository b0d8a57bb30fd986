//! The statements that a text prepares with SQL's PREPARE, found without parsing it.

use super::lexer::{Kind, Lexer, Token};

/// A statement that was given a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared<'a> {
    /// The name as the server knows it: in lower case, unless it was quoted.
    pub name: Vec<u8>,
    /// What it will do.
    pub body: &'a [u8],
}

/// Every `PREPARE name [(types)] AS body` of a text. A text without the word is given up after one scan.
pub fn prepared(sql: &[u8]) -> Vec<Prepared<'_>> {
    let mut found = Vec::new();
    if !mentions_prepare(sql) {
        return found;
    }
    let mut tokens = Lexer::new(sql).filter(|token| token.kind != Kind::Comment).peekable();
    while let Some(first) = tokens.next() {
        let mut statement = vec![first];
        while let Some(token) = tokens.next_if(|token| token.kind != Kind::Semicolon) {
            statement.push(token);
        }
        tokens.next();
        found.extend(one(sql, &statement));
    }
    found
}

fn mentions_prepare(sql: &[u8]) -> bool {
    const WORD: &[u8] = b"prepare";
    memchr::memchr2_iter(b'p', b'P', sql)
        .any(|at| sql.get(at..at + WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD)))
}

fn one<'a>(sql: &'a [u8], statement: &[Token]) -> Option<Prepared<'a>> {
    let piece = |token: &Token| sql.get(token.start..token.end).unwrap_or_default();
    let is = |token: &Token, word: &[u8]| token.kind == Kind::Word && piece(token).eq_ignore_ascii_case(word);
    let [prepare, name, rest @ ..] = statement else { return None };
    if !is(prepare, b"prepare") {
        return None;
    }
    let name = self::name(sql, name)?;
    // Types stand in parentheses, so that the first AS outside of them is the one. PREPARE TRANSACTION has none.
    let mut depth = 0_u32;
    let at = rest.iter().position(|token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is(token, b"as")
    })?;
    let body = rest.get(at + 1..)?;
    let (start, end) = (body.first()?.start, body.last()?.end);
    Some(Prepared { name, body: sql.get(start..end)? })
}

/// The name that an identifier stands for.
pub(super) fn name(sql: &[u8], token: &Token) -> Option<Vec<u8>> {
    match (token.kind, sql.get(token.start..token.end)?) {
        (Kind::Word, word) => Some(word.to_ascii_lowercase()),
        (Kind::Quoted, [b'"', inner @ .., b'"']) => Some(unquoted(inner)),
        _ => None,
    }
}

/// A doubled quote stands for one.
fn unquoted(inner: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        name.push(byte);
        if byte == b'"' {
            bytes.next();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: &[(&str, &str)]) {
        let found = prepared(sql.as_bytes());
        let found: Vec<_> = found
            .iter()
            .map(|one| [one.name.as_slice(), one.body].map(|text| String::from_utf8_lossy(text).into_owned()))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(name, body)| [(*name).to_owned(), (*body).to_owned()]).collect();
        assert_eq!(found, expected, "{sql}");
    }

    #[test]
    fn names_and_bodies() {
        check("PREPARE a AS SELECT 1", &[("a", "SELECT 1")]);
        check("/* x */ prepare Big(int, numeric(10,2)) as select $1 ;", &[("big", "select $1")]);
        check("PREPARE \"Big\"\"q\" AS SELECT 'a;b' AS c", &[("Big\"q", "SELECT 'a;b' AS c")]);
        check(
            "BEGIN; PREPARE a AS SELECT 1; PREPARE b AS UPDATE t SET x = 1; COMMIT",
            &[("a", "SELECT 1"), ("b", "UPDATE t SET x = 1")],
        );
    }

    #[test]
    fn what_only_looks_like_it() {
        for sql in [
            "SELECT 'PREPARE a AS SELECT 1'",
            "PREPARE TRANSACTION 'x'",
            "PREPARE",
            "PREPARE a",
            "PREPARE a AS",
            "PREPARE $1 AS SELECT 1",
            "EXPLAIN SELECT 1 AS prepare",
        ] {
            check(sql, &[]);
        }
    }
}
