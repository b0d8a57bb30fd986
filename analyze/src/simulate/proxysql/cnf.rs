//! `proxysql.cnf`, in the syntax of libconfig.
//!
//! Settings `name = value` or `name: value`, ended by `;`, `,` or nothing; values are numbers, true and false, strings (adjacent ones are one),
//! groups `{}`, lists `()` and arrays `[]`; comments begin with `#` or `//`, or stand between `/*` and `*/`.

use std::path::Path;

use super::row::Row;
use crate::simulate::Error;

/// A value with its line.
enum Value {
    Scalar(String),
    Group(Vec<(String, usize, Value)>),
    List(Vec<(usize, Value)>),
}

/// Deeper nesting is a mistake.
const DEEPEST: usize = 16;

/// Reads all rows: groups in lists are rows of the table that the list is named after, and `mysql_variables` is a table of its own.
pub fn read(path: &Path, text: &str) -> Result<Vec<Row>, Error> {
    let mut parser = Parser { path, text: text.as_bytes(), at: 0, line: 1 };
    let settings = parser.settings(None, 0)?;
    let mut rows = Vec::new();
    for (name, line, value) in settings {
        match value {
            Value::List(list) => {
                for (line, value) in list {
                    let Value::Group(group) = value else {
                        return Err(Error::rules(path, line, format!("{name}: not a group of settings in braces")));
                    };
                    rows.push(Row::new(path, &name, line, cells(path, &name, group)?));
                }
            }
            Value::Group(group) if name.ends_with("_variables") => {
                let prefix = name.trim_end_matches("_variables");
                for (variable, line, value) in group {
                    let Value::Scalar(value) = value else { continue };
                    let cells = vec![
                        ("variable_name".into(), Some(format!("{prefix}-{variable}"))),
                        ("variable_value".into(), Some(value)),
                    ];
                    rows.push(Row::new(path, "global_variables", line, cells));
                }
            }
            // datadir, errorlog and the like.
            Value::Scalar(_) => {}
            Value::Group(_) => {
                return Err(Error::rules(
                    path,
                    line,
                    format!("{name}: a list of groups is expected here: ( {{ ... }} )"),
                ));
            }
        }
    }
    Ok(rows)
}

type Cells = Vec<(String, Option<String>)>;

fn cells(path: &Path, table: &str, group: Vec<(String, usize, Value)>) -> Result<Cells, Error> {
    let mut cells = Cells::with_capacity(group.len());
    for (column, line, value) in group {
        match value {
            Value::Scalar(value) => cells.push((column, Some(value))),
            _ => return Err(Error::rules(path, line, format!("{table}: {column}: one value is expected here"))),
        }
    }
    // The configuration file has names of its own for some columns.
    for (column, _) in &mut cells {
        let name = match (table, column.as_str()) {
            ("mysql_servers", "address" | "host") => "hostname",
            ("mysql_servers", "hostgroup") => "hostgroup_id",
            _ => continue,
        };
        *column = name.to_owned();
    }
    // There a rule or user is active unless it says otherwise.
    if matches!(table, "mysql_query_rules" | "mysql_users") && !cells.iter().any(|(column, _)| column == "active") {
        cells.push(("active".into(), Some("1".into())));
    }
    Ok(cells)
}

