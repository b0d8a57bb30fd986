//! Reading a trace.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use serde::Deserialize;

use super::directory::{self, Leftover};
use super::error::Error;
use super::file::{Seal, digest, seal};
use super::manifest::{FORMAT, File, Manifest, Sealed};
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
    /// Reads the manifest and checks that it agrees with itself, that every file that it lists is there and has its size,
    /// and that the small files beside the requests are what was written. A file of requests is checked against its digest
    /// when its first row is reached.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let manifest = read_manifest(&dir)?;
        for (node, table) in manifest.tables() {
            for file in &table.files {
                check_size(&dir.join(&file.name), file)?;
            }
            if let Some(what) = table.contradiction() {
                let what = node.map_or_else(|| what.clone(), |node| format!("of node {node}: {what}"));
                return Err(Error::Contradiction { path: dir.join(directory::MANIFEST), what });
            }
        }
        for (name, sealed) in &manifest.sealed {
            check_sealed(&dir.join(name), sealed)?;
        }
        // Traces of earlier programs do not say what these are, only that they are.
        let unsealed = [(directory::SHAPES, manifest.shapes), (directory::POSITIONS, manifest.positions)];
        for (name, rows) in unsealed {
            let path = dir.join(name);
            if let Some(rows) = rows
                && !path.exists()
            {
                return Err(Error::Missing { path, rows });
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

impl Reader {
    /// What `catalog.json` of a run holds; `None` when the trace has no such file.
    pub fn catalog(&self) -> Result<Option<Vec<u8>>, Error> {
        let path = self.dir.join(directory::CATALOG);
        let contents = match fs::read(&path) {
            Ok(contents) => contents,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path, "read")(error)),
        };
        match self.manifest.sealed.get(directory::CATALOG) {
            Some(sealed) => compare(&path, sealed, &digest(&contents)).map(|()| Some(contents)),
            None => Ok(Some(contents)),
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
        let (dir, run) = (dir.to_path_buf(), directory::is_run(&names));
        return Err(if parts > 0 { Error::NoManifest { dir, parts, run } } else { Error::NotATrace { dir } });
    }
    let path = dir.join(directory::MANIFEST);
    let text = fs::read(&path).map_err(Error::io(&path, "read"))?;
    let syntax = |source| Error::Manifest { path: path.clone(), source, run: directory::is_run(&names) };
    let version: Version = serde_json::from_slice(&text).map_err(syntax)?;
    if version.format > FORMAT {
        return Err(Error::NewerFormat { path, found: version.format, known: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(syntax)?;
    // Names come from a file: they must not lead out of the directory.
    let files = manifest.tables().flat_map(|(_, table)| &table.files).map(|file| &file.name);
    let foreign = files.filter(|name| directory::stem(name).is_none());
    let beside = manifest.sealed.keys().filter(|name| !directory::is_beside(name));
    let foreign: Option<String> = foreign.chain(beside).next().cloned();
    if let Some(name) = foreign {
        let what = format!("it lists {name:?}, which is not a file of a trace");
        return Err(Error::Contradiction { path, what });
    }
    Ok(manifest)
}

/// Finds changes to a file beside the requests.
fn check_sealed(path: &Path, sealed: &Sealed) -> Result<(), Error> {
    match seal(path) {
        Ok(found) => compare(path, sealed, &found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::Broken { path: path.into(), what: "trace.json lists this file, and it is not there".into() })
        }
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

fn compare(path: &Path, sealed: &Sealed, found: &Seal) -> Result<(), Error> {
    let what = if found.bytes != sealed.bytes {
        format!("damaged: it has {} bytes, and {} were written", found.bytes, sealed.bytes)
    } else if found.digest != sealed.xxh3 {
        "damaged: its contents are not those that were written".to_string()
    } else {
        return Ok(());
    };
    Err(Error::Broken { path: path.into(), what })
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
