//! Streaming the rows of many files in start order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::PathBuf;

use parquet::errors::ParquetError;

use super::age::Key;
use super::error::Error;
use super::file::{self, Seal};
use super::manifest::{Group, Table};
use super::request::Request;
use super::rows::{Columns, Opened, Rows};

/// Requests in the order of start, session and seq. After an error there are no more.
///
/// A row group is opened when the requests before its first one have been given out; `age.rs` tells why that bounds
/// what is held at a time.
pub struct Requests {
    columns: Columns,
    /// Groups not yet reached, by their first start.
    ahead: VecDeque<Ahead>,
    /// Groups that are being read, by a number of their own.
    current: BTreeMap<usize, Cursor>,
    opened: usize,
    /// The next row of each current group.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    failed: bool,
}

/// A group to be read.
struct Ahead {
    path: PathBuf,
    /// What the file should be; checked at the first of its groups.
    seal: Seal,
    /// Groups that the file should have, and which of them this is.
    groups: usize,
    index: usize,
    group: Group,
}

/// A group that is being read, and its next row.
struct Cursor {
    rows: Rows<Request>,
    row: Request,
}

fn key(request: &Request) -> Key {
    (request.start_ns, request.session, request.seq)
}

impl Requests {
    pub(crate) fn new(dir: &std::path::Path, table: &Table, columns: Columns) -> Self {
        let files = table.files.iter().flat_map(|file| {
            let (path, groups) = (dir.join(&file.name), file.groups.len());
            let seal = Seal { bytes: file.bytes, digest: file.xxh3 };
            let numbered = file.groups.iter().enumerate();
            numbered.map(move |(index, &group)| Ahead { path: path.clone(), seal: seal.clone(), groups, index, group })
        });
        let mut ahead: Vec<Ahead> = files.collect();
        ahead.sort_by_key(|ahead| ahead.group.first_start_ns);
        Requests {
            columns,
            ahead: ahead.into(),
            current: BTreeMap::new(),
            opened: 0,
            next: BinaryHeap::new(),
            failed: false,
        }
    }

    /// Files that are open at this moment.
    pub fn open_files(&self) -> usize {
        self.current.values().filter(|cursor| cursor.rows.is_open()).count()
    }

    fn advance(&mut self) -> Result<Option<Request>, Error> {
        while let Some(ahead) = self.ahead.front() {
            if self.next.peek().is_some_and(|Reverse((key, _))| key.0 < ahead.group.first_start_ns) {
                break;
            }
            if let Some(ahead) = self.ahead.pop_front() {
                self.open(ahead)?;
            }
        }
        let Some(Reverse((_, number))) = self.next.pop() else { return Ok(None) };
        let Some(cursor) = self.current.get_mut(&number) else { return Ok(None) };
        match cursor.rows.next()? {
            Some(next) => {
                if key(&next) < key(&cursor.row) {
                    let what = format!("session {} seq {} is not in start order", next.session, next.seq);
                    return Err(Error::Contradiction { path: cursor.rows.path().into(), what });
                }
                self.next.push(Reverse((key(&next), number)));
                Ok(Some(std::mem::replace(&mut cursor.row, next)))
            }
            None => Ok(self.current.remove(&number).map(|cursor| cursor.row)),
        }
    }

    fn open(&mut self, ahead: Ahead) -> Result<(), Error> {
        let Ahead { path, seal, groups, index, group } = ahead;
        // Groups of a file are in start order, so its first one comes first.
        if index == 0 && file::seal(&path).map_err(Error::io(&path, "read"))? != seal {
            let source = ParquetError::General("its contents are not those that were written".into());
            return Err(Error::Damaged { path, rows: group.rows, source });
        }
        let opened = Opened::open::<Request>(&path, group.rows)?;
        let found = opened.groups();
        if found.len() != groups || found.get(index) != Some(&group.rows) {
            let what = format!(
                "its row group {index} should hold {} rows in {groups} groups, and the file has groups of {found:?} rows",
                group.rows
            );
            return Err(Error::Contradiction { path, what });
        }
        let mut rows = opened.rows::<Request>(Some(index), &self.columns)?;
        let Some(row) = rows.next()? else { return Ok(()) };
        if row.start_ns != group.first_start_ns {
            let what = format!("row group {index} does not begin when trace.json says");
            return Err(Error::Contradiction { path, what });
        }
        self.next.push(Reverse((key(&row), self.opened)));
        self.current.insert(self.opened, Cursor { rows, row });
        self.opened += 1;
        Ok(())
    }
}

impl Iterator for Requests {
    type Item = Result<Request, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance();
        self.failed = next.is_err();
        next.transpose()
    }
}
