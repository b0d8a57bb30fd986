//! One judged request: what the first pass leaves to the second.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, BooleanBuilder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// Rows that are encoded together.
const GROUP: usize = 65_536;

/// Declares the row with its columns. Numbers are signed 64-bit in the file, ids bit for bit, so that every engine reads them.
macro_rules! row {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ident,)*) => {
        /// One judged request.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Row { $($(#[doc = $doc])* pub $name: row!(@rust $type),)* }

        struct Builders { $($name: row!(@builder $type),)* }

        impl Builders {
            fn new() -> Self {
                Builders { $($name: <row!(@builder $type)>::new(),)* }
            }

            fn push(&mut self, row: &Row) {
                $(row!(@push $type, self.$name, row.$name);)*
            }

            fn finish(&mut self) -> Vec<ArrayRef> {
                vec![$(Arc::new(self.$name.finish()) as ArrayRef,)*]
            }
        }

        fn schema() -> Schema {
            Schema::new(vec![$(Field::new(stringify!($name), row!(@arrow $type), true),)*])
        }
    };
    (@rust int) => { i64 };
    (@rust maybe_int) => { Option<i64> };
    (@rust flag) => { bool };
    (@rust word) => { Option<&'static str> };
    (@rust text) => { Option<Arc<str>> };
    (@rust bytes) => { Option<[u8; 16]> };
    (@builder int) => { Int64Builder };
    (@builder maybe_int) => { Int64Builder };
    (@builder flag) => { BooleanBuilder };
    (@builder word) => { StringBuilder };
    (@builder text) => { StringBuilder };
    (@builder bytes) => { BinaryBuilder };
    (@arrow int) => { DataType::Int64 };
    (@arrow maybe_int) => { DataType::Int64 };
    (@arrow flag) => { DataType::Boolean };
    (@arrow word) => { DataType::Utf8 };
    (@arrow text) => { DataType::Utf8 };
    (@arrow bytes) => { DataType::Binary };
    (@push int, $builder:expr, $value:expr) => { $builder.append_value($value) };
    (@push maybe_int, $builder:expr, $value:expr) => { $builder.append_option($value) };
    (@push flag, $builder:expr, $value:expr) => { $builder.append_value($value) };
    (@push word, $builder:expr, $value:expr) => { $builder.append_option($value) };
    (@push text, $builder:expr, $value:expr) => { $builder.append_option($value.as_deref()) };
    (@push bytes, $builder:expr, $value:expr) => { $builder.append_option($value) };
}

row! {
    /// Session in the run.
    session: int,
    /// Request in the session.
    seq: int,
    /// Session in the recording.
    recorded_session: int,
    /// Request in the recording.
    recorded_seq: int,
    /// When it was sent, nanoseconds since 1970 UTC.
    start_ns: int,
    /// What was asked.
    kind: word,
    /// Shape id, bit for bit.
    shape: maybe_int,
    /// The statement, shortened.
    sql: text,
    /// Application of the session.
    application: text,
    /// HTTP method of the route, in upper case, where its tags tell one.
    method: text,
    /// Route of the application, by its tags.
    route: text,
    /// Where it belongs: `primary`, `replica`, `same`, `all`; null when nothing is routed.
    intent: word,
    /// Why.
    reason: text,
    /// With intent `replica`: the primary is as good.
    either: flag,
    /// A copy of the application whose connections all go to a replica could run it there.
    movable: flag,
    /// It may change data.
    changes: flag,
    /// Number of its explicit transaction in the session.
    transaction_number: maybe_int,
    /// True when it executes a statement, so that its place must be known.
    needed: flag,
    /// Where it ran, by role; null without evidence or when it executes nothing.
    destination: word,
    /// Where it ran: node names joined with `+`.
    nodes: text,
    /// Time that the primary spent on it, nanoseconds.
    primary_ns: maybe_int,
    /// Time that replicas spent on it, nanoseconds.
    replica_ns: maybe_int,
    /// Of a read that a replica may serve: age of the newest commit on its tables when it was sent, nanoseconds; null where
    /// none was seen. A replica that is less far behind answers it as the primary would.
    fresh_ns: maybe_int,
    /// The same of its own session's commits.
    own_fresh_ns: maybe_int,
    /// `current`, `stale` or `unknown` for what a replica answered.
    staleness: word,
    /// A stale read missed a write of its own session.
    own: flag,
    /// A stale read missed a write of the same user in another session, by the tag that was named for users.
    same_client: flag,
    /// Age of the oldest write that it missed, nanoseconds.
    lag_ns: maybe_int,
    /// How far that may be off, nanoseconds.
    uncertainty_ns: maybe_int,
    /// The tables of a missed write are not known.
    any_table: flag,
    /// The statement that wrote what it missed, shortened.
    missed: text,
    /// How it ended.
    outcome: word,
    /// SQLSTATE or errno.
    error_code: text,
    /// From start to the end of the answer, nanoseconds.
    duration_ns: maybe_int,
    /// Rows returned.
    row_count: maybe_int,
    /// Rows affected.
    affected: maybe_int,
    /// Checksum of the rows: in order where ORDER BY fixes it, else order ignored.
    answer: bytes,
    /// Why the answer may differ each time: the statement itself.
    varies: text,
    /// Why the answer may differ each time: what was written to its tables before.
    tainted: text,
    /// It ran where state that its session relies on is not: settings, user variables, temporary tables, the statement before.
    lacks_state: flag,
    /// Something whose tables are not known wrote before, or at the same time.
    unknown_writes: flag,
    /// Digest of the commits on its tables before the state that its answer shows: its own time, or that of its
    /// transaction's first read.
    history: int,
    /// A commit of another session on its tables was under way when that state was taken.
    concurrent: flag,
    /// The replayer sent it late through its own fault.
    late: flag,
}

/// Writes the judged rows of one run as a Parquet file.
pub struct RowWriter {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    builders: Builders,
    waiting: usize,
}

impl RowWriter {
    /// Starts a file.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, ParquetError> {
        let path = path.into();
        let schema = Arc::new(schema());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let file = File::create(&path)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
        Ok(RowWriter { path, schema, writer, builders: Builders::new(), waiting: 0 })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes one row.
    pub fn push(&mut self, row: &Row) -> Result<(), ParquetError> {
        self.builders.push(row);
        self.waiting += 1;
        if self.waiting == GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.waiting = 0;
        let batch = RecordBatch::try_new(self.schema.clone(), self.builders.finish())?;
        self.writer.write(&batch)
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.writer.close()?;
        Ok(())
    }
}
