//! `coverage`.

use std::io::{BufWriter, Write, stdout};

use splitproof_analyze::compare::coverage_of_trace;
use splitproof_analyze::comparison::ShapeCoverage;
use splitproof_capture::trace::Reader;

use super::flags::Format;
use super::plan::Coverage;

/// Shapes that are listed for people; JSON has all.
const LISTED: usize = 30;

/// Measures a fixture's coverage of a window. It always passes: a share is no verdict.
pub fn run(plan: &Coverage) -> anyhow::Result<u8> {
    let coverage = coverage_of_trace(&Reader::open(&plan.trace)?, &plan.fixture)?;
    let mut out = BufWriter::new(stdout().lock());
    match plan.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &coverage)?;
            writeln!(out)?;
        }
        Format::Text => text(&coverage, &mut out)?,
    }
    out.flush()?;
    Ok(0)
}

fn text(coverage: &ShapeCoverage, out: &mut impl Write) -> std::io::Result<()> {
    let share = match coverage.window_requests {
        0 => 0.0,
        requests => coverage.covered_requests as f64 / requests as f64 * 100.0,
    };
    writeln!(
        out,
        "{} of {} shapes of the window are in the fixture: {} of {} requests ({share:.1} %)",
        coverage.shared_shapes, coverage.window_shapes, coverage.covered_requests, coverage.window_requests
    )?;
    if !coverage.not_in_fixture.is_empty() {
        writeln!(out, "\nNot in the fixture, most frequent first:")?;
    }
    for (shape, requests) in coverage.not_in_fixture.iter().take(LISTED) {
        writeln!(out, "{requests:>10}  {}", shape.text)?;
    }
    if let Some(more) = coverage.not_in_fixture.len().checked_sub(LISTED).filter(|&more| more > 0) {
        writeln!(out, "{:>10}  more shapes: --format json lists all", more)?;
    }
    if !coverage.not_in_window.is_empty() {
        writeln!(out, "\n{} shapes of the fixture do not occur in the window", coverage.not_in_window.len())?;
    }
    Ok(())
}
