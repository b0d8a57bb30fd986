//! The queries on both runs: the same request, answered twice.

use super::record::Record;
use super::run::split;
use super::session::{Engine, Error};
use crate::comparison::Example;
use crate::findings::timestamp;

/// Pairs of answers of one shape with the same verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Shape id; 0 where there is none.
    pub shape: u64,
    /// The verdict, a word of `sql/verdicts.sql`.
    pub verdict: String,
    /// How many.
    pub requests: u64,
    /// Why the answer may differ each time, by the statement itself.
    pub varies: Option<String>,
    /// Why the answer may differ each time, by what was written before.
    pub tainted: Option<String>,
    /// The first one, in the baseline.
    pub baseline: Answered,
    /// The first one, in the candidate.
    pub candidate: Answered,
}

/// A request and how many rows its answer has.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The request.
    pub example: Example,
    /// Rows of its answer.
    pub rows: Option<u64>,
}

/// A shape that may answer differently each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varying {
    /// Shape id.
    pub shape: u64,
    /// Why.
    pub why: String,
    /// Pairs of answers.
    pub requests: u64,
    /// Pairs that do differ.
    pub differ: u64,
}

/// The queries on both runs.
pub struct PairQueries<'a> {
    /// The session.
    pub engine: &'a Engine,
}

const VERDICTS: &str = include_str!("sql/verdicts.sql");

impl PairQueries<'_> {
    /// See `sql/answers.sql` and `sql/verdicts.sql`.
    pub fn answers(&self) -> Result<Vec<Compared>, Error> {
        let sql = include_str!("sql/answers.sql").replace("$verdicts", VERDICTS);
        let records = self.engine.query("answers", &sql)?;
        records.read(|record| {
            Ok(Compared {
                shape: record.maybe_int("shape")?.unwrap_or(0).cast_unsigned(),
                verdict: record.text("verdict")?,
                requests: record.count("requests")?,
                varies: record.maybe_text("varies")?,
                tainted: record.maybe_text("tainted")?,
                baseline: answered(
                    &record,
                    ["b_session", "b_seq", "b_start_ns", "b_sql", "b_nodes", "b_error_code", "b_row_count"],
                )?,
                candidate: answered(
                    &record,
                    ["c_session", "c_seq", "c_start_ns", "c_sql", "c_nodes", "c_error_code", "c_row_count"],
                )?,
            })
        })
    }

    /// See `sql/varying.sql`.
    pub fn varying(&self) -> Result<Vec<Varying>, Error> {
        let sql = include_str!("sql/varying.sql").replace("$verdicts", VERDICTS);
        let records = self.engine.query("varying", &sql)?;
        records.read(|record| {
            Ok(Varying {
                shape: record.maybe_int("shape")?.unwrap_or(0).cast_unsigned(),
                why: record.text("why")?,
                requests: record.count("requests")?,
                differ: record.count("differ")?,
            })
        })
    }
}

fn answered(record: &Record<'_>, columns: [&'static str; 7]) -> Result<Answered, Error> {
    let [session, seq, start_ns, sql, nodes, error_code, rows] = columns;
    let small = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let example = Example {
        session: record.int(session)?.cast_unsigned(),
        seq: small(record.int(seq)?),
        recorded_session: record.int("recorded_session")?.cast_unsigned(),
        recorded_seq: small(record.int("recorded_seq")?),
        at: timestamp(record.int(start_ns)?),
        sql: record.text(sql)?,
        nodes: split(record.maybe_text(nodes)?),
        error: record.maybe_text(error_code)?,
    };
    Ok(Answered { example, rows: record.maybe_int(rows)?.map(|rows| rows.max(0).unsigned_abs()) })
}
