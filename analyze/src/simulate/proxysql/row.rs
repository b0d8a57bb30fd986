//! Rows of ProxySQL's configuration tables, wherever they were written.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use crate::simulate::Error;

/// A row: columns by their names in lower case. NULL and empty are the same, as they are to ProxySQL's rules.
#[derive(Clone, Debug)]
pub struct Row {
    path: std::path::PathBuf,
    /// The table, in lower case without `runtime_`.
    pub table: String,
    /// Where it stands, from 1.
    pub line: usize,
    cells: Vec<(String, Option<String>)>,
    /// How errors name it.
    name: String,
    read: RefCell<BTreeSet<String>>,
}

impl Row {
    /// A row of a table.
    pub fn new(path: &Path, table: &str, line: usize, cells: Vec<(String, Option<String>)>) -> Self {
        let table = table.to_ascii_lowercase();
        let table = table.rsplit('.').next().unwrap_or_default();
        let table = table.strip_prefix("runtime_").unwrap_or(table).to_owned();
        let cells = cells.into_iter().map(|(column, value)| (column.trim().to_ascii_lowercase(), value)).collect();
        Row { path: path.to_owned(), name: table.clone(), table, line, cells, read: RefCell::default() }
    }

    /// The same row, named otherwise in errors.
    pub fn named(&self, name: &str) -> Row {
        Row { name: name.to_owned(), ..self.clone() }
    }

    /// A cell's text; `None` where it is NULL, empty, or not there.
    pub fn text(&self, column: &str) -> Option<&str> {
        self.read.borrow_mut().insert(column.to_owned());
        let (_, value) = self.cells.iter().rev().find(|(name, _)| name == column)?;
        value.as_deref().filter(|value| !value.is_empty())
    }

    /// A cell as it stands, so that an empty text differs from a column that is not there; NULL is empty.
    pub fn raw(&self, column: &str) -> Option<&str> {
        self.read.borrow_mut().insert(column.to_owned());
        let (_, value) = self.cells.iter().rev().find(|(name, _)| name == column)?;
        Some(value.as_deref().unwrap_or_default())
    }

    /// The same as a value of its own.
    pub fn owned(&self, column: &str) -> Option<String> {
        self.text(column).map(str::to_owned)
    }

    /// A number; negative ones mean that it is not set, as in older versions' tables.
    pub fn number<N: FromStr>(&self, column: &str) -> Result<Option<N>, Error> {
        let Some(text) = self.text(column).map(str::trim) else { return Ok(None) };
        if text.strip_prefix('-').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
        {
            return Ok(None);
        }
        let number = text.parse().map(Some);
        number.map_err(|_| self.wrong(format!("{column}: `{text}` is no number, or too large")))
    }

    /// A flag.
    pub fn flag(&self, column: &str) -> Result<Option<bool>, Error> {
        match self.text(column).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            None => Ok(None),
            Some("0" | "false") => Ok(Some(false)),
            Some("1" | "true") => Ok(Some(true)),
            Some(text) => Err(self.wrong(format!("{column}: `{text}` is no flag; use 0 or 1"))),
        }
    }

    /// Columns with a value that nobody has asked for.
    pub fn unread(&self) -> Vec<(&str, &str)> {
        let read = self.read.borrow();
        let set = self.cells.iter().filter_map(|(column, value)| Some((column.as_str(), value.as_deref()?)));
        set.filter(|(column, value)| !value.is_empty() && !read.contains(*column)).collect()
    }

    /// An error at this row.
    pub fn wrong(&self, problem: impl std::fmt::Display) -> Error {
        Error::rules(&self.path, self.line, format!("{}: {problem}", self.name))
    }
}
