//! SQL: what a dump of ProxySQL's tables or a script for its admin interface holds.
//!
//! INSERT and REPLACE with VALUES, with or without a list of columns; DELETE of a whole table; SET and UPDATE of variables. Definitions, LOAD,
//! SAVE, PRAGMA and transactions are passed over. Everything else is refused, because it may change rules.

use std::path::Path;

use super::row::Row;
use crate::simulate::Error;

/// The columns of `mysql_query_rules` from version 2.1 on, in their order.
const RULES: &[&str] = &[
    "rule_id",
    "active",
    "username",
    "schemaname",
    "flagIN",
    "client_addr",
    "proxy_addr",
    "proxy_port",
    "digest",
    "match_digest",
    "match_pattern",
    "negate_match_pattern",
    "re_modifiers",
    "flagOUT",
    "replace_pattern",
    "destination_hostgroup",
    "cache_ttl",
    "cache_empty_result",
    "cache_timeout",
    "reconnect",
    "timeout",
    "retries",
    "delay",
    "next_query_flagIN",
    "mirror_flagOUT",
    "mirror_hostgroup",
    "error_msg",
    "OK_msg",
    "sticky_conn",
    "multiplex",
    "gtid_from_hostgroup",
    "log",
    "apply",
    "attributes",
    "comment",
];
const FAST: &[&str] = &["username", "schemaname", "flagIN", "destination_hostgroup", "comment"];
const SERVERS: &[&str] = &[
    "hostgroup_id",
    "hostname",
    "port",
    "gtid_port",
    "status",
    "weight",
    "compression",
    "max_connections",
    "max_replication_lag",
    "use_ssl",
    "max_latency_ms",
    "comment",
];
const USERS: &[&str] = &[
    "username",
    "password",
    "active",
    "use_ssl",
    "default_hostgroup",
    "default_schema",
    "schema_locked",
    "transaction_persistent",
    "fast_forward",
    "backend",
    "frontend",
    "max_connections",
    "attributes",
    "comment",
];
const REPLICATION: &[&str] = &["writer_hostgroup", "reader_hostgroup", "check_type", "comment"];

/// Whether a text looks like SQL.
pub fn is_dump(text: &str) -> bool {
    const VERBS: [&str; 14] = [
        "insert", "replace", "delete", "update", "create", "drop", "set", "load", "save", "pragma", "begin", "--",
        "/*", "commit",
    ];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_ascii_lowercase();
    let sql = VERBS.iter().any(|verb| first.starts_with(verb));
    // A configuration file may begin with such a comment as well.
    sql && (!first.starts_with("/*")
        || text.to_ascii_lowercase().contains("insert into")
        || text.to_ascii_lowercase().contains("replace into"))
}

/// Reads all rows that the statements leave.
pub fn read(path: &Path, text: &str) -> Result<Vec<Row>, Error> {
    let mut rows: Vec<Row> = Vec::new();
    let mut tokens = Tokens { path, text: text.as_bytes(), at: 0, line: 1 };
    while let Some(statement) = tokens.statement()? {
        let words: Vec<String> = statement.iter().take(4).map(|token| token.text.to_ascii_lowercase()).collect();
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let line = statement.first().map_or(1, |token| token.line);
        let wrong = |problem: &str| Err(Error::rules(path, line, problem));
        match (word(0), word(1)) {
            ("insert" | "replace", _) => insert(path, &statement, &mut rows)?,
            ("delete", "from") => {
                let table = Row::new(path, word(2), line, Vec::new()).table;
                if statement.len() > 3
                    && !(word(3) == "where" && statement.len() == 7 && statement[4].text == statement[6].text)
                {
                    return wrong("a DELETE with conditions is not carried out: export the rows as they are now");
                }
                rows.retain(|row| row.table != table);
            }
            ("set", _) if statement.len() == 4 && word(2) == "=" => {
                rows.push(variable(path, line, word(1), &statement[3].text));
            }
            ("update", "global_variables") => {
                let texts: Vec<&str> = statement.iter().map(|token| token.text.as_str()).collect();
                match texts.as_slice() {
                    [_, _, set, column, "=", value, condition, name, "=", variable_name]
                        if set.eq_ignore_ascii_case("set")
                            && column.eq_ignore_ascii_case("variable_value")
                            && condition.eq_ignore_ascii_case("where")
                            && name.eq_ignore_ascii_case("variable_name") =>
                    {
                        rows.push(variable(path, line, variable_name, value));
                    }
                    _ => return wrong("this UPDATE is not understood: export the variables as they are now"),
                }
            }
            ("create" | "drop" | "load" | "save" | "pragma" | "begin" | "commit" | "select" | "use" | "show", _) => {}
            (other, _) => {
                return wrong(&format!(
                    "{} is not carried out: export the rows as they are now",
                    other.to_ascii_uppercase()
                ));
            }
        }
    }
    Ok(rows)
}

fn variable(path: &Path, line: usize, name: &str, value: &str) -> Row {
    let cells =
        vec![("variable_name".into(), Some(name.to_owned())), ("variable_value".into(), Some(value.to_owned()))];
    Row::new(path, "global_variables", line, cells)
}

