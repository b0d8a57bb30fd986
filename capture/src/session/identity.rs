//! Whose rows the rows of a session are.

use std::sync::Arc;

use super::Start;
use crate::trace::{Kind, Request};

/// Who talks to whom, and the number of the next row.
pub(super) struct Identity {
    /// Number of the session within the recording.
    pub id: u64,
    pub database: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub application: Option<Arc<str>>,
    client: Arc<str>,
    server: Arc<str>,
    next_seq: u32,
    gap_before_next: bool,
    midway: bool,
}

impl Identity {
    pub fn new(id: u64, start: Start) -> Self {
        Identity {
            id,
            database: None,
            user: None,
            application: None,
            client: start.client,
            server: start.server,
            next_seq: 0,
            gap_before_next: false,
            midway: start.midway,
        }
    }

    /// The server's address and port.
    pub fn server(&self) -> Arc<str> {
        Arc::clone(&self.server)
    }

    /// Number of the next row.
    pub fn next_seq(&self) -> u32 {
        self.next_seq
    }

    /// A row that begins now. Rows are numbered in the order in which the client asked.
    pub fn row(&mut self, at_ns: i64, kind: Kind) -> Request {
        let mut row = Request::new(self.id, self.next_seq, at_ns, kind);
        self.next_seq = self.next_seq.saturating_add(1);
        row.gap_before = std::mem::take(&mut self.gap_before_next);
        row.joined_midway = self.midway;
        row
    }

    /// Bytes are missing before the next row.
    pub fn gap(&mut self) {
        self.gap_before_next = true;
    }

    /// Writes into a finished row who talks to whom.
    pub fn write_to(&self, row: &mut Request) {
        row.database.clone_from(&self.database);
        row.user.clone_from(&self.user);
        row.application.clone_from(&self.application);
        row.client = Some(Arc::clone(&self.client));
        row.server = Some(Arc::clone(&self.server));
    }
}
