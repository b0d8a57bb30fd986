//! Rows from the files that people export.
//!
//! - JSON: an array of rows, one row per line, or an object of tables with an array each
//! - CSV and TSV, with a header line; the columns tell the table
//! - `proxysql.cnf`: see `cnf`
//! - SQL: see `dump`

use std::path::Path;

use serde_json::Value;

use super::row::Row;
use super::{cnf, dump};
use crate::simulate::Error;

/// No rule file is larger.
const LARGEST: u64 = 256 << 20;

/// Reads all rows of a file.
pub fn read(path: &Path) -> Result<Vec<Row>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > LARGEST {
        return Err(Error::file(path, format!("{size} bytes are too many for a rule file: export the rules alone")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Error::file(path, "it is not UTF-8 text: export the rules as text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let start = text.trim_start();
    let rows = match start.as_bytes().first() {
        None => return Err(Error::file(path, "it is empty: export mysql_query_rules into it")),
        Some(b'[' | b'{') => json(path, text)?,
        _ if dump::is_dump(start) => dump::read(path, text)?,
        _ if is_table(start) => table(path, text)?,
        _ => cnf::read(path, text)?,
    };
    if rows.is_empty() {
        return Err(Error::file(path, "it holds no row of a table: export mysql_query_rules into it"));
    }
    Ok(rows)
}

/// Whether the first line is a header of known columns.
fn is_table(text: &str) -> bool {
    let header = text.lines().next().unwrap_or_default().to_ascii_lowercase();
    let columns: Vec<&str> =
        header.split([',', '\t', ';', '|']).map(|column| column.trim().trim_matches('"')).collect();
    table_of(&columns).is_some()
}

/// The table that has these columns.
fn table_of(columns: &[&str]) -> Option<&'static str> {
    let has = |name: &str| columns.contains(&name);
    if has("rule_id") {
        Some("mysql_query_rules")
    } else if has("flagin") && has("destination_hostgroup") {
        Some("mysql_query_rules_fast_routing")
    } else if has("writer_hostgroup") && has("reader_hostgroup") {
        Some("mysql_replication_hostgroups")
    } else if has("hostgroup_id") && has("hostname") {
        Some("mysql_servers")
    } else if has("username") && has("default_hostgroup") {
        Some("mysql_users")
    } else if has("variable_name") && has("variable_value") {
        Some("global_variables")
    } else {
        None
    }
}

fn table(path: &Path, text: &str) -> Result<Vec<Row>, Error> {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = [b'\t', b',', b';', b'|'].into_iter().max_by_key(|&d| header.bytes().filter(|&c| c == d).count());
    let tabs = delimiter == Some(b'\t');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        // `mysql -B` writes no quotes, and escapes what would break a line.
        .quoting(!tabs)
        .flexible(false)
        .from_reader(text.trim_start().as_bytes());
    let failed = |error: csv::Error| {
        let line = error.position().map_or(1, |position| position.line() as usize);
        Error::rules(path, line, format!("not a table: {error}"))
    };
    let columns: Vec<String> =
        reader.headers().map_err(failed)?.iter().map(|column| column.trim().to_ascii_lowercase()).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let table = table_of(&names).unwrap_or("mysql_query_rules");
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(0, |position| position.line() as usize);
        let value = |text: &str| match text {
            "NULL" | "\\N" => None,
            text if tabs => Some(unescaped(text)),
            text => Some(text.to_owned()),
        };
        let cells = columns.iter().cloned().zip(record.iter().map(value)).collect();
        rows.push(Row::new(path, table, line, cells));
    }
    Ok(rows)
}

/// Takes back the escapes of `mysql -B`.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, false) => out.push(character),
            _ => match characters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('0') => out.push('\0'),
                Some('\\') => out.push('\\'),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
        }
    }
    out
}

fn json(path: &Path, text: &str) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut begin = 0;
    while let Some(value) = values.next() {
        let value = value.map_err(|error| Error::rules(path, error.line(), format!("not JSON: {error}")))?;
        let here = text.get(begin..).map_or(0, |rest| rest.len() - rest.trim_start().len()) + begin;
        let (line, places) =
            (line_at(text, here), Places::of(text.get(here..values.byte_offset()).unwrap_or_default()));
        begin = values.byte_offset();
        match value {
            Value::Array(list) => append(path, None, list, line, &mut places.lines(), &mut rows)?,
            Value::Object(object) if object.values().any(|value| value.is_array()) => {
                let mut lines = places.lines();
                // The object itself is the first one.
                lines.next();
                for (table, value) in object {
                    match value {
                        Value::Array(list) => append(path, Some(&table), list, line, &mut lines, &mut rows)?,
                        _ => return Err(Error::rules(path, line, format!("{table}: not a list of rows"))),
                    }
                }
            }
            Value::Object(object) => {
                append(path, None, vec![Value::Object(object)], line, &mut places.lines(), &mut rows)?
            }
            _ => return Err(Error::rules(path, line, "neither a row nor a list of rows")),
        }
    }
    Ok(rows)
}

fn append(
    path: &Path,
    table: Option<&str>,
    list: Vec<Value>,
    first: usize,
    lines: &mut dyn Iterator<Item = usize>,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    for value in list {
        let line = first + lines.next().unwrap_or(0);
        let Value::Object(object) = value else { return Err(Error::rules(path, line, "not a row with named columns")) };
        let mut cells = Vec::with_capacity(object.len());
        for (column, value) in object {
            let value = match value {
                Value::Null => None,
                Value::String(text) => Some(text),
                Value::Bool(flag) => Some(u8::from(flag).to_string()),
                Value::Number(number) => Some(number.to_string()),
                // `attributes` may be written out.
                other => {
                    skip_objects(&other, lines);
                    Some(other.to_string())
                }
            };
            cells.push((column, value));
        }
        let columns: Vec<String> = cells.iter().map(|(column, _)| column.to_ascii_lowercase()).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let problem = "its columns are those of no table of ProxySQL that is known here";
        let table = table.or_else(|| table_of(&columns)).ok_or_else(|| Error::rules(path, line, problem))?;
        rows.push(Row::new(path, table, line, cells));
    }
    Ok(())
}

/// Passes over the lines of objects inside a value.
fn skip_objects(value: &Value, lines: &mut dyn Iterator<Item = usize>) {
    match value {
        Value::Object(object) => {
            lines.next();
            object.values().for_each(|value| skip_objects(value, lines));
        }
        Value::Array(list) => list.iter().for_each(|value| skip_objects(value, lines)),
        _ => {}
    }
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// On which lines of a JSON text its objects begin, counted from 0.
struct Places(Vec<usize>);

impl Places {
    fn of(text: &str) -> Self {
        let (mut line, mut quoted, mut escaped) = (0, false, false);
        let mut places = Vec::new();
        for byte in text.bytes() {
            match byte {
                b'\n' => line += 1,
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' if !quoted => places.push(line),
                _ => {}
            }
        }
        Places(places)
    }

    fn lines(&self) -> impl Iterator<Item = usize> + use<> {
        self.0.clone().into_iter()
    }
}
