//! The sandbox against real servers.

mod replay;
mod sandbox;
mod shop;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A temporary directory that the servers' user may pass through; a new one is closed to others.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path() as &Path, std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}
