//! What was typed, checked, as plain data.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use splitproof_analyze::check::{self, Fixture};
use splitproof_analyze::compare::Options;
use splitproof_analyze::gate::Gate;
use splitproof_capture::sql::Dialect;
use splitproof_replay::pair::{Pair, Passwords};

use super::flags::{CheckFlags, Command, CompareFlags, CoverageFlags, Flags, Format};

/// Below this, DataFusion cannot even sort.
const LEAST_MEMORY: usize = 64 << 20;

/// What to do.
pub enum Plan {
    /// Run a fixture against a real pair.
    Check(Check),
    /// Compare two runs.
    Compare(Compare),
    /// Measure a fixture's coverage.
    Coverage(Coverage),
    /// Send a trace through a model.
    Simulate(super::simulate::Simulate),
    /// Send texts through a model.
    Explain(super::explain::Explain),
    /// Look at rule files.
    Rules(super::rules::Rules),
    /// List the metrics.
    Metrics,
}

/// Compare two runs.
pub struct Compare {
    pub options: Options,
    /// The conditions of a file, where one was given.
    pub gate: Option<Gate>,
    pub html: Option<PathBuf>,
    pub json: Option<PathBuf>,
    pub junit: Option<PathBuf>,
    pub format: Format,
}

/// Run a fixture against a real pair.
pub struct Check {
    pub check: check::Plan,
    pub junit: Option<PathBuf>,
    pub format: Format,
}

/// Measure a fixture's coverage.
pub struct Coverage {
    pub trace: PathBuf,
    pub fixture: Vec<(u64, String)>,
    pub format: Format,
}

impl TryFrom<Flags> for Plan {
    type Error = anyhow::Error;

    fn try_from(flags: Flags) -> anyhow::Result<Self> {
        match flags.command {
            Command::Compare(flags) => compare(flags).map(Plan::Compare),
            Command::Coverage(flags) => coverage(flags).map(Plan::Coverage),
            Command::Check(flags) => check(flags).map(Plan::Check),
            Command::Simulate(flags) => flags.plan().map(Plan::Simulate),
            Command::Explain(flags) => flags.plan().map(Plan::Explain),
            Command::Rules(flags) => flags.plan().map(Plan::Rules),
            Command::Metrics => Ok(Plan::Metrics),
        }
    }
}

fn compare(flags: CompareFlags) -> anyhow::Result<Compare> {
    let gate = flags.gate.as_deref().map(Gate::read).transpose()?;
    // Find out before the work, not after it.
    let reports: Vec<&PathBuf> = [&flags.html, &flags.json, &flags.junit].into_iter().flatten().collect();
    for (index, path) in reports.iter().enumerate() {
        writable(path)?;
        ensure!(!reports[..index].contains(path), "{}: two reports cannot go to one file", path.display());
        for run in [&flags.baseline, &flags.candidate] {
            ensure!(
                !lies_in(path, run),
                "{}: lies in {}, which is compared; write reports elsewhere",
                path.display(),
                run.display()
            );
        }
    }
    if let Some(dir) = &flags.requests {
        ensure!(!dir.exists() || dir.is_dir(), "{}: is a file; name a directory", dir.display());
    }
    let fixture = if flags.fixture.is_empty() { None } else { Some(shapes(&flags.fixture)?) };
    Ok(Compare {
        options: Options {
            baseline: flags.baseline,
            candidate: flags.candidate,
            memory: size(&flags.memory)?,
            fixture,
            requests: flags.requests,
        },
        gate,
        html: flags.html,
        json: flags.json,
        junit: flags.junit,
        format: flags.format,
    })
}

fn coverage(flags: CoverageFlags) -> anyhow::Result<Coverage> {
    Ok(Coverage { trace: flags.trace, fixture: shapes(&flags.fixture)?, format: flags.format })
}

fn check(flags: CheckFlags) -> anyhow::Result<Check> {
    if let Some(path) = &flags.junit {
        writable(path)?;
    }
    let pair = Pair::read(&flags.pair)?;
    let check = check::Plan {
        fixture: Fixture::read(&flags.fixture)?,
        passwords: Passwords::from_environment(pair.engine)?,
        pair,
        tries: flags.tries,
    };
    Ok(Check { check, junit: flags.junit, format: flags.format })
}

/// The shapes of all statements of some fixtures.
fn shapes(paths: &[PathBuf]) -> anyhow::Result<Vec<(u64, String)>> {
    let mut shapes = Vec::new();
    for path in paths {
        let fixture = Fixture::read(path)?;
        let dialect = Dialect::of(fixture.engine);
        let steps = fixture.cases.iter().flat_map(|case| &case.session);
        shapes.extend(steps.map(|step| (dialect.shape_id(&step.sql), dialect.normalize(&step.sql))));
    }
    Ok(shapes)
}

/// Whether a file would lie in a directory, however the two are written.
fn lies_in(file: &Path, dir: &Path) -> bool {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), dir.canonicalize()) {
        (Ok(parent), Ok(dir)) => parent.starts_with(dir),
        _ => false,
    }
}

fn writable(path: &Path) -> anyhow::Result<()> {
    ensure!(!path.is_dir(), "{}: is a directory; name a file", path.display());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(parent.is_dir(), "{}: there is no directory {} to write it in", path.display(), parent.display());
    Ok(())
}

/// A size such as `512MB`; units are powers of 1024.
fn size(text: &str) -> anyhow::Result<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: usize = number.parse().with_context(|| format!("--memory {text}: expected a size such as 512MB"))?;
    let shift = match unit.trim().to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" if unit.is_empty() || unit.eq_ignore_ascii_case("b") => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => bail!("--memory {text}: unknown unit {unit:?}; use KB, MB, GB or TB"),
    };
    let bytes = number.checked_mul(1 << shift).with_context(|| format!("--memory {text}: too large"))?;
    ensure!(bytes >= LEAST_MEMORY, "--memory {text}: at least 64MB are needed");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("64MB", 64 << 20), ("1GB", 1 << 30), ("1g", 1 << 30), ("2GiB", 2 << 30), ("67108864", 64 << 20)]
        {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "GB", "1", "63MB", "12 parsecs", "99999999999999999999GB", "18446744073709551615GB", "-1GB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
