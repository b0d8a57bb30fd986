//! Wrong destinations that show only over several statements of a session, or that no request shows.
//!
//! - [`transaction`]: transactions whose statements ran on different nodes
//! - [`state`]: session state that missed a node
//! - [`ties`]: user variables, insert ids and warnings asked for on another node than they were left on
//! - [`extra`]: executions that no client asked for, and writes that ran twice
//!
//! What one request alone shows (write leakage, accidental primary reads, stale reads) is counted by the queries of
//! [`engine`](crate::engine).

pub mod extra;
pub mod state;
pub mod ties;
pub mod transaction;

use std::sync::Arc;

use splitproof_capture::trace::Request;

use crate::attribution::NodeIndex;
use crate::comparison::{Example, Shape, ShapeId};
use crate::intent::Verdict;

/// A request as the session findings see it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its shape's text.
    pub shape: &'a Arc<str>,
    /// Where it belongs, as a word.
    pub intent: &'static str,
    /// The verdict on it.
    pub verdict: &'a Verdict,
    /// Where it ran; `None` where that is not known or nothing was executed.
    pub nodes: Option<&'a [NodeIndex]>,
}

/// Codes of a write on a read-only node: PostgreSQL's SQLSTATE; MySQL's and MariaDB's ER_OPTION_PREVENTS_STATEMENT
/// (--read-only), ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION and ER_READ_ONLY_MODE.
pub(crate) const READ_ONLY: &[&str] = &["25006", "1290", "1792", "1836"];

/// Longest statement text in an example, in characters.
const EXAMPLE_CHARS: usize = 400;

/// A statement text, shortened for a report.
pub fn shorten(sql: &str) -> String {
    match sql.char_indices().nth(EXAMPLE_CHARS) {
        Some((at, _)) => format!("{}…", &sql[..at]),
        None => sql.to_string(),
    }
}

/// A time as RFC 3339 text, UTC.
pub fn timestamp(ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns)).map_or_else(|_| ns.to_string(), |time| format!("{time:.6}"))
}

/// Names for node numbers.
pub fn names(nodes: &[NodeIndex], all: &[Arc<str>]) -> Vec<String> {
    nodes.iter().filter_map(|&node| all.get(node)).map(|name| name.to_string()).collect()
}

impl Step<'_> {
    fn shape(&self) -> Shape {
        Shape { id: ShapeId(self.request.shape_id.unwrap_or(0)), text: self.shape.to_string() }
    }

    fn example(&self, nodes: &[Arc<str>]) -> Example {
        example(self.request, names(self.nodes.unwrap_or(&[]), nodes))
    }
}

/// A request as an example.
pub fn example(request: &Request, nodes: Vec<String>) -> Example {
    Example {
        session: request.session,
        seq: request.seq,
        recorded_session: request.recorded_session.unwrap_or(request.session),
        recorded_seq: request.recorded_seq.unwrap_or(request.seq),
        at: timestamp(request.start_ns),
        sql: shorten(request.sql.as_deref().unwrap_or("")),
        nodes,
        error: request.error_code.as_deref().map(str::to_string),
    }
}