fn insert(path: &Path, statement: &[Token], rows: &mut Vec<Row>) -> Result<(), Error> {
    let mut tokens = statement.iter().peekable();
    let line = statement.first().map_or(1, |token| token.line);
    let wrong = |line: usize, problem: String| Error::rules(path, line, problem);
    let is = |token: &Token, word: &str| !token.quoted && token.text.eq_ignore_ascii_case(word);
    let table = loop {
        match tokens.next() {
            Some(token) if is(token, "into") => match tokens.next() {
                Some(token) => break token.text.clone(),
                None => return Err(wrong(line, "the name of a table is missing".into())),
            },
            Some(token) if ["insert", "replace", "or", "ignore"].iter().any(|word| is(token, word)) => {}
            _ => return Err(wrong(line, "INTO and the name of a table are expected".into())),
        }
    };
    let name = Row::new(path, &table, line, Vec::new()).table;
    let mut columns: Vec<String> = Vec::new();
    if tokens.next_if(|token| is(token, "(")).is_some() {
        for token in tokens.by_ref() {
            match token.text.as_str() {
                ")" if !token.quoted => break,
                "," if !token.quoted => {}
                column => columns.push(column.to_owned()),
            }
        }
    } else {
        let known = match name.as_str() {
            "mysql_query_rules" => RULES,
            "mysql_query_rules_fast_routing" => FAST,
            "mysql_servers" => SERVERS,
            "mysql_users" => USERS,
            "mysql_replication_hostgroups" => REPLICATION,
            "global_variables" => &["variable_name", "variable_value"],
            _ => &[],
        };
        columns = known.iter().map(|column| (*column).to_owned()).collect();
    }
    if !tokens.next().is_some_and(|token| is(token, "values")) {
        return Err(wrong(line, format!("{name}: only INSERT with VALUES is understood")));
    }
    while let Some(open) = tokens.next() {
        if is(open, ",") {
            continue;
        }
        if !is(open, "(") {
            return Err(wrong(
                open.line,
                format!("{name}: a row in parentheses is expected, and `{}` was found", open.text),
            ));
        }
        let mut values = Vec::new();
        let mut negative = false;
        loop {
            match tokens.next() {
                None => return Err(wrong(open.line, format!("{name}: a row begins here and never ends"))),
                Some(token) if is(token, ")") => break,
                Some(token) if is(token, ",") => {}
                Some(token) if is(token, "-") => negative = true,
                Some(token) if is(token, "null") => values.push(None),
                Some(token) => {
                    let sign = if std::mem::take(&mut negative) { "-" } else { "" };
                    values.push(Some(format!("{sign}{}", token.text)));
                }
            }
        }
        if columns.is_empty() {
            // A table that is not known here; what it is gets listed.
            rows.push(Row::new(path, &table, open.line, vec![("?".into(), None)]));
            continue;
        }
        if values.len() != columns.len() {
            let hint = "give the columns in the INSERT, since versions of ProxySQL differ in them";
            let problem = format!("{name}: {} values for {} columns; {hint}", values.len(), columns.len());
            return Err(wrong(open.line, problem));
        }
        rows.push(Row::new(path, &table, open.line, columns.iter().cloned().zip(values).collect()));
    }
    Ok(())
}

struct Token {
    text: String,
    quoted: bool,
    line: usize,
}

struct Tokens<'a> {
    path: &'a Path,
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Tokens<'_> {
    /// The tokens of the next statement that has some.
    fn statement(&mut self) -> Result<Option<Vec<Token>>, Error> {
        let mut tokens = Vec::new();
        while let Some(token) = self.token()? {
            if token.text == ";" && !token.quoted {
                if !tokens.is_empty() {
                    return Ok(Some(tokens));
                }
                continue;
            }
            tokens.push(token);
        }
        Ok((!tokens.is_empty()).then_some(tokens))
    }

    fn token(&mut self) -> Result<Option<Token>, Error> {
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(&byte) = rest.first() else { return Ok(None) };
            if byte == b'\n' {
                self.line += 1;
                self.at += 1;
            } else if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if rest.starts_with(b"--") || byte == b'#' {
                self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") {
                let end = rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 2);
                self.line += rest.iter().take(end).filter(|&&byte| byte == b'\n').count();
                self.at += end;
            } else {
                break;
            }
        }
        let line = self.line;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(&first) = rest.first() else { return Ok(None) };
        if matches!(first, b'\'' | b'"' | b'`') {
            let mut out = Vec::new();
            let mut at = 1;
            loop {
                match (rest.get(at), rest.get(at + 1)) {
                    (None, _) => return Err(Error::rules(self.path, line, "a string begins here and never ends")),
                    (Some(&byte), Some(&next)) if byte == first && next == first => {
                        out.push(byte);
                        at += 2;
                    }
                    (Some(&byte), _) if byte == first => break,
                    (Some(&byte), _) => {
                        self.line += usize::from(byte == b'\n');
                        out.push(byte);
                        at += 1;
                    }
                }
            }
            self.at += at + 1;
            return Ok(Some(Token { text: String::from_utf8_lossy(&out).into_owned(), quoted: true, line }));
        }
        let word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'$') || !byte.is_ascii();
        let length = if first == b'-' || !word(&first) { 1 } else { rest.iter().take_while(|byte| word(byte)).count() };
        let text = String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned();
        self.at += length;
        Ok(Some(Token { text, quoted: false, line }))
    }
}