struct Parser<'a> {
    path: &'a Path,
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Parser<'_> {
    fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::rules(self.path, self.line, problem)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn starts(&self, part: &[u8]) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(part))
    }

    /// Passes over white space and comments.
    fn space(&mut self) -> Result<(), Error> {
        loop {
            match self.peek() {
                Some(byte) if byte.is_ascii_whitespace() => drop(self.next()),
                Some(b'#') => self.rest_of_line(),
                Some(b'/') if self.starts(b"//") => self.rest_of_line(),
                Some(b'/') if self.starts(b"/*") => {
                    let begun = self.line;
                    while !self.starts(b"*/") {
                        if self.next().is_none() {
                            return Err(Error::rules(self.path, begun, "a comment begins here and never ends"));
                        }
                    }
                    self.next();
                    self.next();
                }
                Some(b'@') if self.starts(b"@include") => {
                    return Err(self.wrong("@include is not followed: give the included file as --rules too"));
                }
                _ => return Ok(()),
            }
        }
    }

    fn rest_of_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.next();
        }
    }

    /// Settings up to a closing mark, or the end of the file.
    fn settings(&mut self, close: Option<u8>, depth: usize) -> Result<Vec<(String, usize, Value)>, Error> {
        let mut settings = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                None if close.is_none() => return Ok(settings),
                None => return Err(self.wrong("the file ends within a group: a `}` is missing")),
                Some(byte) if Some(byte) == close => {
                    self.next();
                    return Ok(settings);
                }
                Some(b';' | b',') => drop(self.next()),
                Some(_) => {
                    let line = self.line;
                    let name = self.name()?;
                    self.space()?;
                    if !matches!(self.peek(), Some(b'=' | b':')) {
                        return Err(self.wrong(format!("`{name}`: `=` is expected behind a setting's name")));
                    }
                    self.next();
                    let value = self.value(depth)?;
                    settings.push((name.to_ascii_lowercase(), line, value));
                }
            }
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*')) {
            self.next();
        }
        let name = self.text.get(begin..self.at).unwrap_or_default();
        if name.is_empty() {
            let found = self.peek().map_or("the end".to_owned(), |byte| format!("`{}`", byte as char));
            return Err(self.wrong(format!("a setting's name is expected here, and {found} was found")));
        }
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > DEEPEST {
            return Err(self.wrong("nested too deeply"));
        }
        self.space()?;
        match self.peek() {
            Some(b'{') => {
                self.next();
                Ok(Value::Group(self.settings(Some(b'}'), depth + 1)?))
            }
            Some(open @ (b'(' | b'[')) => {
                self.next();
                self.list(if open == b'(' { b')' } else { b']' }, depth + 1)
            }
            Some(b'"') => self.string().map(Value::Scalar),
            _ => {
                let begin = self.at;
                while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'))
                {
                    self.next();
                }
                let word = String::from_utf8_lossy(self.text.get(begin..self.at).unwrap_or_default()).into_owned();
                self.scalar(&word).map(Value::Scalar)
            }
        }
    }

    fn list(&mut self, close: u8, depth: usize) -> Result<Value, Error> {
        let mut list = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                None => {
                    return Err(self.wrong(format!("the file ends within a list: a `{}` is missing", close as char)));
                }
                Some(byte) if byte == close => {
                    self.next();
                    return Ok(Value::List(list));
                }
                Some(b',') => drop(self.next()),
                Some(_) => {
                    let line = self.line;
                    list.push((line, self.value(depth)?));
                }
            }
        }
    }

    /// Numbers as decimals, true and false as 1 and 0.
    fn scalar(&self, word: &str) -> Result<String, Error> {
        let number = word.trim_end_matches(['L', 'l']);
        if let Some(digits) = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X")) {
            return match u64::from_str_radix(digits, 16) {
                Ok(number) => Ok(number.to_string()),
                Err(_) => Err(self.wrong(format!("`{word}` is no number"))),
            };
        }
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok("1".into()),
            "false" => Ok("0".into()),
            "" => Err(self.wrong("a value is expected here")),
            _ if number.parse::<f64>().is_ok() => Ok(number.to_owned()),
            _ => Err(self.wrong(format!("`{word}` is no value; put texts in double quotes"))),
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        let begun = self.line;
        let mut out = Vec::new();
        loop {
            self.next();
            loop {
                match self.next() {
                    None => return Err(Error::rules(self.path, begun, "a string begins here and never ends")),
                    Some(b'"') => break,
                    Some(b'\\') => match self.next() {
                        Some(b'n') => out.push(b'\n'),
                        Some(b't') => out.push(b'\t'),
                        Some(b'r') => out.push(b'\r'),
                        Some(b'f') => out.push(0x0c),
                        Some(b'x') => {
                            let digits = self.text.get(self.at..self.at + 2).unwrap_or_default();
                            let byte =
                                std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
                            out.push(byte.ok_or_else(|| self.wrong("two hexadecimal digits are expected behind \\x"))?);
                            self.at += 2;
                        }
                        Some(byte @ (b'"' | b'\\')) => out.push(byte),
                        // libconfig keeps the backslash of what is no escape, such as `\s`.
                        Some(other) => out.extend([b'\\', other]),
                        None => {}
                    },
                    Some(byte) => out.push(byte),
                }
            }
            // Adjacent strings are one.
            self.space()?;
            if self.peek() != Some(b'"') {
                return Ok(String::from_utf8_lossy(&out).into_owned());
            }
        }
    }
}
