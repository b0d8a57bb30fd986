//! Writing one Parquet file: under a temporary name until it is whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow::array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::column::Row;
use super::directory;
use super::error::Error;
use super::manifest::{FORMAT, Manifest, TOOL};

/// Keys of the Parquet file's own metadata, from which a lost manifest is made again.
pub(crate) const FORMAT_KEY: &str = "splitproof.format";
pub(crate) const ENGINE_KEY: &str = "splitproof.engine";
pub(crate) const SOURCE_KEY: &str = "splitproof.source";

/// Columns whose values seldom repeat, or are close to those before: the difference to the row before is shorter than a dictionary's
/// entry, or cheaper.
const DELTA: &[&str] = &[
    "start_ns",
    "due_ns",
    "first_row_ns",
    "duration_ns",
    "session",
    "seq",
    "recorded_session",
    "recorded_seq",
    "pipeline_group",
    "rows",
    "affected",
    "result_bytes",
    "at_ns",
    "sample_ns",
];
/// Those of them whose values do repeat when the clock is coarse.
const DURATIONS: &[&str] = &["first_row_ns", "duration_ns"];
/// Columns of digests: nothing to gain from the value before.
const PLAIN: &[&str] = &["checksum_full", "checksum_rows", "checksum_rowset"];
/// Columns whose smallest and largest value let a reader pass over a row group. To find those of the others costs more than it
/// helps.
const STATISTICS: &[&str] =
    &["session", "seq", "recorded_session", "recorded_seq", "start_ns", "due_ns", "duration_ns", "shape_id", "at_ns"];

/// Rows in a page: with it grows what a reader holds of a row group that it is in the middle of.
const PAGE_ROWS: usize = 8192;

/// What a file says about itself in its metadata.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    properties: WriterProperties,
}

impl Label {
    /// `whole_micros`: the file's durations are whole microseconds, as captures usually have them. Then few of them differ, and a
    /// dictionary takes half the space of the differences.
    pub(crate) fn new<R: Row>(manifest: &Manifest, whole_micros: bool) -> Self {
        let pair = |key: &str, value: &str| KeyValue::new(key.to_string(), value.to_string());
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_created_by(TOOL.to_string())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(None)
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(vec![
                pair(FORMAT_KEY, &FORMAT.to_string()),
                pair(ENGINE_KEY, manifest.engine.as_str()),
                pair(SOURCE_KEY, &manifest.source),
            ]));
        let order = ["start_ns", "session", "seq"].iter().filter_map(|name| {
            let index = R::columns().iter().position(|column| column.name == *name)?;
            Some(SortingColumn { column_idx: index as i32, descending: false, nulls_first: false })
        });
        properties = properties.set_sorting_columns(Some(order.collect()));
        for column in R::columns() {
            let path = || ColumnPath::from(column.name);
            if DELTA.contains(&column.name) {
                properties = properties
                    .set_column_dictionary_enabled(path(), whole_micros && DURATIONS.contains(&column.name))
                    .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
            }
            if PLAIN.contains(&column.name) {
                properties = properties.set_column_encoding(path(), Encoding::PLAIN);
            }
            if STATISTICS.contains(&column.name) {
                properties = properties.set_column_statistics_enabled(path(), EnabledStatistics::Chunk);
            }
        }
        Label { properties: properties.build() }
    }
}

/// What a finished file is, so that damage to it is noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) bytes: u64,
    pub(crate) digest: u128,
}

/// Digests what is written on its way to the file.
struct Sealing<W> {
    to: W,
    bytes: u64,
    digest: Xxh3,
}

impl<W> Sealing<W> {
    fn new(to: W) -> Self {
        Sealing { to, bytes: 0, digest: Xxh3::new() }
    }

    fn seal(&self) -> Seal {
        Seal { bytes: self.bytes, digest: self.digest.digest128() }
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.to.write(data)?;
        self.bytes += written as u64;
        self.digest.update(&data[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// What a file is now.
pub(crate) fn seal(path: &Path) -> io::Result<Seal> {
    let mut sealing = Sealing::new(io::sink());
    io::copy(&mut fs::File::open(path)?, &mut sealing)?;
    Ok(sealing.seal())
}

/// What a file with these contents is.
pub(crate) fn digest(contents: &[u8]) -> Seal {
    Seal { bytes: contents.len() as u64, digest: xxh3_128(contents) }
}

/// A Parquet file on its way.
pub(crate) struct NewFile {
    path: PathBuf,
    unfinished: PathBuf,
    writer: ArrowWriter<Sealing<fs::File>>,
}

impl NewFile {
    pub(crate) fn create<R: Row>(path: &Path, label: &Label) -> Result<Self, Error> {
        let unfinished = directory::unfinished(path);
        let file = fs::File::create(&unfinished).map_err(Error::io(&unfinished, "create"))?;
        let writer = ArrowWriter::try_new(Sealing::new(file), R::schema(), Some(label.properties.clone()))
            .map_err(|source| Error::Write { path: path.into(), source })?;
        Ok(NewFile { path: path.into(), unfinished, writer })
    }

    /// Adds rows to the row group that is being filled.
    pub(crate) fn rows<R: Row>(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        RecordBatch::try_new(R::schema(), columns)
            .map_err(ParquetError::from)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Ends the row group; what follows begins another one.
    pub(crate) fn end_group(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Ends the file and gives it its name.
    pub(crate) fn finish(self) -> Result<Seal, Error> {
        let NewFile { path, unfinished, writer } = self;
        let file = writer.into_inner().map_err(|source| Error::Write { path: path.clone(), source })?;
        directory::publish(&file.to, &unfinished, &path)?;
        Ok(file.seal())
    }
}
