//! The files of a trace directory: names, making room for a new trace, writing whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::manifest::Manifest;

pub(crate) const MANIFEST: &str = "trace.json";
pub(crate) const SHAPES: &str = "shapes.parquet";
pub(crate) const POSITIONS: &str = "positions.parquet";
pub(crate) const CATALOG: &str = "catalog.json";
/// In a simulated run, why each request went where it did; the analyzer writes it.
pub(crate) const DECISIONS: &str = "decisions.parquet";
pub(crate) const REQUESTS: &str = "requests";
/// Ending of a file that is still being written.
pub(crate) const UNFINISHED: &str = ".tmp";

/// What to do when the directory of a new trace holds one already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and fail.
    #[default]
    Refuse,
    /// Delete the old trace. A directory with other files and no `trace.json` is refused all the same.
    Replace,
}

/// Stem of the file names of a node's trace; fails when the name cannot be part of a file name.
pub(crate) fn node_stem(name: &str) -> Result<String, Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        return Err(Error::NodeName { name: name.into() });
    }
    Ok(format!("node-{name}"))
}

pub(crate) fn file_name(stem: &str, number: usize) -> String {
    format!("{stem}-{number:05}.parquet")
}

/// The stem of the name of a Parquet file of requests; `None` for other files.
pub(crate) fn stem(name: &str) -> Option<&str> {
    let (stem, number) = name.strip_suffix(".parquet")?.rsplit_once('-')?;
    let numbered = number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    let known = stem == REQUESTS || stem.strip_prefix("node-").is_some_and(|node| node_stem(node).is_ok());
    (numbered && known).then_some(stem)
}

/// Whether a trace writes files of this name.
fn is_ours(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    matches!(name, MANIFEST | DECISIONS) || is_beside(name) || stem(name).is_some()
}

/// Whether a trace writes a file of this name beside its requests.
pub(crate) fn is_beside(name: &str) -> bool {
    matches!(name, SHAPES | POSITIONS | CATALOG)
}

/// Whether a directory with these files is a run: only a replay writes positions, a catalog and traces of nodes.
pub(crate) fn is_run(names: &[String]) -> bool {
    let of_run = |name: &String| {
        matches!(name.as_str(), POSITIONS | CATALOG) || stem(name).is_some_and(|stem| stem.starts_with("node-"))
    };
    names.iter().any(of_run)
}

/// Names of the files in a directory, sorted.
pub(crate) fn list(dir: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(dir).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NoDirectory { dir: dir.into() },
        std::io::ErrorKind::NotADirectory => Error::NotADirectory { dir: dir.into() },
        _ => Error::io(dir, "list")(source),
    })?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(Error::io(dir, "list"))?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a new trace could go into a directory. Touches nothing.
///
/// # Errors
/// What creating a [`Writer`](super::Writer) there would refuse.
pub fn check_directory(dir: &Path, existing: Existing) -> Result<(), Error> {
    usable(dir, existing).map(drop)
}

/// The names in a directory that a new trace may go into; `None` when it is not there yet.
fn usable(dir: &Path, existing: Existing) -> Result<Option<Vec<String>>, Error> {
    let names = match list(dir) {
        Ok(names) => names,
        Err(Error::NoDirectory { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if names.is_empty() {
        return Ok(Some(names));
    }
    if existing == Existing::Refuse {
        return Err(Error::Exists { dir: dir.into() });
    }
    if !names.iter().any(|name| name == MANIFEST) {
        let example = names.into_iter().next().unwrap_or_default();
        return Err(Error::NotOurs { dir: dir.into(), example });
    }
    Ok(Some(names))
}

/// Makes an empty directory for a new trace.
pub(crate) fn prepare(dir: &Path, existing: Existing) -> Result<(), Error> {
    let Some(names) = usable(dir, existing)? else {
        return fs::create_dir_all(dir).map_err(Error::io(dir, "create"));
    };
    if names.is_empty() {
        return Ok(());
    }
    // The manifest goes last, so that what an interrupted deletion leaves is still recognised as a trace.
    for name in names.iter().filter(|name| is_ours(name) && *name != MANIFEST) {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(Error::io(path, "delete"))?;
    }
    let path = dir.join(MANIFEST);
    fs::remove_file(&path).map_err(Error::io(path, "delete"))
}

/// Writes `trace.json` so that a reader finds either the old or the new one.
pub(crate) fn write_manifest(dir: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = dir.join(MANIFEST);
    let encoded = serde_json::to_string_pretty(manifest);
    let mut text = encoded.map_err(|source| Error::Encode { path: path.clone(), source })?;
    text.push('\n');
    write(&path, text.as_bytes())
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let unfinished = unfinished(path);
    let mut file = fs::File::create(&unfinished).map_err(Error::io(&unfinished, "create"))?;
    file.write_all(contents).map_err(Error::io(&unfinished, "write"))?;
    publish(&file, &unfinished, path)
}

/// The name of a file while it is being written.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Gives a written file its final name, once its contents are on disk: after a crash of the machine, a file that has
/// its name has its contents too.
pub(crate) fn publish(file: &fs::File, from: &Path, to: &Path) -> Result<(), Error> {
    file.sync_data().map_err(Error::io(from, "write"))?;
    fs::rename(from, to).map_err(Error::io(to, "create"))
}

/// A file that belongs to a trace by its name, and is not in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its name inside the directory.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Leftover { name, bytes } = self;
        if name.ends_with(UNFINISHED) {
            write!(f, "{name} ({bytes} bytes) was never finished: the recording is still running, or was killed")
        } else {
            write!(f, "{name} ({bytes} bytes) is not in trace.json and was not read; `show --rebuild` takes it in")
        }
    }
}

/// The files that the manifest does not account for.
pub(crate) fn leftovers(dir: &Path, manifest: &Manifest) -> Result<Vec<Leftover>, Error> {
    let files = manifest.tables().flat_map(|(_, table)| &table.files);
    let mut known: std::collections::HashSet<&str> = files.map(|file| file.name.as_str()).collect();
    // Earlier programs did not list the catalog of a run.
    known.extend([MANIFEST, CATALOG, DECISIONS]);
    if manifest.shapes.is_some() {
        known.insert(SHAPES);
    }
    if manifest.positions.is_some() {
        known.insert(POSITIONS);
    }
    let names = list(dir)?.into_iter().filter(|name| is_ours(name) && !known.contains(name.as_str()));
    let sized = names.map(|name| {
        // A file of a running recording may get its final name just now; its size is only told, so zero is fine.
        let bytes = fs::metadata(dir.join(&name)).map_or(0, |metadata| metadata.len());
        Leftover { name, bytes }
    });
    Ok(sized.collect())
}
