//! The same capture given twice, which would double every request.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Error, file::regular};
use crate::trace::seal;

/// Fails when two of the files have the same contents. Only files of the same size are read for this.
pub(super) fn check(paths: &[PathBuf]) -> Result<(), Error> {
    let mut sizes: HashMap<u64, Vec<&Path>> = HashMap::new();
    for path in paths {
        if regular(path)? {
            sizes.entry(fs::metadata(path).map_err(unreadable(path))?.len()).or_default().push(path);
        }
    }
    for group in sizes.into_values().filter(|group| group.len() > 1) {
        let mut seen: HashMap<u128, &Path> = HashMap::new();
        for path in group {
            if let Some(first) = seen.insert(seal(path).map_err(unreadable(path))?.digest, path) {
                return Err(Error::Twice { first: first.to_owned(), second: path.to_owned() });
            }
        }
    }
    Ok(())
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Unreadable { path, source }
}
