//! How statements of a census are recognised.
//!
//! Every view writes a statement in its own way: PostgreSQL as it first came with `$1` for a literal, performance_schema token by
//! token with `(...)` for lists, ProxySQL with its blanks and `?,?,...`. The shape of a trace is another one. The key keeps of all of
//! them what they have in common: words and names in lower case, `?` for one or more values, and no blanks, quotes, comments,
//! signs of numbers or values of SET.

use splitproof_capture::trace::Engine;

/// The key of a statement's text, whoever wrote it.
pub fn key(text: &str, engine: Engine) -> String {
    let mut key = Key { engine, out: String::with_capacity(text.len()), words: 0, set: false, value: false };
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        rest = key.token(rest).trim_start();
    }
    while key.out.ends_with(';') {
        key.out.pop();
    }
    key.out
}

/// The same statement with marks of a census that no server would read replaced by values, so that it can be parsed.
pub(super) fn readable(text: &str, engine: Engine) -> String {
    match engine {
        Engine::Postgresql => text.to_owned(),
        Engine::Mysql => {
            text.replace("@?", "@v").replace("(_charset) ?", "?").replace("(unknown)", "?").replace("...", "?")
        }
    }
}

struct Key {
    engine: Engine,
    out: String,
    words: u32,
    /// In a SET statement.
    set: bool,
    /// In the value of an assignment of SET.
    value: bool,
}

impl Key {
    /// Takes one token and gives what follows it.
    fn token<'a>(&mut self, text: &'a str) -> &'a str {
        let first = text.chars().next().unwrap_or(' ');
        let mysql = self.engine == Engine::Mysql;
        if text.starts_with("/*") {
            return text.find("*/").and_then(|end| text.get(end + 2..)).unwrap_or("");
        }
        if text.starts_with("--") || (mysql && first == '#') {
            return text.find('\n').and_then(|end| text.get(end..)).unwrap_or("");
        }
        if let Some(rest) = text.strip_prefix("...") {
            if self.out.ends_with(',') {
                self.out.pop();
            }
            if self.out.ends_with('(') {
                self.placeholder();
            }
            self.close_rows();
            return rest;
        }
        match first {
            '\'' => self.quoted(text, '\'', true),
            '"' => self.quoted(text, '"', mysql),
            '`' if mysql => self.quoted(text, '`', false),
            '?' => {
                self.placeholder();
                &text[1..]
            }
            '$' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.placeholder();
                text[1..].trim_start_matches(|c: char| c.is_ascii_digit())
            }
            '@' if mysql && !text[1..].starts_with('@') => self.variable(text),
            '0'..='9' => {
                self.placeholder();
                text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '.')
            }
            c if c.is_alphanumeric() || c == '_' => self.word(text),
            ')' => {
                self.out.push(')');
                self.value = false;
                self.close_rows();
                &text[1..]
            }
            c => {
                self.value = match c {
                    '=' => self.set,
                    ',' | ';' => false,
                    _ => self.value,
                };
                self.out.push(c);
                &text[c.len_utf8()..]
            }
        }
    }

    /// One or more values in a row are one.
    fn placeholder(&mut self) {
        if let Some(before) = self.out.strip_suffix(['-', '+'])
            && (before.is_empty() || before.ends_with(['(', ',', '=', '<', '>']))
        {
            self.out.pop();
        }
        if self.out.ends_with("?,") {
            self.out.pop();
        } else if !self.out.ends_with('?') {
            self.out.push('?');
        }
    }

    /// Equal rows of values are one.
    fn close_rows(&mut self) {
        if let Some(before) = self.out.strip_suffix("(?),(?)") {
            let kept = before.len() + "(?)".len();
            self.out.truncate(kept);
        }
    }

    fn quoted<'a>(&mut self, text: &'a str, quote: char, value: bool) -> &'a str {
        let inner = &text[1..];
        let mut end = inner.len();
        let mut chars = inner.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\\' && value && self.engine == Engine::Mysql {
                chars.next();
            } else if c == quote {
                if chars.peek().is_some_and(|&(_, next)| next == quote) {
                    chars.next();
                } else {
                    end = at;
                    break;
                }
            }
        }
        let name = inner.get(..end).unwrap_or(inner);
        if value {
            self.placeholder();
        } else {
            self.plain(name);
        }
        inner.get(end + 1..).unwrap_or("")
    }

    /// A user variable: performance_schema does not tell which.
    fn variable<'a>(&mut self, text: &'a str) -> &'a str {
        self.out.push_str("@?");
        let rest = text[1..].trim_start();
        match rest.chars().next() {
            Some(quote @ ('`' | '\'' | '"')) => rest[1..].find(quote).and_then(|end| rest.get(end + 2..)).unwrap_or(""),
            Some('?') => &rest[1..],
            _ => rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.')),
        }
    }

    fn word<'a>(&mut self, text: &'a str) -> &'a str {
        let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let lower = word.to_lowercase();
        // Strings with a letter before them: E'…', N'…', x'…'.
        if rest.starts_with('\'') && matches!(lower.as_str(), "e" | "n" | "b" | "x" | "u") {
            return rest;
        }
        self.words += 1;
        if self.words == 1 {
            self.set = lower == "set";
        }
        match lower.as_str() {
            "null" | "true" | "false" if !self.out.ends_with("is") && !self.out.ends_with("not") => self.placeholder(),
            "to" if self.set => {
                self.value = true;
                self.out.push('=');
            }
            _ if self.value => self.placeholder(),
            _ => self.plain(&lower),
        }
        rest
    }

    fn plain(&mut self, name: &str) {
        if self.out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '?')) {
            self.out.push(' ');
        }
        match self.engine {
            Engine::Mysql => self.out.push_str(&name.to_lowercase()),
            Engine::Postgresql => self.out.push_str(name),
        }
    }
}
