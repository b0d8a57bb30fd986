//! Statements per second: our replay at full speed, straight to the server.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use splitproof_capture::trace::{Engine, Kind, Outcome, Reader};

use crate::decode::Packets;
use crate::tool;

/// Rounds, each with everybody in turn.
pub const ROUNDS: usize = 3;

/// Replays the trace that decoding left. The rate is that of the run's own rows, from the first statement's start to the last
/// one's end.
pub fn rate(engine: Engine, url: &str, folder: &Path) -> Result<f64> {
    let pair = folder.join(format!("{engine}-direct.toml"));
    std::fs::write(
        &pair,
        format!(
            "engine = \"{engine}\"\n[router]\nurl = \"{url}\"\n\n\
             [[node]]\nname = \"primary\"\nrole = \"primary\"\nurl = \"{url}\"\nevidence = \"none\"\n"
        ),
    )?;
    let run = folder.join(format!("{engine}-run"));
    let output = Command::new(tool::path("splitproof-replay")?)
        .arg(Packets::trace(engine, folder))
        .args(["--speed", "max", "--force", "--allow-recorded-server", "--pair"])
        .arg(&pair)
        .arg("-o")
        .arg(&run)
        .stdin(Stdio::null())
        .output()?;
    if output.status.code() == Some(2) {
        bail!("splitproof-replay failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let (mut statements, mut begin, mut end) = (0u32, i64::MAX, i64::MIN);
    for request in Reader::open(&run)?.requests() {
        let request = request?;
        if request.kind != Kind::Query || request.outcome != Outcome::Ok {
            continue;
        }
        statements += 1;
        begin = begin.min(request.start_ns);
        end = end.max(request.end_ns().unwrap_or(request.start_ns));
    }
    if statements == 0 {
        bail!("no statement was replayed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(f64::from(statements) / ((end - begin) as f64 / 1e9))
}
