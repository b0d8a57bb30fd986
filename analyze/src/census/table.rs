//! Rows of an export, whatever its form.

use std::path::Path;

use serde_json::{Map, Value};

use super::Error;

/// One row: its values in the order of the columns; `None` is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Where it begins: a line, or of JSON the number of the object.
    pub line: u64,
    pub values: Vec<Option<String>>,
}

/// An export as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Names of the columns, in lower case.
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

const AS_CSV: &str = "export it as CSV: psql --csv -c 'SELECT * FROM pg_stat_statements', or as the text that the mysql client \
                      writes with --batch, or as JSON";

/// Reads the bytes of a file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Table, Error> {
    let form = |what: String, remedy| Error::Form { path: path.to_owned(), what, remedy };
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
        return Err(form("is encoded in UTF-16".into(), "write it as UTF-8: iconv -f UTF-16 -t UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|&&byte| byte == b'\n').count() + 1;
        form(
            format!("line {line} is not UTF-8"),
            "export it with a client encoding of UTF-8 (PGCLIENTENCODING=UTF8, --default-character-set=utf8mb4), or convert \
             it with iconv",
        )
    })?;
    let text = text.trim_start_matches(['\n', '\r']);
    let first = text.lines().next().unwrap_or("");
    if text.trim().is_empty() {
        return Err(form("is empty".into(), "export the view again"));
    }
    if text.trim_start().starts_with(['[', '{']) {
        return json(path, text);
    }
    if first.starts_with("+--") {
        return Err(form("is a table drawn with lines, in which texts are not quoted".into(), AS_CSV));
    }
    if first.starts_with("***") || first.starts_with("-[ RECORD") {
        return Err(form("is in vertical form (\\G, \\x)".into(), AS_CSV));
    }
    if first.starts_with('<') {
        return Err(form("is XML or HTML".into(), AS_CSV));
    }
    if first.contains(" | ") {
        return Err(form("is psql's aligned output, in which texts are not quoted".into(), AS_CSV));
    }
    if first.contains('\t') {
        return separated(path, text, b'\t');
    }
    let semicolons = first.contains(';') && !first.contains(',');
    separated(path, text, if semicolons { b';' } else { b',' })
}

/// CSV, or the text of the mysql client and of COPY, which quotes nothing and escapes with backslashes.
fn separated(path: &Path, text: &str, delimiter: u8) -> Result<Table, Error> {
    let tabs = delimiter == b'\t';
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).quoting(!tabs).from_reader(text.as_bytes());
    let wrong = |line, what, remedy| Error::Row { path: path.to_owned(), line, what, remedy };
    let names = reader.headers().map_err(|error| wrong(1, error.to_string(), AS_CSV))?.clone();
    let columns: Vec<String> = names.iter().map(|name| name.trim().to_lowercase()).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| match error.kind() {
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => wrong(
                pos.as_ref().map_or(0, csv::Position::line),
                format!("has {len} values, and the header names {expected_len} columns"),
                "a text with a line break or a separator was not quoted or escaped, or the file is cut off: use psql --csv, or \
                 the mysql client with --batch and without --raw",
            ),
            _ => wrong(error.position().map_or(0, csv::Position::line), error.to_string(), AS_CSV),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = |value: &str| match value {
            "NULL" | "\\N" => None,
            "" if !tabs => None,
            _ if tabs => Some(unescaped(value)),
            _ => Some(value.to_owned()),
        };
        rows.push(Row { line, values: record.iter().map(value).collect() });
    }
    Ok(Table { columns, rows })
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('0')) => out.push('\0'),
            ('\\', Some(other)) => out.push(other),
            _ => out.push(c),
        }
    }
    out
}

/// An array of objects, or objects one after another.
fn json(path: &Path, text: &str) -> Result<Table, Error> {
    let wrong = |line, what, remedy| Error::Row { path: path.to_owned(), line, what, remedy };
    let whole = "write an array of objects, or an object for each row, with the columns as names";
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value.map_err(|error| {
            let what = format!("column {}: is not JSON ({})", error.column(), reason(&error));
            wrong(error.line() as u64, what, "the file is cut off, or holds more than the rows; export it again")
        })?;
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            match value {
                Value::Object(object) => objects.push(object),
                other => {
                    let what = format!("is {}, not an object", json_kind(&other));
                    return Err(wrong(objects.len() as u64 + 1, what, whole));
                }
            }
        }
    }
    let mut columns: Vec<String> = Vec::new();
    for name in objects.iter().flat_map(Map::keys) {
        let name = name.to_lowercase();
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let mut rows = Vec::new();
    for (at, object) in objects.into_iter().enumerate() {
        let line = at as u64 + 1;
        let mut values = vec![None; columns.len()];
        for (name, value) in object {
            let lower = name.to_lowercase();
            let value = match value {
                Value::Null => continue,
                Value::String(text) => text,
                Value::Bool(flag) => if flag { "t" } else { "f" }.to_owned(),
                Value::Number(number) => number.to_string(),
                nested => {
                    let what = format!("is {}", json_kind(&nested));
                    return Err(Error::Value { path: path.to_owned(), line, column: name, what, remedy: whole });
                }
            };
            if let Some(at) = columns.iter().position(|column| *column == lower) {
                values[at] = Some(value);
            }
        }
        rows.push(Row { line, values });
    }
    Ok(Table { columns, rows })
}

/// What the JSON reader says, without the place.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
