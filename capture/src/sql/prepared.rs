//! The statements to which a text gives a name with SQL's PREPARE, and the names that it takes away, found without parsing it.

use super::lexer::{Kind, Lexer, Token};

/// A name of a prepared statement that a text gives or takes away. Names are as the server knows them: in lower case, unless they
/// were quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming<'a> {
    /// PREPARE
    Prepare {
        /// The name.
        name: Vec<u8>,
        /// What it will do.
        body: &'a [u8],
    },
    /// DEALLOCATE
    Deallocate {
        /// The name.
        name: Vec<u8>,
    },
    /// DEALLOCATE ALL or DISCARD ALL
    DeallocateAll,
}

/// Every `PREPARE name [(types)] AS body`, `DEALLOCATE [PREPARE] name` and `DISCARD ALL` of a text, in order. A text without
/// these words is given up after two scans.
pub fn namings(sql: &[u8]) -> Vec<Naming<'_>> {
    let mut found = Vec::new();
    if !mentions(sql, b"prepare") && !mentions(sql, b"deallocate") && !mentions(sql, b"discard") {
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

fn mentions(sql: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return false };
    memchr::memchr2_iter(*first, first.to_ascii_uppercase(), sql)
        .any(|at| sql.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
}

fn one<'a>(sql: &'a [u8], statement: &[Token]) -> Option<Naming<'a>> {
    let piece = |token: &Token| sql.get(token.start..token.end).unwrap_or_default();
    let is = |token: &Token, word: &[u8]| token.kind == Kind::Word && piece(token).eq_ignore_ascii_case(word);
    let named = |name: &Token| match (name.kind, piece(name)) {
        (Kind::Word, word) => Some(word.to_ascii_lowercase()),
        (Kind::Quoted, [b'"', inner @ .., b'"']) => Some(unquoted(inner)),
        _ => None,
    };
    let (name, rest) = match statement {
        [first, all] if is(all, b"all") && (is(first, b"deallocate") || is(first, b"discard")) => {
            return Some(Naming::DeallocateAll);
        }
        [first, prepare, all] if is(first, b"deallocate") && is(prepare, b"prepare") && is(all, b"all") => {
            return Some(Naming::DeallocateAll);
        }
        [first, name] if is(first, b"deallocate") => return Some(Naming::Deallocate { name: named(name)? }),
        [first, prepare, name] if is(first, b"deallocate") && is(prepare, b"prepare") => {
            return Some(Naming::Deallocate { name: named(name)? });
        }
        [first, name, rest @ ..] if is(first, b"prepare") => (named(name)?, rest),
        _ => return None,
    };
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
    Some(Naming::Prepare { name, body: sql.get(start..end)? })
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
        let found: Vec<_> = namings(sql.as_bytes())
            .iter()
            .map(|one| match one {
                Naming::Prepare { name, body } => [name.as_slice(), body],
                Naming::Deallocate { name } => [name.as_slice(), b"gone"],
                Naming::DeallocateAll => [&b"*"[..], b"gone"],
            })
            .map(|texts| texts.map(|text| String::from_utf8_lossy(text).into_owned()))
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
    fn names_that_are_taken_away() {
        check("DEALLOCATE a", &[("a", "gone")]);
        check("deallocate PREPARE \"B\";", &[("B", "gone")]);
        check("DEALLOCATE prepare", &[("prepare", "gone")]);
        check("PREPARE a AS SELECT 1; DEALLOCATE A", &[("a", "SELECT 1"), ("a", "gone")]);
        for sql in ["DEALLOCATE ALL", "deallocate prepare all", "/* pool */ DISCARD ALL"] {
            check(sql, &[("*", "gone")]);
        }
        for sql in ["DISCARD PLANS", "DEALLOCATE", "SELECT 'DEALLOCATE ALL'", "DEALLOCATE a b c"] {
            check(sql, &[]);
        }
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
