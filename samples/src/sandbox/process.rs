//! Processes by their id, with the check that the id still means our process.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

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
