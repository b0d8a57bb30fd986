//! Passwords in statements never enter a trace.

use std::borrow::Cow;

use super::Mode;
use super::lexer::{Kind, Lexer};
use super::literal::string_value;

const MASK: &[u8] = b"'***'";

/// Replaces the passwords that a statement holds with `'***'`.
///
/// Masked are the literals of `IDENTIFIED BY`, `AS` and `USING`, of `SET PASSWORD`, of the functions `PASSWORD()` and
/// `OLD_PASSWORD()`, of `PASSWORD`, `MASTER_PASSWORD` and `SOURCE_PASSWORD` in statements on accounts, servers and
/// replication, a table's `CONNECTION` that names an account, and the text of a PREPARE or EXECUTE IMMEDIATE that
/// holds one of these. Values that merely go into a column called password are data and stay. Statements without any
/// of these words come back as they are, after one scan.
pub fn mask_password<'a>(sql: &'a str, mode: &Mode) -> Cow<'a, str> {
    let text = sql.as_bytes();
    if !(mentions(text, b"password", 4) || mentions(text, b"identified", 6) || mentions(text, b"connection", 5)) {
        return Cow::Borrowed(sql);
    }
    match masked(text, mode) {
        None => Cow::Borrowed(sql),
        // Literals begin and end at ASCII, so cutting them out leaves UTF-8.
        Some(out) => String::from_utf8(out)
            .map_or_else(|error| Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into()), Cow::Owned),
    }
}

