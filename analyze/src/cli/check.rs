//! `check`.

use std::io::{IsTerminal, Write, stderr, stdout};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use splitproof_analyze::check::{junit, run as check, text};

use super::flags::Format;
use super::plan::Check;

/// Runs a fixture, reports, and gives its exit code.
pub fn run(plan: &Check) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start worker threads")?;
    let cases = plan.check.fixture.cases.len() as u64;
    let progress = if stderr().is_terminal() { ProgressBar::new(cases) } else { ProgressBar::hidden() };
    progress.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let report = runtime.block_on(check(&plan.check, |case| {
        progress.inc(1);
        progress.set_message(case.id.clone());
    }))?;
    progress.finish_and_clear();
    if let Some(path) = &plan.junit {
        std::fs::write(path, junit::render(&report)?)
            .with_context(|| format!("{}: cannot write the report", path.display()))?;
    }
    let text = match plan.format {
        Format::Text => text::render(&report),
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
    };
    let mut out = stdout().lock();
    super::enough(out.write_all(text.as_bytes()).and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(report.exit_code())
}
