//! The sandbox against real servers, and the tools against the sandbox.
//!
//! - `sandbox`, `mysql_sandbox`, `shop`, `mysql_shop`: the pairs, and the workload through pgpool-II
//! - `sysbench`: another workload on MariaDB, recorded, replayed twice and compared with itself
//! - `log_replay`: what a server logged, replayed
//! - `replay`, `mysql_replay`: the replayer's promises, through its library; `mysql_nodes`: its control connections
//! - `demo`, `destinations`, `crowd`, `direct`, `staleness`, `bodies`, `probe`, `catalogue`, `bad_input`: the tools end to end
//! - `mysql_log`, `mysql_reads`, `mysql_catalogue`, `mysql_cursors`, `mysql_bad_input`: the same on MariaDB, behind the sample router
//! - `router`, `router_postgresql`, `router_mysql`: the sample router, right, and in `faults` below each wrong
//! - `matrix`: every fault of the sample router, named by the analyzer
//! - `stage`, `mysql_stage`: the pairs and the replays that those share; `tools`: the tools as their users run them
//! - `verdict`: what `compare` writes, as far as the tests read it; `pgpool_log`: the second opinion on destinations

mod bad_input;
mod bodies;
mod catalogue;
mod crowd;
mod demo;
mod destinations;
mod direct;
mod log_replay;
mod matrix;
mod mysql_bad_input;
mod mysql_catalogue;
mod mysql_cursors;
mod mysql_log;
mod mysql_nodes;
mod mysql_reads;
mod mysql_replay;
mod mysql_sandbox;
mod mysql_shop;
mod mysql_stage;
mod pgpool_log;
mod probe;
mod replay;
mod router;
mod router_mysql;
mod router_postgresql;
mod sandbox;
mod shop;
mod stage;
mod staleness;
mod sysbench;
mod tools;
mod verdict;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A temporary directory that the servers' user may pass through; a new one is closed to others.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path() as &Path, std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}
