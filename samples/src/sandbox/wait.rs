//! Waiting for a condition with a deadline.

use std::path::Path;
use std::time::{Duration, Instant};

use super::log;
use crate::error::{Error, Result};

const STEP: Duration = Duration::from_millis(25);

/// Asks `ready` until it says yes. A failing question is asked again; the last failure and the tail of the
/// server's log are part of the error when time runs out.
pub fn until(what: &str, seconds: u64, log_file: Option<&Path>, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let answer = ready();
        if let Ok(true) = answer {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let mut log = answer.err().map(|error| format!(" ({error})")).unwrap_or_default();
            log.push_str(&log_file.map(log::tail).unwrap_or_default());
            return Err(Error::Timeout { what: what.to_owned(), seconds, log });
        }
        std::thread::sleep(STEP);
    }
}
