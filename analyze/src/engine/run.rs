//! The queries on one run.

use super::Side;
use super::record::Record;
use super::session::{Engine, Error};
use crate::comparison::{Destination, Example};
use crate::findings::timestamp;

/// What a run holds in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Requests that execute a statement.
    pub needed: u64,
    /// Sessions.
    pub sessions: u64,
    /// Shapes.
    pub shapes: u64,
    /// Requests that ended with an error.
    pub errors: u64,
    /// Requests that were lost or never finished.
    pub incomplete: u64,
    /// Requests that the replayer sent late.
    pub late: u64,
    /// Start of the first request, nanoseconds since 1970 UTC.
    pub begin_ns: Option<i64>,
    /// End of the last one.
    pub end_ns: Option<i64>,
    /// Requests of the primary that a replica refused.
    pub read_only_errors: u64,
    /// Reads that a replica may serve and whose place is known.
    pub eligible: u64,
    /// Those that a replica served.
    pub eligible_on_replica: u64,
    /// Reads that a replica served whose staleness was judged.
    pub replica_reads: u64,
    /// Stale ones.
    pub stale: u64,
    /// Stale ones that missed a write of their own session.
    pub own_missed: u64,
    /// Stale ones that missed a write of the same user in another session, and none of their own.
    pub client_missed: u64,
    /// Undecided ones.
    pub staleness_unknown: u64,
    /// Age of the oldest missed write, nanoseconds.
    pub max_lag_ns: Option<i64>,
}

/// Requests of one shape in one cell of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Shape id; 0 where there is none.
    pub shape: u64,
    /// Where they belong.
    pub intent: String,
    /// Where they ran.
    pub destination: Destination,
    /// How many.
    pub requests: u64,
}

/// Leaked writes of one shape with the same nodes and error.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaked {
    /// Shape id.
    pub shape: u64,
    /// How many.
    pub requests: u64,
    /// Why they belong to the primary.
    pub reason: String,
    /// The first one.
    pub example: Example,
}

/// Reads of one shape that only the primary served.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimaryReads {
    /// Shape id.
    pub shape: u64,
    /// How many.
    pub requests: u64,
    /// Time that the primary spent on them, nanoseconds.
    pub primary_ns: f64,
    /// The first one.
    pub example: Example,
}

/// Stale reads of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Stale {
    /// Shape id.
    pub shape: u64,
    /// True when they missed writes of their own sessions.
    pub own: bool,
    /// True when they missed writes of the same user in other sessions.
    pub same_client: bool,
    /// How many.
    pub requests: u64,
    /// Smallest, median and largest age of the oldest missed write, nanoseconds.
    pub lag_ns: [f64; 3],
    /// How far that may be off, nanoseconds.
    pub uncertainty_ns: f64,
    /// The tables of the missed writes are not known.
    pub any_table: bool,
    /// What the first one missed.
    pub missed: String,
    /// The first one.
    pub example: Example,
}

/// Requests of one shape that could not be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// Shape id.
    pub shape: u64,
    /// `unseen`, `ambiguous` or `staleness`.
    pub why: String,
    /// How many.
    pub requests: u64,
    /// The first one.
    pub example: Example,
}

/// Durations of some requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Durations {
    /// Shape id; `None` for all reads that a replica may serve.
    pub shape: Option<u64>,
    /// The nodes where they ran; `None` for all.
    pub nodes: Option<String>,
    /// `node`, `shape` or `reads`: what the row sums up.
    pub part: String,
    /// True when all of them are reads that a replica may serve.
    pub read: bool,
    /// How many.
    pub requests: u64,
    /// Median, nanoseconds.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Largest.
    pub max_ns: f64,
    /// Sum.
    pub total_ns: f64,
}

/// The queries on one run.
pub struct RunQueries<'a> {
    /// The session.
    pub engine: &'a Engine,
    /// The run.
    pub side: Side,
}

pub(super) fn shape(record: &Record<'_>) -> Result<u64, Error> {
    Ok(record.maybe_int("shape")?.unwrap_or(0).cast_unsigned())
}

pub(super) fn example(record: &Record<'_>) -> Result<Example, Error> {
    Ok(Example {
        session: record.int("session")?.cast_unsigned(),
        seq: u32::try_from(record.int("seq")?).unwrap_or(u32::MAX),
        recorded_session: record.int("recorded_session")?.cast_unsigned(),
        recorded_seq: u32::try_from(record.int("recorded_seq")?).unwrap_or(u32::MAX),
        at: timestamp(record.int("start_ns")?),
        sql: record.text("sql")?,
        nodes: split(record.maybe_text("nodes")?),
        error: record.maybe_text("error_code")?,
    })
}

pub(super) fn split(nodes: Option<String>) -> Vec<String> {
    nodes.map_or_else(Vec::new, |nodes| nodes.split('+').filter(|name| !name.is_empty()).map(String::from).collect())
}

