//! The tools of this workspace.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Where a tool is: beside this program.
pub fn path(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is not built: cargo build --release --workspace", path.display());
    }
    Ok(path)
}
