//! Statements per second out of logs: ours to a finished trace, and the peer that reads the same log.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::figure::{Figure, Goal};
use crate::rounds::medians;
use crate::tool;

const ROUNDS: usize = 3;

/// A log, and who else reads it.
pub struct Log {
    /// As `--format` names it.
    pub format: &'static str,
    /// The log.
    pub path: PathBuf,
    /// The peer's name.
    pub peer: &'static str,
    /// Its package.
    pub package: &'static str,
    /// Its arguments before the log.
    pub arguments: &'static [&'static str],
    /// How many times faster we should be.
    pub least: f64,
}

/// Measures both, on one core.
pub fn measure(log: &Log, folder: &Path) -> Result<Figure> {
    let trace = folder.join("log");
    let capture = || -> Result<Command> {
        let mut command = tool::one_core(tool::path("splitproof-capture")?);
        command.args(["log", "--force", "--format", log.format, "-o"]).arg(&trace);
        Ok(command)
    };
    let peer = || {
        let mut command = tool::one_core(log.peer.into());
        command.args(log.arguments);
        command
    };
    let they = format!("{} (package {})", log.peer, log.package);
    let [ours, theirs] = medians(
        ROUNDS,
        [&mut || timed(capture()?, &log.path, "splitproof-capture"), &mut || timed(peer(), &log.path, &they)],
    )?;
    let size = std::fs::metadata(&log.path)?.len() as f64 / 1e6;
    Ok(Figure {
        name: format!("{}_vs_{}", log.format.replace('-', "_"), log.peer.replace('-', "_")),
        value: theirs / ours,
        goal: Goal::AtLeast(log.least),
        detail: format!(
            "{size:.0} MB on one core: splitproof-capture {:.0} MB/s, {} {:.1} MB/s",
            size / ours,
            log.peer,
            size / theirs
        ),
    })
}

/// Seconds that a reader takes; `who` it is, for errors.
fn timed(mut command: Command, log: &Path, who: &str) -> Result<f64> {
    let begin = Instant::now();
    let output = command.arg(log).stdin(Stdio::null()).output().with_context(|| format!("start {who}"))?;
    if !output.status.success() {
        bail!("{who} cannot read {}: {}", log.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(begin.elapsed().as_secs_f64())
}
