//! The unprivileged user that the servers run as, and how to run a program as that user.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};

use super::log;
use crate::error::{Error, Result};

/// The users that root hands the servers to, in order of preference.
const CANDIDATES: [&str; 3] = ["postgres", "mysql", "nobody"];

/// An operating system user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Owner {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

impl Owner {
    /// The current user, or for root the first candidate that exists: a server needs no such rights, and PostgreSQL
    /// refuses them.
    pub fn find() -> Result<Self> {
        if !geteuid().is_root() {
            let uid = geteuid().as_raw();
            let name = uzers::get_user_by_uid(uid)
                .map_or_else(|| uid.to_string(), |user| user.name().to_string_lossy().into_owned());
            return Ok(Self { name, uid, gid: getegid().as_raw() });
        }
        CANDIDATES
            .iter()
            .find_map(uzers::get_user_by_name)
            .map(|user| Self {
                name: user.name().to_string_lossy().into_owned(),
                uid: user.uid(),
                gid: user.primary_group_id(),
            })
            .ok_or_else(|| Error::NoUser { tried: CANDIDATES.join(", ") })
    }

    /// A command that runs as this user, in `dir`, in a process group of its own, so that a Ctrl-C at the
    /// terminal reaches only the sandbox's own program. The environment is clean: a PGPORT of the caller must
    /// not lead a tool to another server.
    pub fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().env("HOME", dir).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null()).process_group(0);
        if geteuid().is_root() {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Gives a file or directory to this user; nothing to do when it is the current user.
    pub fn own(&self, path: &Path) -> Result<()> {
        use crate::error::At;
        if geteuid().is_root() {
            std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid)).at("give away", path)?;
        }
        Ok(())
    }
}

/// The exit status of a tool that could not be started.
pub(crate) const NO_START: &str = "no start";

/// Runs a tool to its end and gives what it printed on stdout. On failure the error holds its output and the
/// tail of the server log `log_file`.
pub fn run(mut command: Command, log_file: Option<&Path>) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |status: String, output: String| Error::Tool {
        program: program.clone(),
        status,
        output,
        log: log_file.map(log::tail).unwrap_or_default(),
    };
    let output = command.output().map_err(|error| failed(NO_START.to_owned(), error.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(failed(output.status.to_string(), format!("{}{}", stdout, stderr).trim().to_owned()))
}
