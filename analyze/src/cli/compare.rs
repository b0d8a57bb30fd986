//! `compare`.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use anyhow::Context;
use splitproof_analyze::compare::compare;
use splitproof_analyze::gate::{Gate, Verdict};
use splitproof_analyze::report::{Exporter, Html, Json, Junit, Report, Terminal};

use super::flags::Format;
use super::plan::Compare;

/// Compares, reports, and gives the gate's exit code.
pub fn run(plan: &Compare) -> anyhow::Result<u8> {
    let comparison = compare(&plan.options)?;
    let predicted = [&comparison.baseline, &comparison.candidate].iter().any(|judged| judged.run.simulation.is_some());
    let gate = match predicted {
        true => Gate::for_prediction(plan.gate.clone()),
        false => plan.gate.clone().unwrap_or_default(),
    };
    let verdict = Verdict::of(&gate, &comparison.metrics, &comparison.unmeasured);
    let report = Report { comparison: &comparison, verdict: &verdict };
    let files: [(&Option<_>, &dyn Exporter); 3] = [(&plan.html, &Html), (&plan.json, &Json), (&plan.junit, &Junit)];
    for (path, exporter) in files {
        if let Some(path) = path {
            export(report, exporter, path).with_context(|| format!("{}: cannot write the report", path.display()))?;
        }
    }
    let exporter: &dyn Exporter = match plan.format {
        Format::Text => &Terminal,
        Format::Json => &Json,
    };
    let mut out = BufWriter::new(stdout().lock());
    super::enough(exporter.write(report, &mut out).and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(verdict.decision.exit_code())
}

fn export(report: Report<'_>, exporter: &dyn Exporter, path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    exporter.write(report, &mut out)?;
    out.flush()
}
