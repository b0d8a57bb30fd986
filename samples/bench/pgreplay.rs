//! Statements per second: pgreplay, which replays what a PostgreSQL server logged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::pgbench::Server;

/// Has the server log one run of pgbench, and makes pgreplay's own file of it, so that reading the log is not timed.
pub fn file(server: &Server, folder: &Path) -> Result<PathBuf> {
    for (setting, value) in [
        ("log_line_prefix", "%m|%u|%d|%c|"),
        ("log_statement", "all"),
        ("log_connections", "on"),
        ("log_disconnections", "on"),
    ] {
        server.set(setting, value)?;
    }
    let before = std::fs::metadata(server.log())?.len();
    server.drive()?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    for (setting, value) in [("log_statement", "none"), ("log_connections", "off"), ("log_disconnections", "off")] {
        server.set(setting, value)?;
    }
    let log = std::fs::read(server.log())?;
    let log = log.get(usize::try_from(before)?..).context("the server's log became shorter")?;
    let text = folder.join("pgbench.log");
    std::fs::write(&text, log)?;
    let file = folder.join("pgbench.replay");
    let output = Command::new("pgreplay").arg("-f").arg("-o").arg(&file).arg(&text).output();
    let output = output.context("start pgreplay (package pgreplay)")?;
    if !output.status.success() {
        bail!("pgreplay cannot read the log: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(file)
}

/// Replays as fast as it goes.
pub fn rate(server: &Server, file: &Path) -> Result<f64> {
    let begin = Instant::now();
    let output = Command::new("pgreplay")
        .args(["-r", "-j", "-s", "1000000", "-h", "127.0.0.1", "-p", &server.port().to_string()])
        .arg(file)
        .output()?;
    let seconds = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let statements: u32 = text
        .lines()
        .find_map(|line| line.trim().strip_suffix("SQL statements executed")?.trim().parse().ok())
        .or_else(|| {
            text.lines()
                .find(|line| line.contains("SQL statements"))?
                .split_whitespace()
                .find_map(|word| word.parse().ok())
        })
        .with_context(|| format!("pgreplay did not say how many statements it ran:\n{text}"))?;
    Ok(f64::from(statements) / seconds)
}
