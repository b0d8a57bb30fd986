//! The file in the run's directory.

use std::path::{Path, PathBuf};

use splitproof_capture::trace::{self, Reader, Writer};

use super::Catalog;

/// Why `catalog.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It cannot be read or written, or is not what was written.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// It is not what a replay writes.
    #[error("{}: not a catalogue snapshot: {source}; restore it, or replay again", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
}

impl Catalog {
    /// Writes the file into a run's directory.
    pub fn write(&self, run: &Writer) -> Result<(), CatalogError> {
        let json = serde_json::to_vec(self).map_err(|source| CatalogError::format(run.dir(), source))?;
        Ok(run.catalog(&json)?)
    }

    /// Reads the file of a run; `None` when it has none.
    pub fn read(run: &Reader) -> Result<Option<Self>, CatalogError> {
        let Some(json) = run.catalog()? else { return Ok(None) };
        serde_json::from_slice(&json).map(Some).map_err(|source| CatalogError::format(run.dir(), source))
    }
}

impl CatalogError {
    fn format(run: &Path, source: serde_json::Error) -> Self {
        CatalogError::Format { path: run.join("catalog.json"), source }
    }
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::{Engine, Losses, Options};

    use super::*;

    fn written(dir: &Path, catalog: &Catalog) {
        let writer = Writer::create(dir, Options::new(Engine::Postgresql, "replay")).unwrap();
        catalog.write(&writer).unwrap();
        writer.finish(&Losses::default()).unwrap();
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Catalog { server_version: "15.7".to_owned(), ..Catalog::default() };
        written(dir.path(), &catalog);
        assert_eq!(Catalog::read(&Reader::open(dir.path()).unwrap()).unwrap(), Some(catalog));
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), &Catalog::default());
        let reader = Reader::open(dir.path()).unwrap();
        let fails = || Catalog::read(&reader).unwrap_err().to_string();
        std::fs::write(dir.path().join("catalog.json"), "{").unwrap();
        assert!(fails().contains("catalog.json: damaged"), "{}", fails());
        std::fs::remove_file(dir.path().join("catalog.json")).unwrap();
        assert_eq!(Catalog::read(&reader).unwrap(), None);
    }

    #[test]
    fn the_catalog_of_an_earlier_program_is_read_though_no_digest_tells_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let writer = Writer::create(dir.path(), Options::new(Engine::Postgresql, "replay")).unwrap();
        writer.finish(&Losses::default()).unwrap();
        std::fs::write(dir.path().join("catalog.json"), serde_json::to_vec(&Catalog::default()).unwrap()).unwrap();
        assert_eq!(Catalog::read(&Reader::open(dir.path()).unwrap()).unwrap(), Some(Catalog::default()));
        std::fs::write(dir.path().join("catalog.json"), "{").unwrap();
        let error = Catalog::read(&Reader::open(dir.path()).unwrap()).unwrap_err().to_string();
        assert!(error.contains("not a catalogue snapshot"), "{error}");
    }
}
