//! What a relay did so far.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// What a relay did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that are open now.
    pub open: u64,
    /// Connections for which the server could not be reached.
    pub unreachable: u64,
    /// Connections that broke without an orderly end.
    pub broken: u64,
    /// Times that the system refused to accept a connection, for instance for lack of file descriptors.
    pub accept_errors: u64,
    /// Bytes from clients.
    pub client_bytes: u64,
    /// Bytes from the server.
    pub server_bytes: u64,
    /// Bytes of both that are decoded: what they asked for is in the sink.
    pub decoded_bytes: u64,
    /// Rows recorded.
    pub rows: u64,
    /// Times that a connection had to wait for the decoder.
    pub waits: u64,
}

/// The same, shared by the tasks of a relay.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub accepted: AtomicU64,
    pub open: AtomicU64,
    pub unreachable: AtomicU64,
    pub broken: AtomicU64,
    pub accept_errors: AtomicU64,
    pub client_bytes: AtomicU64,
    pub server_bytes: AtomicU64,
    pub decoded_bytes: AtomicU64,
    pub rows: AtomicU64,
    pub waits: AtomicU64,
}

impl Counters {
    /// True when everything that has passed is decoded.
    pub fn is_decoded(&self) -> bool {
        self.decoded_bytes >= self.client_bytes.saturating_add(self.server_bytes)
    }
}

impl Live {
    pub fn snapshot(&self) -> Counters {
        Counters {
            accepted: self.accepted.load(Relaxed),
            open: self.open.load(Relaxed),
            unreachable: self.unreachable.load(Relaxed),
            broken: self.broken.load(Relaxed),
            accept_errors: self.accept_errors.load(Relaxed),
            client_bytes: self.client_bytes.load(Relaxed),
            server_bytes: self.server_bytes.load(Relaxed),
            // Whoever sees a byte as decoded sees the rows that came of it.
            decoded_bytes: self.decoded_bytes.load(Acquire),
            rows: self.rows.load(Relaxed),
            waits: self.waits.load(Relaxed),
        }
    }
}

/// Counts one more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
