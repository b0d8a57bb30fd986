//! How far a replay is: counters that the sessions' side writes and a display reads.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a replay is.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    due: AtomicU64,
    done: AtomicU64,
    late: AtomicU64,
    errors: AtomicU64,
    lags: Mutex<Vec<Lag>>,
}

/// How far a replica is behind the primary, by the last samples of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Name of the replica.
    pub node: String,
    /// What it has not replayed.
    pub behind: Behind,
}

/// What a replica has not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// PostgreSQL: bytes of WAL.
    Bytes(u64),
    /// MySQL and MariaDB: transactions.
    Transactions(u64),
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Requests of the trace.
    pub total: u64,
    /// Requests that were given to their sessions.
    pub due: u64,
    /// Requests that are finished.
    pub done: u64,
    /// Requests among them that were sent late.
    pub late: u64,
    /// Requests among them that did not end well.
    pub errors: u64,
    /// How far the replicas are behind.
    pub lags: Vec<Lag>,
}

impl Progress {
    /// The trace holds this many requests.
    pub fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Requests were given to their sessions.
    pub fn fed(&self, count: u64) {
        self.due.fetch_add(count, Ordering::Relaxed);
    }

    /// Requests are finished.
    pub fn done(&self, count: u64, late: u64, errors: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
        self.late.fetch_add(late, Ordering::Relaxed);
        self.errors.fetch_add(errors, Ordering::Relaxed);
    }

    /// A replica's distance is known anew.
    pub fn lag(&self, node: &str, behind: Behind) {
        let mut lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        match lags.iter_mut().find(|lag| lag.node == node) {
            Some(lag) => lag.behind = behind,
            None => lags.push(Lag { node: node.to_owned(), behind }),
        }
    }

    /// The counters now.
    pub fn read(&self) -> Reading {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Reading {
            total: get(&self.total),
            due: get(&self.due),
            done: get(&self.done),
            late: get(&self.late),
            errors: get(&self.errors),
            lags: self.lags.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
