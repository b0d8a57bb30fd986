//! The pair, one replay after another, and the comparisons.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use splitproof_capture::trace::Engine;

use super::finding::{self, Entry};
use super::scene::Expected;
use crate::sandbox::state::Backends;
use crate::sandbox::{Plan, Sandbox, process};

/// The router that is right; see the file.
const HONEST: &str = include_str!("../../router/parsed.yaml");

/// A pair with the shop's data.
#[derive(Debug)]
pub struct Stage {
    /// The pair.
    pub sandbox: Sandbox,
    home: PathBuf,
}

/// How a replay differs from that of a router without faults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Twist<'a> {
    /// The fault that the router commits.
    pub fault: Option<&'a str>,
    /// What differs besides.
    pub expected: Option<&'a Expected>,
}

impl Stage {
    /// Starts a pair under `home` and loads the shop.
    pub fn set(engine: Engine, home: &Path) -> Result<Self> {
        let mut sandbox = Sandbox::create_with(home.join("pair"), Plan::new(engine)?)?;
        sandbox.up()?;
        sandbox.load_shop()?;
        sandbox.snapshot()?;
        sandbox.write_pair_toml(Some(&home.join("pair.toml")))?;
        Ok(Stage { sandbox, home: home.to_owned() })
    }

    /// A file or directory of the stage.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Replays a recording into the pair as it was in the beginning.
    pub fn play(&mut self, recording: &Path, run: &Path, twist: Twist<'_>) -> Result<()> {
        self.sandbox.restore()?;
        let changes = twist.expected.map_or("", |expected| &expected.configuration);
        let configuration = self.path("router.yaml");
        std::fs::write(&configuration, changed(HONEST, changes)).context("cannot write the router's rules")?;
        if let Some(delay) = twist.expected.map(|expected| expected.delay).filter(|&delay| delay > 0) {
            self.sandbox.delay(delay)?;
        }
        let arguments: Vec<String> =
            twist.fault.into_iter().flat_map(|fault| ["--fault".to_owned(), fault.to_owned()]).collect();
        let configuration = configuration.to_str().context("the directory's name is not UTF-8")?;
        self.sandbox.router_with(configuration, Backends::Taps, &arguments)?;
        let mut replay = tool("replay")?;
        replay.arg(recording).arg("--pair").arg(self.path("pair.toml")).arg("-o").arg(run);
        replay.args(["--allow-recorded-server", "--format", "json"]);
        // A busy machine sends late, which is exit code 1; it has to send everything all the same.
        let summary: serde_json::Value = serde_json::from_str(&output(replay, 1)?)?;
        let whole = summary["sent"] == summary["recorded"] && summary["lost_sessions"] == 0;
        ensure!(whole, "the replay is not whole: {summary}");
        Ok(())
    }

    /// Compares two runs; gives what is blamed on the candidate.
    pub fn compare(&self, baseline: &Path, candidate: &Path) -> Result<Vec<Entry>> {
        let report = candidate.with_extension("json");
        let mut compare = tool("analyze")?;
        compare.arg("compare").args([baseline, candidate]).arg("--json").arg(&report);
        let _ = std::fs::remove_file(&report);
        // On a busy machine latencies may not be judged (2); the report with the findings is there all the same.
        output(compare, 2)?;
        finding::read(&report)
    }
}

fn tool(name: &str) -> Result<Command> {
    Ok(Command::new(process::beside_us(&format!("splitproof-{name}"))?))
}

/// Runs a tool whose exit code is at most `worst`; gives what it printed.
fn output(mut command: Command, worst: i32) -> Result<String> {
    let ended = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if ended.status.code().is_none_or(|code| code > worst) {
        bail!("{command:?}: {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
    }
    Ok(String::from_utf8(ended.stdout)?)
}

/// A configuration with lines in place of those with the same key.
fn changed(configuration: &str, changes: &str) -> String {
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.to_owned());
    let kept = |line: &&str| !changes.lines().any(|change| key(change).is_some() && key(change) == key(line));
    configuration.lines().filter(kept).chain(changes.lines()).fold(String::new(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_takes_the_place_of_its_key() {
        let text = changed(HONEST, "causal_reads: false\ncausal_timeout_ms: 5");
        let config = crate::router::Config::parse(Path::new("router.yaml"), &text).unwrap();
        assert!(!config.causal_reads && config.causal_timeout_ms == 5 && config.transaction_persistent);
    }
}
