//! Reading the rows of one Parquet file.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use super::column::Row;
use super::error::Error;
use super::file::FORMAT_KEY;
use super::manifest::FORMAT;

/// Rows that are decoded together; a group of no more rows is read at once and its file closed.
pub(crate) const BATCH: usize = 1024;

/// Which columns to read. Fields of columns that are not read are empty.
#[derive(Clone, Debug, Default)]
pub enum Columns {
    /// All of them.
    #[default]
    All,
    /// Those with these names, and those that no row can do without.
    Only(Vec<&'static str>),
}

/// A Parquet file whose footer has been read.
pub(crate) struct Opened {
    path: PathBuf,
    file: fs::File,
    metadata: ArrowReaderMetadata,
}

impl Opened {
    /// Opens a file that should hold `rows` rows of type `R`.
    pub(crate) fn open<R: Row>(path: &Path, rows: u64) -> Result<Self, Error> {
        let file = fs::File::open(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::Missing { path: path.into(), rows },
            _ => Error::io(path, "open")(source),
        })?;
        let damaged = |source| Error::Damaged { path: path.into(), rows, source };
        let read = || {
            let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let metadata = ArrowReaderMetadata::load(&file, plain)?;
            let schema = reading_schema::<R>(metadata.schema());
            let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
            ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
        };
        let metadata = guarded(read).map_err(damaged)?;
        let opened = Opened { path: path.into(), file, metadata };
        let format = opened.label(FORMAT_KEY).and_then(|format| format.parse().ok()).unwrap_or(FORMAT);
        if format > FORMAT {
            return Err(Error::NewerFormat { path: path.into(), found: format, known: FORMAT });
        }
        Ok(opened)
    }

    /// A value of the file's own metadata.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Rows of each row group.
    pub(crate) fn groups(&self) -> Vec<u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).collect()
    }

    /// Reads one row group, or all.
    pub(crate) fn rows<R: Row>(self, group: Option<usize>, columns: &Columns) -> Result<Rows<R>, Error> {
        let groups = self.groups();
        let left = match group {
            Some(group) => groups.get(group).copied().unwrap_or(0),
            None => groups.iter().sum(),
        };
        let Opened { path, file, metadata } = self;
        let wanted = |name: &str| match columns {
            Columns::All => R::columns().iter().any(|column| column.name == name),
            Columns::Only(names) => {
                names.contains(&name) || R::columns().iter().any(|column| column.name == name && column.required)
            }
        };
        let fields = metadata.schema().fields().iter().enumerate();
        let roots: Vec<usize> = fields.filter(|(_, field)| wanted(field.name())).map(|(index, _)| index).collect();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_projection(mask)
            .with_batch_size(BATCH);
        if let Some(group) = group {
            builder = builder.with_row_groups(vec![group]);
        }
        let reader =
            guarded(|| builder.build()).map_err(|source| Error::Damaged { path: path.clone(), rows: left, source })?;
        Ok(Rows { path, reader: Some(reader), left, values: None, row: 0, loaded: 0 })
    }
}

/// Runs the Parquet reader, which panics on some damaged files where it should fail.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let gave_up = |_| Err(ParquetError::General("the Parquet reader gave up on it".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(gave_up)
}

/// The file's own columns, text as dictionaries.
fn reading_schema<R: Row>(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let known = R::columns().iter().find(|column| column.name == field.name());
        match known.map(|column| (column.read_as)()) {
            Some(read @ DataType::Dictionary(..)) if *field.data_type() == DataType::Utf8 => {
                Arc::new(Field::new(field.name(), read, field.is_nullable()))
            }
            _ => field.clone(),
        }
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// The rows of a file, or of one of its row groups, in the order in which they stand there.
pub(crate) struct Rows<R: Row> {
    path: PathBuf,
    /// `None` once all rows are in memory.
    reader: Option<ParquetRecordBatchReader>,
    left: u64,
    values: Option<R::Values>,
    row: usize,
    loaded: usize,
}

impl<R: Row> Rows<R> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is still open.
    pub(crate) fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    pub(crate) fn next(&mut self) -> Result<Option<R>, Error> {
        while self.row == self.loaded {
            if !self.load()? {
                return Ok(None);
            }
        }
        let Some(values) = &mut self.values else { return Ok(None) };
        let row = R::get(values, self.row).map_err(|invalid| self.invalid(invalid.column, invalid.what))?;
        self.row += 1;
        Ok(Some(row))
    }

    fn load(&mut self) -> Result<bool, Error> {
        let Some(mut reader) = self.reader.take() else { return Ok(false) };
        let batch = guarded(|| reader.next().transpose().map_err(ParquetError::from));
        let batch = match batch.map_err(|source| Error::Damaged { path: self.path.clone(), rows: self.left, source })? {
            Some(batch) => batch,
            None if self.left == 0 => return Ok(false),
            None => {
                let what = format!("{} rows fewer than its footer says", self.left);
                return Err(Error::Contradiction { path: self.path.clone(), what });
            }
        };
        self.loaded = batch.num_rows();
        self.row = 0;
        self.left = self.left.saturating_sub(batch.num_rows() as u64);
        // The file need not stay open for rows that wait in memory.
        self.reader = (self.left > 0).then_some(reader);
        let previous = self.values.take();
        match R::load(&batch, previous) {
            Ok(values) => self.values = Some(values),
            Err(invalid) => return Err(self.invalid(invalid.column, invalid.what)),
        }
        Ok(true)
    }

    fn invalid(&self, column: &str, what: String) -> Error {
        Error::Column { path: self.path.clone(), column: column.into(), what }
    }
}

impl<R: Row> Iterator for Rows<R> {
    type Item = Result<R, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Rows::next(self).transpose()
    }
}
