//! The entries of an export.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Engine;
use xxhash_rust::xxh3::xxh3_128;

use super::table::{self, Row, Table};
use super::{Error, Kind};

/// One statement as a server or router counted it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its text without literals; `None` where the view hides it or gave up telling statements apart.
    pub text: Option<String>,
    /// How often it ran.
    pub calls: u64,
    /// How long it ran in all, milliseconds.
    pub time_ms: f64,
    /// ProxySQL: the hostgroup that served it.
    pub hostgroup: Option<i64>,
    /// True where the text's end is missing.
    pub cut: bool,
    /// The line of the file; of JSON, the number of the object.
    pub line: u64,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Which view it is of.
    pub kind: Kind,
    /// Its rows.
    pub rows: u64,
    /// Rows left out because their statements ran inside a function, whose caller is counted.
    pub nested: u64,
}

/// One or more exports of the same engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Census {
    /// The files.
    pub sources: Vec<Source>,
    /// Their entries, in their order, each with the number of its file.
    pub entries: Vec<(usize, Entry)>,
}

/// ProxySQL cuts digest texts at this length (`mysql-query_digests_max_digest_length`), without a mark.
const PROXYSQL_LENGTH: usize = 2048;

/// What PostgreSQL shows to users without the right to see others' statements.
const HIDDEN: &str = "<insufficient privilege>";

impl Census {
    /// Reads files.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut census = Census { sources: Vec::new(), entries: Vec::new() };
        let mut seen: HashMap<u128, &PathBuf> = HashMap::new();
        for path in paths {
            let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
            if let Some(first) = seen.insert(xxh3_128(&bytes), path) {
                return Err(Error::Twice { first: first.clone(), second: path.clone() });
            }
            census.add(path, &bytes)?;
        }
        Ok(census)
    }

    /// The engine of the first file.
    pub fn engine(&self) -> Option<Engine> {
        self.sources.first().map(|source| source.kind.engine())
    }

    /// Says which file is of another engine than `engine`, which `other` holds.
    pub fn must_be(&self, engine: Engine, other: &Path) -> Result<(), Error> {
        match self.sources.iter().find(|source| source.kind.engine() != engine) {
            Some(source) => Err(Error::Engine {
                path: source.path.clone(),
                kind: source.kind.as_str(),
                other: other.display().to_string(),
                engine: engine.as_str(),
            }),
            None => Ok(()),
        }
    }

    /// Adds the bytes of a file.
    pub(super) fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let table = table::read(path, bytes)?;
        let kind = kind(path, &table)?;
        if let (Some(engine), Some(first)) = (self.engine(), self.sources.first())
            && engine != kind.engine()
        {
            return Err(Error::Engine {
                path: path.to_owned(),
                kind: kind.as_str(),
                other: first.path.display().to_string(),
                engine: engine.as_str(),
            });
        }
        let number = self.sources.len();
        let reader = Reader::new(path, kind, &table);
        let mut keys: HashMap<Vec<&str>, u64> = HashMap::new();
        let mut nested = 0;
        for row in &table.rows {
            if let Some(key) = reader.key(row)
                && let Some(first) = keys.insert(key, row.line)
            {
                return Err(Error::Row {
                    path: path.to_owned(),
                    line: row.line,
                    what: format!("is the same statement of the same user and database as line {first}"),
                    remedy: "the counters of two moments do not add up: keep one export of each server",
                });
            }
            match reader.entry(row)? {
                Some(entry) => self.entries.push((number, entry)),
                None => nested += 1,
            }
        }
        self.sources.push(Source { path: path.to_owned(), kind, rows: table.rows.len() as u64, nested });
        Ok(())
    }
}

fn position(table: &Table, names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| table.columns.iter().position(|column| column == name))
}

/// The view whose columns a table has.
fn kind(path: &Path, table: &Table) -> Result<Kind, Error> {
    let mut missing = Vec::new();
    for &kind in Kind::ALL {
        let columns = kind.columns();
        let needed = [columns.text, columns.calls, columns.time];
        let lacks: Vec<&str> =
            needed.into_iter().filter(|names| position(table, names).is_none()).map(|names| names[0]).collect();
        if lacks.is_empty() {
            return Ok(kind);
        }
        missing.push((lacks.len(), kind, lacks));
    }
    missing.sort_by_key(|(count, _, _)| *count);
    let missing = match missing.first() {
        Some((1 | 2, kind, lacks)) => format!("{} of {} is missing", lacks.join(" and "), kind.as_str()),
        _ => "the first line must name the columns".to_owned(),
    };
    let found: Vec<&str> = table.columns.iter().take(6).map(String::as_str).collect();
    let more = if table.columns.len() > found.len() { ", …" } else { "" };
    Err(Error::Columns { path: path.to_owned(), found: format!("{}{more}", found.join(", ")), missing })
}

