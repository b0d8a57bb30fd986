//! What a text changes for the texts after it: `USE`, and `SET sql_mode`.
//!
//! Servers that track the session tell both with their answers; this is for those that do not, and for clients that do
//! not ask for it. It looks at the beginning of a text only.

/// What a text changes, once the server agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The current database.
    Database(String),
    /// The value of `sql_mode`, as a list of names.
    SqlMode(String),
}

/// What this text changes.
pub(crate) fn follow(sql: &str) -> Option<Follow> {
    let sql = skip_space(sql);
    match sql.as_bytes().first()? {
        b'u' | b'U' => {
            let name = skip_space(after_word(sql, "use")?);
            let name = match name.strip_prefix('`') {
                Some(quoted) => unquoted(quoted, '`')?,
                None => name.split(|end: char| end.is_whitespace() || end == ';').next()?.to_owned(),
            };
            (!name.is_empty()).then_some(Follow::Database(name))
        }
        b's' | b'S' => sql_mode(skip_space(after_word(sql, "set")?)).map(Follow::SqlMode),
        _ => None,
    }
}

/// The value of an assignment to the session's `sql_mode`, where it is a literal and the only or first one.
fn sql_mode(assignment: &str) -> Option<String> {
    let mut rest = assignment;
    for scope in ["session", "local"] {
        if let Some(after) = after_word(rest, scope) {
            rest = skip_space(after);
        }
    }
    for scope in ["@@session.", "@@local.", "@@"] {
        if let Some(after) = strip_prefix_ignoring_case(rest, scope) {
            rest = after;
            break;
        }
    }
    let value = skip_space(after_word(rest.trim_start_matches('`'), "sql_mode")?.trim_start_matches('`'));
    let value = skip_space(value.strip_prefix(":=").or_else(|| value.strip_prefix('='))?);
    let mut chars = value.chars();
    match chars.next()? {
        quote @ ('\'' | '"') => unquoted(chars.as_str(), quote),
        // SET sql_mode = ANSI_QUOTES
        _ => {
            let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = value.find(|c| !name(c)).unwrap_or(value.len());
            let (word, rest) = value.split_at(end);
            let ends = skip_space(rest).chars().next().is_none_or(|c| matches!(c, ';' | ','));
            (ends && !word.is_empty()).then(|| word.to_owned())
        }
    }
}

/// The content of a quoted name or literal whose opening quote was before `text`.
fn unquoted(text: &str, quote: char) -> Option<String> {
    let mut content = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != quote {
            content.push(c);
        } else if chars.next_if_eq(&quote).is_some() {
            content.push(quote);
        } else {
            return Some(content);
        }
    }
    None
}

/// What follows a word that the text begins with.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = strip_prefix_ignoring_case(text, word)?;
    rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '_').then_some(rest)
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..)).flatten()
}

/// Skips white space and comments.
fn skip_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let comment = match text.as_bytes() {
            // Executed comments are code.
            [b'/', b'*', b'!', ..] => None,
            [b'/', b'*', ..] => text.find("*/").map(|end| end + 2),
            [b'#', ..] => text.find('\n').or(Some(text.len())),
            [b'-', b'-', b' ' | b'\t' | b'\n', ..] => text.find('\n').or(Some(text.len())),
            _ => None,
        };
        match comment.and_then(|end| text.get(end..)) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database() {
        for (sql, name) in [
            ("USE shop", "shop"),
            ("use `my ``shop`;", "my `shop"),
            (" /* c */ -- d\n use shop; ", "shop"),
            ("use\tshop", "shop"),
        ] {
            assert_eq!(follow(sql), Some(Follow::Database(name.into())), "{sql}");
        }
        for sql in ["", "USER()", "use", "SELECT 'use x'", "used", "use `x", "update use"] {
            assert_eq!(follow(sql), None, "{sql}");
        }
    }

    #[test]
    fn another_sql_mode() {
        for (sql, mode) in [
            ("SET sql_mode='ANSI_QUOTES'", "ANSI_QUOTES"),
            ("SET SESSION sql_mode = \"ANSI,NO_BACKSLASH_ESCAPES\"", "ANSI,NO_BACKSLASH_ESCAPES"),
            ("set @@session.sql_mode := ''", ""),
            ("SET @@SQL_MODE = ANSI, a = 1", "ANSI"),
        ] {
            assert_eq!(follow(sql), Some(Follow::SqlMode(mode.into())), "{sql}");
        }
        for sql in [
            "SET GLOBAL sql_mode = 'ANSI'",
            "SET @sql_mode = 'ANSI'",
            "SET sql_mode = CONCAT(@@sql_mode, ',ANSI')",
            "SET sql_mode_x = 'a'",
            "SET names utf8",
        ] {
            assert_eq!(follow(sql), None, "{sql}");
        }
    }
}
