//! Processes by their id, with the check that the id still means our process.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{At, Result};

/// Whether process `pid` runs and its command line or working directory names `path`. A process id read from
/// a file may by now belong to somebody else.
pub fn runs(pid: i32, path: &Path) -> bool {
    let proc = Path::new("/proc").join(pid.to_string());
    let Ok(command) = std::fs::read(proc.join("cmdline")) else { return false };
    // A process that ended and was not yet collected has an empty command line.
    let named = String::from_utf8_lossy(&command).contains(&*path.to_string_lossy());
    named || (!command.is_empty() && std::fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd == path))
}

/// Sends a signal to one process. It may be gone already, which is what was wanted.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills a process and every process of its group.
pub fn kill_group(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Starts a program that outlives this one; gives its process id. Its exit status is collected whenever it ends, so
/// that no zombie is left that looks alive.
pub fn spawn(mut command: Command) -> std::io::Result<i32> {
    let mut child = command.spawn()?;
    let pid = child.id();
    let ended = std::thread::spawn(move || child.wait());
    // The kernel reports the start a moment before it shows the arguments. Until then [`runs`] would say no.
    let arguments = Path::new("/proc").join(pid.to_string()).join("cmdline");
    while !ended.is_finished() && std::fs::read(&arguments).is_ok_and(|text| text.is_empty()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(i32::try_from(pid).unwrap_or(i32::MAX))
}

/// A command that a Ctrl-C at the terminal does not reach, with the caller's rights.
pub fn detached(program: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).process_group(0);
    command
}

/// A program that is built together with this one: in the same directory, or for a test in the one above.
pub fn beside_us(name: &str) -> Result<PathBuf> {
    let us = std::env::current_exe().at("find", Path::new("this program"))?;
    let here = us.parent().unwrap_or(Path::new("/"));
    let build = if here.ends_with("deps") { here.parent().unwrap_or(here) } else { here };
    Ok(build.join(name))
}