impl RunQueries<'_> {
    /// See `sql/totals.sql`.
    pub fn totals(&self) -> Result<Totals, Error> {
        let records = self.engine.query_run("totals", include_str!("sql/totals.sql"), self.side)?;
        let totals = records.read(|record| {
            Ok(Totals {
                requests: record.count("requests")?,
                needed: record.count("needed")?,
                sessions: record.count("sessions")?,
                shapes: record.count("shapes")?,
                errors: record.count("errors")?,
                incomplete: record.count("incomplete")?,
                late: record.count("late")?,
                begin_ns: record.maybe_int("begin_ns")?,
                end_ns: record.maybe_int("end_ns")?,
                read_only_errors: record.count("read_only_errors")?,
                eligible: record.count("eligible")?,
                eligible_on_replica: record.count("eligible_on_replica")?,
                replica_reads: record.count("replica_reads")?,
                stale: record.count("stale")?,
                own_missed: record.count("own_missed")?,
                client_missed: record.count("client_missed")?,
                staleness_unknown: record.count("staleness_unknown")?,
                max_lag_ns: record.maybe_int("max_lag_ns")?,
            })
        })?;
        Ok(totals.into_iter().next().unwrap_or_default())
    }

    /// See `sql/grid.sql`.
    pub fn grid(&self) -> Result<Vec<Cells>, Error> {
        let records = self.engine.query_run("grid", include_str!("sql/grid.sql"), self.side)?;
        records.read(|record| {
            let word = record.text("destination")?;
            let column = Error::Column { query: "grid", column: "destination", expected: "a destination" };
            Ok(Cells {
                shape: shape(&record)?,
                intent: record.text("intent")?,
                destination: Destination::from_word(&word).ok_or(column)?,
                requests: record.count("requests")?,
            })
        })
    }

    /// See `sql/leakage.sql`.
    pub fn leakage(&self) -> Result<Vec<Leaked>, Error> {
        let records = self.engine.query_run("leakage", include_str!("sql/leakage.sql"), self.side)?;
        records.read(|record| {
            Ok(Leaked {
                shape: shape(&record)?,
                requests: record.count("requests")?,
                reason: record.text("reason")?,
                example: example(&record)?,
            })
        })
    }

    /// See `sql/primary_reads.sql`.
    pub fn primary_reads(&self) -> Result<Vec<PrimaryReads>, Error> {
        let records = self.engine.query_run("primary_reads", include_str!("sql/primary_reads.sql"), self.side)?;
        records.read(|record| {
            Ok(PrimaryReads {
                shape: shape(&record)?,
                requests: record.count("requests")?,
                primary_ns: record.float("primary_ns")?,
                example: example(&record)?,
            })
        })
    }

    /// See `sql/stale.sql`.
    pub fn stale(&self) -> Result<Vec<Stale>, Error> {
        let records = self.engine.query_run("stale", include_str!("sql/stale.sql"), self.side)?;
        records.read(|record| {
            Ok(Stale {
                shape: shape(&record)?,
                own: record.flag("own")?,
                same_client: record.flag("same_client")?,
                requests: record.count("requests")?,
                lag_ns: [record.float("lag_min_ns")?, record.float("lag_median_ns")?, record.float("lag_max_ns")?],
                uncertainty_ns: record.float("uncertainty_ns")?,
                any_table: record.flag("any_table")?,
                missed: record.text("missed")?,
                example: example(&record)?,
            })
        })
    }

    /// Reads of each shape whose staleness was judged; see `sql/replica_reads.sql`.
    pub fn replica_reads(&self) -> Result<Vec<(u64, u64)>, Error> {
        let records = self.engine.query_run("replica_reads", include_str!("sql/replica_reads.sql"), self.side)?;
        records.read(|record| Ok((shape(&record)?, record.count("requests")?)))
    }

    /// See `sql/undecided.sql`.
    pub fn undecided(&self) -> Result<Vec<Undecided>, Error> {
        let records = self.engine.query_run("undecided", include_str!("sql/undecided.sql"), self.side)?;
        records.read(|record| {
            Ok(Undecided {
                shape: shape(&record)?,
                why: record.text("why")?,
                requests: record.count("requests")?,
                example: example(&record)?,
            })
        })
    }

    /// See `sql/latency.sql`.
    pub fn latency(&self) -> Result<Vec<Durations>, Error> {
        let records = self.engine.query_run("latency", include_str!("sql/latency.sql"), self.side)?;
        records.read(|record| {
            let part = record.text("part")?;
            let shape = record.maybe_int("shape")?.map(i64::cast_unsigned);
            Ok(Durations {
                shape: if part == "reads" { None } else { Some(shape.unwrap_or(0)) },
                part,
                nodes: record.maybe_text("nodes")?,
                read: record.flag("read")?,
                requests: record.count("requests")?,
                p50_ns: record.float("p50_ns")?,
                p99_ns: record.float("p99_ns")?,
                max_ns: record.float("max_ns")?,
                total_ns: record.float("total_ns")?,
            })
        })
    }
}
