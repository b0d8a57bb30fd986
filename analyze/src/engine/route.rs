//! The queries on the routes of one run.

use super::record::Record;
use super::run::{RunQueries, example, shape};
use super::session::Error;
use crate::comparison::{Example, OlderAt, Served};
use crate::route::Route;

/// A route, and whether statements named it; else it is an application.
pub type RouteKey = (Route, bool);

/// What a route asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteRow {
    /// The route.
    pub key: RouteKey,
    /// Requests that execute a statement.
    pub calls: u64,
    /// How long clients waited, nanoseconds.
    pub time_ns: f64,
    /// Requests on the primary.
    pub primary_calls: u64,
    /// What it worked on them, nanoseconds.
    pub primary_ns: f64,
    /// That part of it which a replica may serve.
    pub eligible_ns: f64,
    /// Reads that a replica may serve.
    pub eligible: u64,
    /// Requests that could not run on a replica.
    pub held: u64,
    /// Requests that may change data.
    pub changing: u64,
    /// How old answers would be.
    pub older_at: Vec<OlderAt>,
    /// Eligible reads without a commit on their tables before.
    pub untouched: u64,
    /// Who served the eligible reads.
    pub served: Served,
}

/// A shape that holds a route.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteShape {
    /// The route.
    pub key: RouteKey,
    /// Shape id.
    pub shape: u64,
    /// How many.
    pub requests: u64,
    /// Those that may change data.
    pub changing: u64,
    /// Why it is held.
    pub reason: String,
    /// The first one.
    pub example: Example,
}

/// The busiest second of the primary.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutePeak {
    /// The route whose replica reads come back; `None` for those of all.
    pub key: Option<RouteKey>,
    /// Statements at once without them.
    pub peak: f64,
    /// With them.
    pub peak_with: f64,
}

/// How far a replica may be behind, milliseconds; the numbers in the names of columns in `sql/routes.sql`.
const LAGS: [(u64, &str, &str); 4] = [
    (10, "at_10", "own_10"),
    (100, "at_100", "own_100"),
    (1_000, "at_1000", "own_1000"),
    (10_000, "at_10000", "own_10000"),
];

fn key(record: &Record<'_>) -> Result<RouteKey, Error> {
    let route = Route { method: record.maybe_text("verb")?, name: record.text("name")? };
    Ok((route, record.flag("tagged")?))
}

/// A query on requests with their routes.
fn routed(sql: &str, measured: bool) -> String {
    let measured = if measured { "true" } else { "false" };
    sql.replace("$routed", include_str!("sql/routed.sql")).replace("$measured", measured)
}

impl RunQueries<'_> {
    /// See `sql/routes.sql`; `measured` where the primary's own trace tells its work.
    pub fn routes(&self, measured: bool) -> Result<Vec<RouteRow>, Error> {
        let sql = routed(include_str!("sql/routes.sql"), measured);
        self.engine.query_run("routes", &sql, self.side)?.read(|record| {
            let older = |&(lag_ms, at, own): &(u64, &'static str, &'static str)| {
                Ok(OlderAt { lag_ms, reads: record.count(at)?, own: record.count(own)? })
            };
            Ok(RouteRow {
                key: key(&record)?,
                calls: record.count("calls")?,
                time_ns: record.float("time_ns")?,
                primary_calls: record.count("primary_calls")?,
                primary_ns: record.float("primary_ns")?,
                eligible_ns: record.float("eligible_ns")?,
                eligible: record.count("eligible")?,
                held: record.count("held")?,
                changing: record.count("changing")?,
                older_at: LAGS.iter().map(older).collect::<Result<_, Error>>()?,
                untouched: record.count("untouched")?,
                served: Served {
                    old: record.count("served_old")?,
                    new: record.count("served_new")?,
                    fallback: record.count("served_fallback")?,
                    refused: record.count("served_refused")?,
                    unknown: record.count("served_unknown")?,
                },
            })
        })
    }

    /// See `sql/primary_work.sql`.
    pub fn primary_work(&self, measured: bool) -> Result<f64, Error> {
        let sql = routed(include_str!("sql/primary_work.sql"), measured);
        let work = self.engine.query_run("primary_work", &sql, self.side)?.read(|record| record.float("primary_ns"))?;
        Ok(work.first().copied().unwrap_or(0.0))
    }

    /// See `sql/route_shapes.sql`.
    pub fn route_shapes(&self, measured: bool) -> Result<Vec<RouteShape>, Error> {
        let sql = routed(include_str!("sql/route_shapes.sql"), measured);
        self.engine.query_run("route_shapes", &sql, self.side)?.read(|record| {
            Ok(RouteShape {
                key: key(&record)?,
                shape: shape(&record)?,
                requests: record.count("requests")?,
                changing: record.count("changing")?,
                reason: record.text("reason")?,
                example: example(&record)?,
            })
        })
    }

    /// See `sql/route_seconds.sql`.
    pub fn route_peaks(&self, measured: bool) -> Result<Vec<RoutePeak>, Error> {
        let sql = routed(include_str!("sql/route_seconds.sql"), measured);
        self.engine.query_run("route_seconds", &sql, self.side)?.read(|record| {
            let key = if record.maybe_text("name")?.is_some() { Some(key(&record)?) } else { None };
            Ok(RoutePeak { key, peak: record.float("peak")?, peak_with: record.float("peak_with")? })
        })
    }
}
