//! Which shapes of a run were judged.

use std::collections::BTreeSet;
use std::sync::Arc;

use splitproof_replay::catalog::Catalog;

use crate::compare::Error;
use crate::engine::{Engine, RunQueries, Side};
use crate::run::{Run, Statements, pass};

/// Memory for the query over the run's rows, bytes.
const MEMORY: usize = 256 << 20;

/// The shapes of a run with a request whose place is known; `None` for a recording, which has no evidence.
pub fn judged(run: &Run) -> Result<Option<BTreeSet<u64>>, Error> {
    if run.nodes().is_empty() {
        return Ok(None);
    }
    let temporary =
        tempfile::Builder::new().prefix("splitproof-").tempdir().map_err(|source| Error::Temporary { source })?;
    let rows = temporary.path().join("rows.parquet");
    let catalog = Catalog::read(run.reader())?.map(Arc::new);
    pass(run, &mut Statements::new(run.dialect(), catalog), &rows)?;
    let engine = Engine::new(MEMORY, temporary.path())?;
    engine.register(Side::Candidate, &rows)?;
    let cells = RunQueries { engine: &engine, side: Side::Candidate }.grid()?;
    Ok(Some(cells.into_iter().filter(|cell| cell.destination.is_known()).map(|cell| cell.shape).collect()))
}
