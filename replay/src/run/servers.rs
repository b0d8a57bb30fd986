//! The servers of a recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use splitproof_capture::trace::{Columns, Error, Reader};

/// Addresses of the servers that the trace was recorded at. Reads one column of the whole trace, which repeats its few
/// values and so is small.
pub fn recorded(trace: &Reader) -> Result<BTreeSet<Arc<str>>, Error> {
    let mut servers = BTreeSet::new();
    for request in trace.requests_with(Columns::Only(vec!["server"])) {
        if let Some(server) = request?.server
            && !servers.contains(&server)
        {
            servers.insert(server);
        }
    }
    Ok(servers)
}