struct Reader<'a> {
    path: &'a Path,
    kind: Kind,
    columns: &'a [String],
    text: usize,
    calls: usize,
    time: usize,
    key: Option<Vec<usize>>,
    top: Option<usize>,
    hostgroup: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, kind: Kind, table: &'a Table) -> Self {
        let columns = kind.columns();
        let at = |names: &[&str]| position(table, names).unwrap_or(usize::MAX);
        // toplevel came with version 14, client_address with ProxySQL 2.0: where they are not there, they name nothing.
        let optional = ["toplevel", "client_address"];
        let key = columns.key.iter().filter(|&&name| !optional.contains(&name) || position(table, &[name]).is_some());
        Reader {
            path,
            kind,
            columns: &table.columns,
            text: at(columns.text),
            calls: at(columns.calls),
            time: at(columns.time),
            key: key.map(|&name| position(table, &[name])).collect(),
            top: columns.top.and_then(|name| position(table, &[name])),
            hostgroup: columns.hostgroup.and_then(|name| position(table, &[name])),
        }
    }

    /// What names the row, where the export has all of it. Rows whose statement the view hides have the same name.
    fn key<'r>(&self, row: &'r Row) -> Option<Vec<&'r str>> {
        let known = row.values.get(self.text)?.as_deref()?;
        let key = self.key.as_ref()?.iter().map(|&at| row.values.get(at).and_then(Option::as_deref).unwrap_or(""));
        (known != HIDDEN).then(|| key.collect())
    }

    fn wrong(&self, row: &Row, at: usize, what: String, remedy: &'static str) -> Error {
        let column = self.columns.get(at).cloned().unwrap_or_default();
        Error::Value { path: self.path.to_owned(), line: row.line, column, what, remedy }
    }

    fn number(&self, row: &Row, at: usize) -> Result<f64, Error> {
        let remedy = "export the view as it is, without formatting its numbers";
        let value = row.values.get(at).and_then(Option::as_deref);
        let value = value.ok_or_else(|| self.wrong(row, at, "is NULL or empty".into(), remedy))?;
        match value.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            Ok(_) => Err(self.wrong(row, at, format!("is {value:?}, and nothing runs so often or so long"), remedy)),
            Err(_) => Err(self.wrong(row, at, format!("is {value:?}, not a number"), remedy)),
        }
    }

    /// The entry of a row; `None` for a statement inside a function.
    fn entry(&self, row: &Row) -> Result<Option<Entry>, Error> {
        let value = |at: usize| row.values.get(at).and_then(Option::as_deref);
        let calls = self.number(row, self.calls)?;
        if calls.fract() != 0.0 {
            let remedy = "export the counter itself, not a rate";
            return Err(self.wrong(row, self.calls, format!("is {calls}, not a whole number"), remedy));
        }
        let time_ms = self.number(row, self.time)? / self.kind.columns().per_ms;
        let hostgroup = match self.hostgroup.and_then(|at| Some((at, value(at)?))) {
            Some((at, text)) => match text.trim().parse() {
                Ok(number) => Some(number),
                Err(_) => {
                    let what = format!("is {text:?}, not the number of a hostgroup");
                    return Err(self.wrong(row, at, what, "export the view as it is"));
                }
            },
            None => None,
        };
        if let Some(word) = self.top.and_then(value)
            && matches!(word, "f" | "false" | "FALSE" | "0")
        {
            return Ok(None);
        }
        let text = value(self.text).map(str::trim).filter(|&text| !text.is_empty() && text != HIDDEN);
        let cut = text.is_some_and(|text| self.is_cut(text));
        let text = text.map(|text| text.strip_suffix("...").filter(|_| cut).unwrap_or(text).to_owned());
        Ok(Some(Entry { text, calls: calls as u64, time_ms, hostgroup, cut, line: row.line }))
    }

    /// Whether the end of a text is missing. Three dots that stand for a list follow a comma or a parenthesis.
    fn is_cut(&self, text: &str) -> bool {
        match self.kind {
            Kind::PgStatStatements => false,
            Kind::PerformanceSchema => text
                .strip_suffix("...")
                .is_some_and(|before| !before.trim_end().ends_with(',') && !before.trim_end().ends_with('(')),
            Kind::ProxySql => text.len() + 1 >= PROXYSQL_LENGTH,
        }
    }
}
