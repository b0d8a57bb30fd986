//! Who is connected: the router's own connection numbers, each standing for that of the server at work, so that a
//! client's KILL reaches what it means.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::router::node::NodeId;

/// The connections.
#[derive(Debug, Default)]
pub struct Connections {
    next: AtomicU32,
    known: Mutex<HashMap<u32, Option<(NodeId, u32)>>>,
}

impl Connections {
    /// A number for a new connection.
    pub fn issue(&self) -> u32 {
        let number = self.next.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.lock().insert(number, None);
        number
    }

    /// The server and its number that works for a connection from now on.
    pub fn at_work(&self, number: u32, server: (NodeId, u32)) {
        if let Some(known) = self.lock().get_mut(&number) {
            *known = Some(server);
        }
    }

    /// The server that worked last for a connection.
    pub fn find(&self, number: u32) -> Option<(NodeId, u32)> {
        self.lock().get(&number).copied().flatten()
    }

    /// The connection has ended.
    pub fn forget(&self, number: u32) {
        self.lock().remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Option<(NodeId, u32)>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
