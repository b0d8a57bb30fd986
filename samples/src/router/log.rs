//! The decision log: one JSON line per statement of a client. Ground truth for tests; no tool reads it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One statement of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When the decision was made, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The client's connection, from 1.
    pub session: u64,
    /// The statement within it, from 0.
    pub seq: u64,
    /// The text.
    pub sql: String,
    /// The servers that run it, the one that answers first.
    pub destinations: Vec<String>,
    /// Why.
    pub reason: String,
    /// The fault that changed the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The log, or none.
#[derive(Debug, Default)]
pub struct DecisionLog(Option<Mutex<BufWriter<File>>>);

impl DecisionLog {
    /// A log in this file, which is emptied first.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(DecisionLog(Some(Mutex::new(BufWriter::new(File::create(path)?)))))
    }

    /// Adds an entry. A log that cannot be written is not worth a client's session.
    pub fn write(&self, entry: impl FnOnce() -> Entry) {
        let Some(file) = &self.0 else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = serde_json::to_writer(&mut *file, &entry()).map_err(io::Error::from);
        if let Err(error) = written.and_then(|()| file.write_all(b"\n")).and_then(|()| file.flush()) {
            eprintln!("splitproof-router: cannot write the decision log: {error}");
        }
    }
}

/// Now, in nanoseconds since 1970.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
