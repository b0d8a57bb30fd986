//! What was typed, checked, as plain data.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use splitproof_analyze::canary::{By, Cost, Target};
use splitproof_analyze::census::{Census, Known};
use splitproof_analyze::check::{self, Fixture};
use splitproof_analyze::compare::{Noise, Options};
use splitproof_analyze::gate::Gate;
use splitproof_replay::pair::{Pair, Passwords};

use super::flags::{
    AuditFlags, CanaryFlags, CheckFlags, Command, CompareFlags, CoverageFlags, Flags, Format, Least, RoutesFlags,
};

/// Below this, DataFusion cannot even sort.
const LEAST_MEMORY: usize = 64 << 20;

/// What to do.
pub enum Plan {
    /// Run a fixture against a real pair.
    Check(Check),
    /// Compare two runs.
    Compare(Compare),
    /// Measure what of production a window covers, and a fixture's coverage.
    Coverage(Coverage),
    /// Send a trace through a model.
    Simulate(super::simulate::Simulate),
    /// Send texts through a model.
    Explain(super::explain::Explain),
    /// Look at rule files.
    Rules(super::rules::Rules),
    /// List the primary's reads that a replica may serve.
    Audit(Audit),
    /// Describe the application's routes.
    Routes(Routes),
    /// Choose a canary.
    Canary(Canary),
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

/// Measure coverage.
pub struct Coverage {
    pub trace: PathBuf,
    pub census: Option<Census>,
    pub fixture: Option<Vec<Fixture>>,
    pub format: Format,
}

/// List the primary's reads that a replica may serve.
pub struct Audit {
    pub census: Census,
    pub writer: Option<i64>,
    pub catalog: Option<PathBuf>,
    pub format: Format,
}

/// Describe the application's routes.
pub struct Routes {
    pub trace: PathBuf,
    pub capacity: Option<f64>,
    pub memory: usize,
    pub format: Format,
}

/// Choose a canary.
pub struct Canary {
    pub trace: PathBuf,
    pub by: By,
    pub target: Target,
    pub cost: Cost,
    pub random: f64,
    pub format: Format,
}

impl TryFrom<Flags> for Plan {
    type Error = anyhow::Error;

    fn try_from(flags: Flags) -> anyhow::Result<Self> {
        match flags.command {
            Command::Compare(flags) => compare(flags).map(Plan::Compare),
            Command::Coverage(flags) => coverage(flags).map(Plan::Coverage),
            Command::Audit(flags) => audit(flags).map(Plan::Audit),
            Command::Routes(flags) => routes(flags).map(Plan::Routes),
            Command::Canary(flags) => Ok(Plan::Canary(canary(flags))),
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
            client_tag: flags.client_tag,
            noise: Noise::read(&flags.noise)?,
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
    let census = if flags.census.is_empty() { None } else { Some(Census::read(&flags.census)?) };
    let fixture = if flags.fixture.is_empty() { None } else { Some(fixtures(&flags.fixture)?) };
    Ok(Coverage { trace: flags.trace, census, fixture, format: flags.format })
}

fn audit(flags: AuditFlags) -> anyhow::Result<Audit> {
    let census = Census::read(&flags.exports)?;
    Ok(Audit { census, writer: flags.writer_hostgroup, catalog: flags.catalog, format: flags.format })
}

fn routes(flags: RoutesFlags) -> anyhow::Result<Routes> {
    let RoutesFlags { trace, capacity, memory, format } = flags;
    if let Some(capacity) = capacity {
        ensure!(
            capacity.is_finite() && capacity > 0.0,
            "--capacity {capacity}: expected how many statements run at once"
        );
    }
    Ok(Routes { trace, capacity, memory: size(&memory)?, format })
}

fn canary(flags: CanaryFlags) -> Canary {
    let cost = match flags.least {
        Least::Requests => Cost::Requests,
        Least::Groups => Cost::Groups,
    };
    let CanaryFlags { trace, by, cover, random, format, .. } = flags;
    Canary { trace, by, target: cover, cost, random, format }
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

fn fixtures(paths: &[PathBuf]) -> anyhow::Result<Vec<Fixture>> {
    paths.iter().map(|path| Ok(Fixture::read(path)?)).collect()
}

/// The shapes of all statements of some fixtures.
fn shapes(paths: &[PathBuf]) -> anyhow::Result<Vec<(u64, String)>> {
    let known = Known::of_fixtures(&fixtures(paths)?);
    Ok(known.shapes.into_iter().map(|(id, shape)| (id, shape.text)).collect())
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
