//! The DataFusion session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use tokio::runtime::Runtime;

use super::Side;
use super::record::Records;

/// An error of the second pass.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// DataFusion could not run a query.
    #[error("query {query}: {source}{}", remedy(.source))]
    Query {
        /// Which query.
        query: &'static str,
        /// What DataFusion said.
        source: Box<DataFusionError>,
    },
    /// A query's answer lacks a column, or the column has another type.
    #[error("query {query}: column {column} is missing or not {expected}")]
    Column {
        /// Which query.
        query: &'static str,
        /// The column.
        column: &'static str,
        /// The type that was expected.
        expected: &'static str,
    },
    /// Worker threads could not be started.
    #[error("cannot start worker threads: {source}")]
    Threads {
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The directory for spilled data or a file of rows cannot be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What DataFusion said.
        source: Box<DataFusionError>,
    },
}

/// The columns that tell which request of a group was the first one.
const EXAMPLE: &str = include_str!("sql/example.sql").trim_ascii();

fn remedy(source: &DataFusionError) -> &'static str {
    match source.find_root() {
        DataFusionError::ResourcesExhausted(_) => "; allow more with --memory, or free space for spilling in TMPDIR",
        _ => "",
    }
}

/// A DataFusion session that stays within its memory and spills to a directory.
///
/// It has worker threads of its own, so that its callers need not be asynchronous; it must not be used or dropped on another
/// runtime's threads.
pub struct Engine {
    context: SessionContext,
    runtime: Runtime,
}

impl Engine {
    /// A session with a limit in bytes, which spills into `spill`.
    pub fn new(memory: usize, spill: &Path) -> Result<Self, Error> {
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
            .with_temp_file_path(spill)
            .build_arc()
            .map_err(|source| Error::File { path: spill.into(), source: Box::new(source) })?;
        // A hash join holds one side in memory and fails when that does not fit; a sort-merge join spills.
        // A sort reserves memory for its final merge, which must fit several times into a small limit.
        let reserve = (memory / 64).clamp(64 << 10, 10 << 20);
        // Every sort and join holds some batches at the least; rows with their statements are about 300 bytes.
        let batch = (memory / (64 << 10)).clamp(512, 8192);
        let config = SessionConfig::new()
            .set_bool("datafusion.optimizer.prefer_hash_join", false)
            .set_bool("datafusion.execution.parquet.schema_force_view_types", false)
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false)
            .with_batch_size(batch)
            .with_sort_spill_reservation_bytes(reserve);
        let context = SessionContext::new_with_config_rt(config, environment);
        let runtime = Runtime::new().map_err(|source| Error::Threads { source })?;
        Ok(Engine { context, runtime })
    }

    /// Makes the rows of a run known to the queries.
    pub fn register(&self, side: Side, rows: &Path) -> Result<(), Error> {
        let path = rows.to_string_lossy();
        let registered = self.context.register_parquet(side.table(), path.as_ref(), ParquetReadOptions::default());
        self.runtime.block_on(registered).map_err(|source| Error::File { path: rows.into(), source: Box::new(source) })
    }

    /// Runs a query and collects its answer.
    pub(super) fn query(&self, query: &'static str, sql: &str) -> Result<Records, Error> {
        let failed = |source| Error::Query { query, source: Box::new(source) };
        let answer = async { self.context.sql(sql).await?.collect().await };
        Ok(Records::new(query, self.runtime.block_on(answer).map_err(failed)?))
    }

    /// Runs a query over one run: `$run` in its text stands for the table, and `$example` for the columns of the first
    /// request of a group (`sql/example.sql`).
    pub(super) fn query_run(&self, query: &'static str, sql: &str, side: Side) -> Result<Records, Error> {
        self.query(query, &sql.replace("$example", EXAMPLE).replace("$run", side.table()))
    }
}
