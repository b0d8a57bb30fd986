//! `decisions.parquet`: why each request went where it did.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{Decision, Error};
use splitproof_capture::trace::Request;

/// The file's name in the run.
pub(super) const NAME: &str = "decisions.parquet";
/// Rows that are encoded together.
const GROUP: usize = 65_536;

/// Writes one row for each routed request.
pub(super) struct Decisions {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    session: Int64Builder,
    seq: Int64Builder,
    shape: Int64Builder,
    sent: StringBuilder,
    reason: StringBuilder,
    rule: StringBuilder,
    waiting: usize,
}

impl Decisions {
    pub fn create(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(NAME);
        let column = |name: &str, kind: DataType, null: bool| Field::new(name, kind, null);
        let schema = Arc::new(Schema::new(vec![
            column("session", DataType::Int64, false),
            column("seq", DataType::Int64, false),
            column("shape", DataType::Int64, true),
            column("sent", DataType::Utf8, false),
            column("reason", DataType::Utf8, false),
            column("rule", DataType::Utf8, true),
        ]));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let failed = |source| Error::Decisions { path: path.clone(), source };
        let file = File::create(&path).map_err(|error| failed(error.into()))?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)?;
        Ok(Decisions {
            path,
            schema,
            writer,
            session: Int64Builder::new(),
            seq: Int64Builder::new(),
            shape: Int64Builder::new(),
            sent: StringBuilder::new(),
            reason: StringBuilder::new(),
            rule: StringBuilder::new(),
            waiting: 0,
        })
    }

    pub fn push(&mut self, request: &Request, sent: &str, decision: &Decision) -> Result<(), Error> {
        self.session.append_value(request.session.cast_signed());
        self.seq.append_value(request.seq.into());
        self.shape.append_option(request.shape_id.map(u64::cast_signed));
        self.sent.append_value(sent);
        self.reason.append_value(&decision.reason);
        self.rule.append_option(decision.rule.as_deref());
        self.waiting += 1;
        if self.waiting == GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.waiting = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.session.finish()),
            Arc::new(self.seq.finish()),
            Arc::new(self.shape.finish()),
            Arc::new(self.sent.finish()),
            Arc::new(self.reason.finish()),
            Arc::new(self.rule.finish()),
        ];
        let failed = |source| Error::Decisions { path: self.path.clone(), source };
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| failed(error.into()))?;
        self.writer.write(&batch).map_err(failed)
    }

    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.writer.close().map_err(|source| Error::Decisions { path: self.path, source })?;
        Ok(())
    }
}
