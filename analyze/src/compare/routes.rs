//! The application's routes in one run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use splitproof_replay::catalog::Catalog;

use super::Error;
use super::judged::shape;
use crate::comparison::{RouteSummary, Routes, ShapeOfRoute};
use crate::engine::{Engine, RouteShape, RunQueries, Side};
use crate::run::{Run, Statements, pass};

/// Puts the routes of a run together. `measured` where the primary's own trace tells its work.
pub(super) fn assemble(
    queries: &RunQueries<'_>,
    texts: &HashMap<u64, Arc<str>>,
    measured: bool,
) -> Result<Routes, Error> {
    let totals = queries.totals()?;
    let rows = queries.routes(measured)?;
    let peaks = queries.route_peaks(measured)?;
    let mut held: HashMap<_, Vec<RouteShape>> = HashMap::new();
    for found in queries.route_shapes(measured)? {
        held.entry(found.key.clone()).or_default().push(found);
    }
    let whole = peaks.iter().find(|peak| peak.key.is_none());
    let primary_peak = whole.map_or(0.0, |peak| peak.peak);
    let primary_ns: f64 = queries.primary_work(measured)?;
    let share = |ns: f64| if primary_ns > 0.0 { ns / primary_ns } else { 0.0 };
    let mut routes = Routes {
        list: Vec::new(),
        without_route: totals.needed.saturating_sub(rows.iter().map(|row| row.calls).sum()),
        measured,
        primary_ms: primary_ns / 1e6,
        primary_peak,
        primary_peak_with_all: whole.map_or(0.0, |peak| peak.peak_with),
    };
    for row in rows {
        let with = peaks.iter().find(|peak| peak.key.as_ref() == Some(&row.key)).map_or(0.0, |peak| peak.peak_with);
        let held_by = held.remove(&row.key).unwrap_or_default().into_iter().map(|found| ShapeOfRoute {
            shape: shape(texts, found.shape),
            requests: found.requests,
            reason: found.reason,
            writes: found.changing > 0,
            example: found.example,
        });
        let (route, tagged) = row.key;
        let movable = row.held == 0;
        routes.list.push(RouteSummary {
            hidden_writes: route.method.is_some().then(|| if route.is_safe() { row.changing } else { 0 }),
            route,
            tagged,
            calls: row.calls,
            time_ms: row.time_ns / 1e6,
            primary_calls: row.primary_calls,
            primary_ms: row.primary_ns / 1e6,
            primary_share: share(row.primary_ns),
            eligible: row.eligible,
            movable,
            held: row.held,
            held_by: held_by.collect(),
            relief: if movable { share(row.primary_ns) } else { 0.0 },
            relief_by_statement: share(row.eligible_ns),
            older_at: row.older_at,
            untouched: row.untouched,
            served: row.served,
            peak_with_it: with.max(primary_peak),
        });
    }
    Ok(routes)
}

/// The routes of a run, or of a recording, in which what clients waited stands for the primary's work.
pub fn routes_of(dir: &Path, memory: usize) -> Result<Routes, Error> {
    let temporary =
        tempfile::Builder::new().prefix("splitproof-").tempdir().map_err(|source| Error::Temporary { source })?;
    let run = Run::open(dir)?;
    if run.reader().manifest().table.requests == 0 {
        return Err(Error::Empty { path: dir.into() });
    }
    let catalog = Catalog::read(run.reader())?.map(Arc::new);
    let mut statements = Statements::new(run.dialect(), catalog);
    let rows = temporary.path().join("rows.parquet");
    pass(&run, &mut statements, &rows)?;
    let engine = Engine::new(memory, temporary.path())?;
    engine.register(Side::Candidate, &rows)?;
    let queries = RunQueries { engine: &engine, side: Side::Candidate };
    assemble(&queries, &statements.texts(), !run.nodes().is_empty())
}
