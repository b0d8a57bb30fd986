//! A judged request between the two halves of its verdict.

use std::sync::Arc;

use super::cursor::Moment;
use super::snapshot::AsOf;
use crate::engine::Row;
use crate::staleness::{Place, Scope};

/// A judged request that waits until all commits up to its end are known.
pub(super) struct Pending {
    pub row: Row,
    /// What it reads or writes.
    pub scope: Scope,
    /// What it reads.
    pub reads: Scope,
    /// Of a read on a replica, the execution whose data it shows.
    pub read: Option<Moment>,
    /// Which state of the data its answer shows.
    pub as_of: AsOf,
    pub end_ns: i64,
    /// Of a read that a replica may serve: the last commit of its session.
    pub causal: Option<Option<Place>>,
    pub client: Option<Arc<str>>,
}
