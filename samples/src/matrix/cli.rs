//! The command line of `splitproof-matrix`, and the table that it prints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Parser;
use splitproof_capture::trace::Engine;

use super::confirm::confirm;
use super::finding::{Entry, Finding};
use super::record::{Cast, record};
use super::scene::{Scene, faults};
use super::stage::{Stage, Twist};
use super::verdict::{self, Verdict};

/// The router without causal reads, which is a configuration and no fault.
const CAREFREE: &str = "causal-reads-off";

/// Commit every fault of the sample router before a real pair, and see whether Splitproof names it.
///
/// Prints one line for each: `matrix ENGINE FAULT found|missed FINDING false=N`, where N counts findings that the fault does not
/// explain. A router without faults is `clean` when nothing at all is found. What was missed, and what is false, follows on standard
/// error. Exit code 0: every fault found and no false finding.
#[derive(Debug, Parser)]
#[command(
    name = "splitproof-matrix",
    version,
    after_help = "Example:\n  splitproof-matrix --engine postgresql --fault split-transaction --seeds 0"
)]
pub struct Cli {
    /// Only this engine: postgresql, or mysql for MariaDB
    #[arg(long, value_parser = engine)]
    engine: Option<Engine>,
    /// Only these faults
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    fault: Vec<String>,
    /// Replays through a router without faults, each in an order of its own
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Sessions and expectations from a file in place of the shipped ones
    #[arg(long, value_name = "FILE", requires = "engine")]
    scene: Option<PathBuf>,
    /// Keep the runs in this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn engine(word: &str) -> Result<Engine, String> {
    Engine::from_word(word).ok_or_else(|| "give one of: postgresql, mysql".to_owned())
}

impl Cli {
    /// Runs the matrix; true when nothing was missed and nothing is false.
    pub fn run(self) -> Result<bool> {
        let engines = [Engine::Postgresql, Engine::Mysql];
        let engines: Vec<Engine> = engines.into_iter().filter(|one| self.engine.is_none_or(|it| it == *one)).collect();
        for name in &self.fault {
            if name != CAREFREE && !engines.iter().any(|one| faults(*one).any(|fault| fault.name() == name)) {
                bail!("there is no fault {name:?} here: see splitproof-router --list-faults");
            }
        }
        let temporary = tempfile::Builder::new().prefix("splitproof-matrix-").tempdir()?;
        let home = match &self.keep {
            Some(dir) => {
                std::fs::create_dir(dir).with_context(|| format!("cannot create {}", dir.display()))?;
                dir.as_path()
            }
            None => temporary.path(),
        };
        let mut good = true;
        for engine in engines {
            good &= self.run_on(engine, &home.join(engine.as_str()))?;
        }
        Ok(good)
    }

    fn run_on(&self, engine: Engine, home: &Path) -> Result<bool> {
        passable(home)?;
        let scene = Arc::new(match &self.scene {
            Some(path) => Scene::read(path, engine)?,
            None => Scene::of(engine)?,
        });
        let mut stage = Stage::set(engine, home)?;
        let mut matrix = Matrix { scene, good: true, stage: &mut stage, engine };
        matrix.faults(&self.fault)?;
        if self.fault.is_empty() {
            for seed in 2..2 + self.seeds {
                matrix.seed(seed)?;
            }
        }
        let good = matrix.good;
        // Not with `?`: the answer is there.
        if let Err(error) = stage.sandbox.down() {
            eprintln!("splitproof-matrix: {error}");
        }
        Ok(good)
    }
}

/// Makes a directory that the servers' user may pass through, with those above it.
fn passable(home: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(home)?;
    for dir in [Some(home), home.parent()].into_iter().flatten() {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))
            .with_context(|| format!("cannot open {} to the servers", dir.display()))?;
    }
    Ok(())
}

struct Matrix<'a> {
    scene: Arc<Scene>,
    stage: &'a mut Stage,
    engine: Engine,
    good: bool,
}

impl Matrix<'_> {
    /// One recording, replayed once for each fault that is wanted; all when none is named.
    fn faults(&mut self, wanted: &[String]) -> Result<()> {
        let together = self.baseline("together", Cast::All(1))?;
        let scene = Arc::clone(&self.scene);
        for (name, expected) in &scene.faults {
            if !wanted.is_empty() && !wanted.contains(name) {
                continue;
            }
            let (recording, baseline) = match expected.alone {
                true => self.baseline(&format!("alone-{name}"), Cast::Alone(name))?,
                false => together.clone(),
            };
            let run = self.stage.path(name);
            let fault = Some(name.as_str()).filter(|name| *name != CAREFREE);
            self.stage.play(&recording, &run, Twist { fault, expected: Some(expected) })?;
            let entries = self.stage.compare(&baseline, &run)?;
            let refuted = match fault {
                Some(_) => 0,
                None => self.refuted(&baseline, &run, &entries)?,
            };
            let verdict = verdict::of(&scene, self.engine, name, expected, entries);
            self.print(name, expected.finding, &verdict, refuted);
        }
        Ok(())
    }

    /// A recording in an order of its own, through a router without faults, twice.
    fn seed(&mut self, seed: u64) -> Result<()> {
        let (recording, baseline) = self.baseline(&seed.to_string(), Cast::All(seed))?;
        let run = self.stage.path(&format!("seed-{seed}"));
        self.stage.play(&recording, &run, Twist::default())?;
        let entries = self.stage.compare(&baseline, &run)?;
        let word = if entries.is_empty() { "clean" } else { "missed" };
        println!("matrix {} none/{seed} {word} - false={}", self.engine.as_str(), entries.len());
        self.complain(&[], &entries);
        Ok(())
    }

    /// A recording, and its replay through a router without faults.
    fn baseline(&mut self, name: &str, cast: Cast<'_>) -> Result<(PathBuf, PathBuf)> {
        let recording = self.stage.path(&format!("recording-{name}"));
        let run = self.stage.path(&format!("baseline-{name}"));
        self.stage.sandbox.restore()?;
        record(&self.stage.sandbox, &self.scene, cast, &recording)?;
        self.stage.play(&recording, &run, Twist::default())?;
        Ok((recording, run))
    }

    fn refuted(&self, baseline: &Path, run: &Path, entries: &[Entry]) -> Result<usize> {
        let confirmed = confirm(&self.stage.sandbox, baseline, run, entries)?;
        eprintln!("  {} stale answers read again, {} refuted", confirmed.read, confirmed.refuted);
        // Without a single one there would be nothing to confirm.
        Ok(confirmed.refuted + usize::from(confirmed.read == 0))
    }

    fn print(&mut self, name: &str, finding: Finding, verdict: &Verdict, refuted: usize) {
        let word = if verdict.found { "found" } else { "missed" };
        let wrong = verdict.unexpected.len() + refuted;
        println!("matrix {} {name} {word} {finding} false={wrong}", self.engine.as_str());
        self.good &= refuted == 0;
        self.complain(&verdict.missing, &verdict.unexpected);
    }

    fn complain(&mut self, missing: &[String], unexpected: &[Entry]) {
        self.good &= missing.is_empty() && unexpected.is_empty();
        for sql in missing {
            eprintln!("  not shown: {sql}");
        }
        for Entry { finding, requests, example, .. } in unexpected {
            eprintln!("  false: {finding} x {requests}: {example}");
        }
    }
}
