//! Statements per second straight to the server: our replay at full speed, pgbench, and pgreplay.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use splitproof_capture::trace::{Kind, Outcome, Reader};

use crate::decode::tool;
use crate::figure::{Figure, Goal};
use crate::traffic::{Driven, Traffic};

/// Rounds, each with all three in turn; the fastest of each counts.
const ROUNDS: usize = 3;

/// Measures all three with the same statements over the same number of connections.
pub fn measure(traffic: &Traffic, folder: &Path) -> Result<Vec<Figure>> {
    // The trace that decoding left; its statements are those of pgbench's run.
    let trace = folder.join("decoded");
    let log = pgreplay_file(traffic, folder)?;
    let (mut pgbench, mut ours, mut pgreplay) = (0.0f64, 0.0f64, 0.0f64);
    for _ in 0..ROUNDS {
        pgbench = pgbench.max(rate(&traffic.drive()?));
        ours = ours.max(rate(&replay(traffic, &trace, folder)?));
        pgreplay = pgreplay.max(rate(&replay_log(traffic, &log)?));
    }
    let detail = format!("splitproof-replay {ours:.0}/s, pgbench {pgbench:.0}/s, pgreplay {pgreplay:.0}/s");
    Ok(vec![
        Figure {
            name: "postgresql_replay_vs_pgbench",
            value: ours / pgbench,
            goal: Goal::AtLeast(0.7),
            detail: detail.clone(),
        },
        Figure { name: "postgresql_replay_vs_pgreplay", value: ours / pgreplay, goal: Goal::AtLeast(1.0), detail },
    ])
}

fn rate(driven: &Driven) -> f64 {
    driven.statements as f64 / driven.seconds
}

/// Replays the trace at full speed; the rate is that of the run's own rows, from the first statement's start to the last one's end.
fn replay(traffic: &Traffic, trace: &Path, folder: &Path) -> Result<Driven> {
    let pair = folder.join("direct.toml");
    let url = traffic.url();
    std::fs::write(
        &pair,
        format!(
            "engine = \"postgresql\"\n[router]\nurl = \"{url}\"\n\n\
             [[node]]\nname = \"primary\"\nrole = \"primary\"\nurl = \"{url}\"\nevidence = \"none\"\n"
        ),
    )?;
    let run = folder.join("run");
    let output = Command::new(tool("splitproof-replay")?)
        .arg(trace)
        .args(["--speed", "max", "--force", "--allow-recorded-server", "--pair"])
        .arg(&pair)
        .arg("-o")
        .arg(&run)
        .stdin(Stdio::null())
        .output()?;
    if output.status.code() == Some(2) {
        bail!("splitproof-replay failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let (mut statements, mut begin, mut end) = (0, i64::MAX, i64::MIN);
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
    Ok(Driven { statements, seconds: (end - begin) as f64 / 1e9 })
}

/// Has the server log one run of pgbench, and makes pgreplay's own file of it, so that reading the log is not timed.
fn pgreplay_file(traffic: &Traffic, folder: &Path) -> Result<std::path::PathBuf> {
    for (setting, value) in [
        ("log_line_prefix", "%m|%u|%d|%c|"),
        ("log_statement", "all"),
        ("log_connections", "on"),
        ("log_disconnections", "on"),
    ] {
        traffic.set(setting, value)?;
    }
    let before = std::fs::metadata(traffic.log())?.len();
    traffic.drive()?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    for (setting, value) in [("log_statement", "none"), ("log_connections", "off"), ("log_disconnections", "off")] {
        traffic.set(setting, value)?;
    }
    let log = std::fs::read(traffic.log())?;
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

/// Replays with pgreplay as fast as it goes.
fn replay_log(traffic: &Traffic, file: &Path) -> Result<Driven> {
    let begin = Instant::now();
    let output = Command::new("pgreplay")
        .args(["-r", "-j", "-s", "1000000", "-h", "127.0.0.1", "-p", &traffic.port().to_string()])
        .arg(file)
        .output()?;
    let seconds = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let statements = text
        .lines()
        .find_map(|line| line.trim().strip_suffix("SQL statements executed")?.trim().parse().ok())
        .or_else(|| {
            text.lines()
                .find(|line| line.contains("SQL statements"))?
                .split_whitespace()
                .find_map(|word| word.parse().ok())
        })
        .with_context(|| format!("pgreplay did not say how many statements it ran:\n{text}"))?;
    Ok(Driven { statements, seconds })
}
