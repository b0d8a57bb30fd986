//! Passwords in statements never enter a trace.

use std::borrow::Cow;

use super::lexer::{Kind, Lexer};

const MASK: &[u8] = b"'***'";

/// Replaces the passwords that a statement holds with `'***'`.
///
/// Masked are the literal after the word PASSWORD in statements that begin with CREATE or ALTER (roles, users, user
/// mappings), inside the body of a DO block or function too, and the literals of a subscription's or dblink's
/// connection string when they hold a password. Values that merely go into a column called password are data and
/// stay. Statements without the word come back as they are, after one scan.
pub fn mask_password(sql: &str) -> Cow<'_, str> {
    if !mentions_password(sql.as_bytes()) {
        return Cow::Borrowed(sql);
    }
    let mut out = Vec::with_capacity(sql.len());
    if !mask(sql.as_bytes(), false, &mut out) {
        return Cow::Borrowed(sql);
    }
    // Literals begin and end at ASCII, so cutting them out leaves UTF-8.
    String::from_utf8(out).map_or_else(|error| Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into()), Cow::Owned)
}

fn mentions_password(text: &[u8]) -> bool {
    const WORD: &[u8] = b"password";
    memchr::memchr2_iter(b'w', b'W', text)
        .any(|at| at >= 4 && text.get(at - 4..at + 4).is_some_and(|word| word.eq_ignore_ascii_case(WORD)))
}

/// Copies `text` into `out` with its passwords masked; false when there was none. `body` is true for code inside a
/// dollar-quoted string, where any statement may stand anywhere.
fn mask(text: &[u8], body: bool, out: &mut Vec<u8>) -> bool {
    let mut masked = false;
    let mut copied = 0;
    let mut first = true;
    let mut defines = body;
    let mut connects = body;
    let mut after_password = false;
    for token in Lexer::new(text) {
        let piece = text.get(token.start..token.end).unwrap_or_default();
        let is = |word: &[u8]| token.kind == Kind::Word && piece.eq_ignore_ascii_case(word);
        let was_password = std::mem::take(&mut after_password);
        match token.kind {
            Kind::Comment => {
                after_password = was_password;
                continue;
            }
            Kind::Semicolon => first = true,
            Kind::Word => {
                if std::mem::take(&mut first) && !body {
                    defines = is(b"create") || is(b"alter") || is(b"do");
                    connects = false;
                }
                connects |= is(b"subscription") && defines;
                connects |= piece.len() >= 6 && piece.get(..6).is_some_and(|head| head.eq_ignore_ascii_case(b"dblink"));
                after_password = is(b"password");
            }
            Kind::Quoted => after_password = piece.eq_ignore_ascii_case(b"\"password\""),
            Kind::Text if (defines && was_password) || (connects && mentions_password(piece)) && !body_of(piece) => {
                out.extend_from_slice(text.get(copied..token.start).unwrap_or_default());
                out.extend_from_slice(MASK);
                copied = token.end;
                masked = true;
            }
            Kind::Text if defines && mentions_password(piece) => {
                // A body: its own statements may set passwords. The quotes hold no token that matters.
                let mut inner = Vec::with_capacity(piece.len());
                let (open, code, close) = split_body(piece);
                if mask(code, true, &mut inner) {
                    out.extend_from_slice(text.get(copied..token.start).unwrap_or_default());
                    out.extend_from_slice(open);
                    out.extend_from_slice(&inner);
                    out.extend_from_slice(close);
                    copied = token.end;
                    masked = true;
                }
            }
            _ => {}
        }
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    masked
}

fn body_of(piece: &[u8]) -> bool {
    piece.first() == Some(&b'$')
}

/// A dollar-quoted string as opening tag, code and closing tag; any other string is all opening tag.
fn split_body(piece: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let tag = match piece {
        [b'$', rest @ ..] => rest.iter().position(|&byte| byte == b'$').map_or(0, |end| end + 2),
        _ => 0,
    };
    let end = piece.len().saturating_sub(tag);
    match (piece.get(..tag), piece.get(tag..end), piece.get(end..)) {
        (Some(open), Some(code), Some(close)) if tag > 0 => (open, code, close),
        _ => (piece, b"", b""),
    }
}

#[cfg(test)]
mod tests {
    use super::mask_password;

    #[test]
    fn passwords_are_masked_wherever_a_statement_sets_one() {
        for (sql, masked) in [
            ("CREATE USER bob PASSWORD 'x'", "CREATE USER bob PASSWORD '***'"),
            (
                "alter role bob with encrypted password /* c */ E'x\\'y' login",
                "alter role bob with encrypted password /* c */ '***' login",
            ),
            (
                "SELECT 1; ALTER USER bob PASSWORD 'ü'; SELECT 'b'",
                "SELECT 1; ALTER USER bob PASSWORD '***'; SELECT 'b'",
            ),
            (
                "CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', password 'p')",
                "CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', password '***')",
            ),
            (
                "CREATE SUBSCRIPTION s CONNECTION 'host=h password=p' PUBLICATION q",
                "CREATE SUBSCRIPTION s CONNECTION '***' PUBLICATION q",
            ),
            ("SELECT * FROM dblink('password=p', 'select 1')", "SELECT * FROM dblink('***', 'select 1')"),
            ("DO $$ BEGIN ALTER ROLE b PASSWORD 'x'; END $$", "DO $$ BEGIN ALTER ROLE b PASSWORD '***'; END $$"),
            ("ALTER ROLE b PASSWORD 'unterminated", "ALTER ROLE b PASSWORD '***'"),
            ("ALTER ROLE b PASSWORD $$x$$", "ALTER ROLE b PASSWORD '***'"),
        ] {
            assert_eq!(mask_password(sql), masked);
        }
    }

    #[test]
    fn data_is_left_alone() {
        for sql in [
            "UPDATE users SET password = 'x'",
            "INSERT INTO users (password) VALUES ('my password')",
            "ALTER ROLE b PASSWORD NULL",
            "SELECT 'password'",
            "CREATE TABLE t (password text DEFAULT 'x')",
        ] {
            assert_eq!(mask_password(sql), sql);
        }
    }
}
