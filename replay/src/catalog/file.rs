//! The file in the run's directory.

use std::path::{Path, PathBuf};

use super::Catalog;

/// Its name in the run's directory.
pub const FILE: &str = "catalog.json";

/// Why `catalog.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not what a replay writes.
    #[error("{}: not a catalogue snapshot: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
}

impl Catalog {
    /// Writes the file into a run's directory.
    pub fn write(&self, run: &Path) -> Result<(), CatalogError> {
        let path = run.join(FILE);
        let json = serde_json::to_vec(self).map_err(|source| CatalogError::Format { path: path.clone(), source })?;
        std::fs::write(&path, json).map_err(|source| CatalogError::Io { path, source })
    }

    /// Reads the file of a run.
    pub fn read(run: &Path) -> Result<Self, CatalogError> {
        let path = run.join(FILE);
        let json = std::fs::read(&path).map_err(|source| CatalogError::Io { path: path.clone(), source })?;
        serde_json::from_slice(&json).map_err(|source| CatalogError::Format { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Catalog { server_version: "15.7".to_owned(), ..Catalog::default() };
        catalog.write(dir.path()).unwrap();
        assert_eq!(Catalog::read(dir.path()).unwrap(), catalog);
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Catalog::read(dir.path()).unwrap_err().to_string().contains("catalog.json"));
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(Catalog::read(dir.path()).unwrap_err().to_string().contains("not a catalogue snapshot"));
    }
}
