//! Reading a trace.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use serde::Deserialize;

use super::directory::{self, Leftover};
use super::error::Error;
use super::manifest::{FORMAT, File, Manifest};
use super::merge::Requests;
use super::position::Position;
use super::rows::{Columns, Opened};
use super::shape::Shape;

/// A trace directory whose manifest has been read and whose files are there.
pub struct Reader {
    dir: PathBuf,
    manifest: Manifest,
    leftovers: Vec<Leftover>,
}

impl Reader {
    /// Reads the manifest and checks that every file that it lists is there and has its size. A file's contents are checked
    /// against their digest when its first row is reached.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let manifest = read_manifest(&dir)?;
        for table in std::iter::once(&manifest.table).chain(manifest.nodes.values()) {
            for file in &table.files {
                check_size(&dir.join(&file.name), file)?;
            }
        }
        let leftovers = directory::leftovers(&dir, &manifest)?;
        Ok(Reader { dir, manifest, leftovers })
    }

    /// The directory of the trace.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the trace says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Files that belong to a trace by their names and are not in the manifest, so that they are not read.
    pub fn leftovers(&self) -> &[Leftover] {
        &self.leftovers
    }

    /// The clients' requests, in start order.
    pub fn requests(&self) -> Requests {
        self.requests_with(Columns::All)
    }

    /// The clients' requests, in start order, with some of their columns.
    pub fn requests_with(&self, columns: Columns) -> Requests {
        Requests::new(&self.dir, &self.manifest.table, columns)
    }

    /// What executed at a node, in start order.
    pub fn node(&self, name: &str) -> Result<Requests, Error> {
        match self.manifest.nodes.get(name) {
            Some(table) => Ok(Requests::new(&self.dir, table, Columns::All)),
            None => {
                let known: Vec<&str> = self.manifest.nodes.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                Err(Error::NoNode { dir: self.dir.clone(), name: name.into(), known })
            }
        }
    }

    /// The samples of the nodes' positions, in the order in which they were taken; none when the trace has no such file.
    pub fn positions(&self) -> Result<impl Iterator<Item = Result<Position, Error>> + use<>, Error> {
        let rows = match self.manifest.positions {
            Some(rows) => {
                let file = Opened::open::<Position>(&self.dir.join(directory::POSITIONS), rows)?;
                Some(file.rows::<Position>(None, &Columns::All)?)
            }
            None => None,
        };
        Ok(rows.into_iter().flatten())
    }

    /// The shapes; none when the trace has no such file.
    pub fn shapes(&self) -> Result<Vec<Shape>, Error> {
        match self.manifest.shapes {
            Some(rows) => {
                let file = Opened::open::<Shape>(&self.dir.join(directory::SHAPES), rows)?;
                file.rows::<Shape>(None, &Columns::All)?.collect()
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The part of every version's manifest that says which version it is.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

fn read_manifest(dir: &Path) -> Result<Manifest, Error> {
    let names = directory::list(dir)?;
    if !names.iter().any(|name| name == directory::MANIFEST) {
        let parts = names.iter().filter(|name| directory::stem(name).is_some()).count();
        let dir = dir.to_path_buf();
        return Err(if parts > 0 { Error::NoManifest { dir, parts } } else { Error::NotATrace { dir } });
    }
    let path = dir.join(directory::MANIFEST);
    let text = fs::read(&path).map_err(Error::io(&path, "read"))?;
    let syntax = |source| Error::Manifest { path: path.clone(), source };
    let version: Version = serde_json::from_slice(&text).map_err(syntax)?;
    if version.format > FORMAT {
        return Err(Error::NewerFormat { path, found: version.format, known: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(syntax)?;
    // Names come from a file: they must not lead out of the directory.
    let tables = std::iter::once(&manifest.table).chain(manifest.nodes.values());
    if let Some(file) = tables.flat_map(|table| &table.files).find(|file| directory::stem(&file.name).is_none()) {
        let what = format!("it lists {:?}, which is not a file of a trace", file.name);
        return Err(Error::Contradiction { path, what });
    }
    Ok(manifest)
}

/// Finds files that are missing or cut short before any of their rows is wanted.
fn check_size(path: &Path, file: &File) -> Result<(), Error> {
    let rows = file.rows();
    let metadata = fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { path: path.into(), rows },
        _ => Error::io(path, "open")(source),
    })?;
    if metadata.len() == file.bytes {
        return Ok(());
    }
    let what = format!("it has {} bytes, and {} were written", metadata.len(), file.bytes);
    Err(Error::Damaged { path: path.into(), rows, source: ParquetError::EOF(what) })
}
