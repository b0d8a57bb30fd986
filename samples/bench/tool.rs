//! The tools of this workspace.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

/// Where a tool is: beside this program.
pub fn path(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is not built: cargo build --release --workspace", path.display());
    }
    Ok(path)
}

/// A program that gets one core of the machine.
pub fn one_core(program: PathBuf) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(program);
    command
}