/// True when `word` stands in the text in any case; it is looked for by its rarest letter, the one at `rare`.
fn mentions(text: &[u8], word: &[u8], rare: usize) -> bool {
    let letter = word.get(rare).copied().unwrap_or_default();
    memchr::memchr2_iter(letter, letter.to_ascii_uppercase(), text).any(|at| {
        let start = at.checked_sub(rare);
        start
            .and_then(|start| text.get(start..start + word.len()))
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}

/// What the statement's first words say of its literals.
#[derive(Clone, Copy, PartialEq)]
enum Statement {
    /// Nothing was read yet.
    Start,
    /// One that sets no password.
    Other,
    /// One that defines accounts, servers or replication.
    Defines,
    /// SET, of something else than a password so far.
    Set,
    /// SET PASSWORD.
    SetPassword,
    /// PREPARE or EXECUTE.
    Text,
}

/// The text with its passwords masked; `None` when there was none.
fn masked(text: &[u8], mode: &Mode) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    let mut statement = Statement::Start;
    let mut identified = false;
    // What the last word announces for the literal after it, and the same for the parenthesis in between.
    let mut announced = false;
    let mut function = false;
    let mut connection = false;
    for token in Lexer::keeping_executed(text, *mode) {
        let piece = text.get(token.start..token.end).unwrap_or_default();
        let is = |word: &str| piece.eq_ignore_ascii_case(word.as_bytes());
        match token.kind {
            Kind::Comment | Kind::Enter | Kind::Leave => {}
            Kind::Semicolon => {
                // Statements of a routine's body set passwords too.
                statement = if statement == Statement::Defines { Statement::Defines } else { Statement::Start };
                identified = false;
                announced = false;
            }
            Kind::Word | Kind::Quoted => {
                statement = match statement {
                    Statement::Start if is("set") => Statement::Set,
                    Statement::Start if is("prepare") || is("execute") => Statement::Text,
                    Statement::Start
                        if ["create", "alter", "grant", "clone", "change", "start", "begin"]
                            .map(is)
                            .contains(&true) =>
                    {
                        Statement::Defines
                    }
                    Statement::Start => Statement::Other,
                    Statement::Set if is("password") => Statement::SetPassword,
                    Statement::Set => Statement::Other,
                    known => known,
                };
                identified |= is("identified");
                function = is("password") || is("old_password");
                connection = is("connection");
                announced = match statement {
                    Statement::Defines => {
                        function
                            || is("master_password")
                            || is("source_password")
                            || identified && ["by", "as", "using", "replace"].map(is).contains(&true)
                    }
                    Statement::SetPassword => is("replace"),
                    _ => false,
                };
            }
            Kind::Operator if is("=") => announced |= statement == Statement::SetPassword,
            Kind::Open => announced = function,
            Kind::Text | Kind::Broken | Kind::Hex => {
                let hides = announced
                    || connection && contains(piece, b"://") && piece.contains(&b'@')
                    || matches!(statement, Statement::Text | Statement::Set) && hides_password(piece, mode);
                if hides {
                    out.extend_from_slice(text.get(copied..token.start).unwrap_or_default());
                    out.extend_from_slice(MASK);
                    copied = token.end;
                }
                // A literal right behind it goes on with it.
                announced = hides;
                connection = false;
            }
            _ => announced = false,
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Some(out)
}

/// True for the text of a statement that holds a password itself.
fn hides_password(literal: &[u8], mode: &Mode) -> bool {
    // PREPARE and EXECUTE cannot stand in there; cutting the recursion here costs nothing.
    let inner = string_value(literal, mode);
    let starts = inner.trim_ascii_start().get(..7);
    !starts.is_some_and(|start| start.eq_ignore_ascii_case(b"prepare") || start.eq_ignore_ascii_case(b"execute"))
        && masked(&inner, mode).is_some()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(sql: &str) -> Cow<'_, str> {
        mask_password(sql, &Mode::default())
    }

    #[test]
    fn passwords_are_masked_wherever_a_statement_sets_one() {
        for (sql, masked) in [
            ("CREATE USER a@b IDENTIFIED BY 'x'", "CREATE USER a@b IDENTIFIED BY '***'"),
            ("CREATE USER a@b IDENTIFIED BY PASSWORD '*AB'", "CREATE USER a@b IDENTIFIED BY PASSWORD '***'"),
            ("ALTER USER a IDENTIFIED WITH p AS 'x', b", "ALTER USER a IDENTIFIED WITH p AS '***', b"),
            ("ALTER USER a IDENTIFIED BY 'x' REPLACE 'y'", "ALTER USER a IDENTIFIED BY '***' REPLACE '***'"),
            (
                "CREATE USER a IDENTIFIED VIA ed25519 USING PASSWORD('x')",
                "CREATE USER a IDENTIFIED VIA ed25519 USING PASSWORD('***')",
            ),
            ("GRANT ALL ON *.* TO 'a'@'b' identified by \"it's\"", "GRANT ALL ON *.* TO 'a'@'b' identified by '***'"),
            ("SET PASSWORD = 'x'", "SET PASSWORD = '***'"),
            ("SET PASSWORD FOR 'a'@'b' = PASSWORD('x')", "SET PASSWORD FOR 'a'@'b' = PASSWORD('***')"),
            (
                "CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD = 'x', MASTER_PORT=1",
                "CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD = '***', MASTER_PORT=1",
            ),
            ("START SLAVE USER='r' PASSWORD='x'", "START SLAVE USER='r' PASSWORD='***'"),
            ("CREATE SERVER s OPTIONS (PASSWORD 'x')", "CREATE SERVER s OPTIONS (PASSWORD '***')"),
            ("CREATE TABLE t (a int) CONNECTION='mysql://u:p@h/d/t'", "CREATE TABLE t (a int) CONNECTION='***'"),
            ("SELECT PASSWORD('x'), 'y'", "SELECT PASSWORD('***'), 'y'"),
            ("PREPARE s FROM 'SET PASSWORD = \\'x\\''", "PREPARE s FROM '***'"),
            ("SET @s = 'SET PASSWORD = \\'x\\''", "SET @s = '***'"),
            ("ALTER USER a IDENTIFIED BY 'x' 'y'", "ALTER USER a IDENTIFIED BY '***' '***'"),
            ("CLONE INSTANCE FROM a@h:1 IDENTIFIED BY 'x'", "CLONE INSTANCE FROM a@h:1 IDENTIFIED BY '***'"),
            ("SELECT 1; SET PASSWORD = 'x'; SELECT 'b'", "SELECT 1; SET PASSWORD = '***'; SELECT 'b'"),
            ("CREATE USER a IDENTIFIED BY 'unterminated", "CREATE USER a IDENTIFIED BY '***'"),
            ("/*!80000 ALTER USER a IDENTIFIED BY 'ü' */", "/*!80000 ALTER USER a IDENTIFIED BY '***' */"),
        ] {
            assert_eq!(mask(sql), masked);
        }
    }

    #[test]
    fn data_is_left_alone() {
        for sql in [
            "UPDATE users SET password = 'x'",
            "INSERT INTO users (password) VALUES ('my password')",
            "SELECT 'password', 'identified by'",
            "CREATE TABLE t (password varchar(20) DEFAULT 'x')",
            "SET character_set_connection = 'utf8'",
            "PREPARE s FROM 'SELECT password FROM t'",
        ] {
            assert_eq!(mask(sql), sql);
        }
    }
}
