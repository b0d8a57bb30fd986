//! `coverage`.

use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use serde::Serialize;
use splitproof_analyze::census::{self, CensusCoverage, Covered, Known, Missing, Share};
use splitproof_analyze::compare::coverage_of_trace;
use splitproof_analyze::comparison::ShapeCoverage;
use splitproof_analyze::run::Run;
use splitproof_capture::trace::Reader;

use super::flags::Format;
use super::plan::Coverage;

/// Shapes that are listed for people; JSON has all.
const LISTED: usize = 30;

/// What is printed.
#[derive(Serialize)]
struct Document {
    /// The fixture against the window.
    fixture: Option<ShapeCoverage>,
    /// Window and fixture against production.
    census: Option<CensusCoverage>,
}

/// Measures what a window and a fixture cover. It always passes: a share is no verdict.
pub fn run(plan: &Coverage) -> anyhow::Result<u8> {
    let trace = Reader::open(&plan.trace)?;
    let window = Known::of_trace(&trace)?;
    let fixture = plan.fixture.as_deref().map(Known::of_fixtures);
    let census = match &plan.census {
        Some(census) => {
            let engine = trace.manifest().engine;
            census.must_be(engine, &plan.trace)?;
            let run = Run::open(&plan.trace)?;
            let judged = census::judged(&run)?;
            Some(census::coverage(census, run.dialect(), &window, judged.as_ref(), fixture.as_ref()))
        }
        None => None,
    };
    let document = Document { fixture: fixture.map(|fixture| coverage_of_trace(&window, &fixture)), census };
    let mut out = BufWriter::new(stdout().lock());
    match plan.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &document)?;
            writeln!(out)?;
        }
        Format::Text => {
            if let Some(coverage) = &document.census {
                production(coverage, &mut out)?;
            }
            if let Some(coverage) = &document.fixture {
                if document.census.is_some() {
                    writeln!(out)?;
                }
                text(coverage, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(0)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A duration in the unit that keeps it short.
pub(super) fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 3_600_000.0 => format!("{:.1} h", ms / 3_600_000.0),
        ms if ms >= 60_000.0 => format!("{:.1} min", ms / 60_000.0),
        ms if ms >= 1_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms => format!("{ms:.1} ms"),
    }
}

/// A text on one line, at most so many characters.
pub(super) fn line(text: &str, limit: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
        None => text,
    }
}

/// Which exports were read.
pub(super) fn sources(sources: &[census::Source], out: &mut impl Write) -> std::io::Result<()> {
    for source in sources {
        write!(out, "{}: {}, {} rows", show(&source.path), source.kind.as_str(), source.rows)?;
        match source.nested {
            0 => writeln!(out)?,
            nested => writeln!(out, ", {nested} of statements inside functions, which are left out")?,
        }
    }
    Ok(())
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

fn production(coverage: &CensusCoverage, out: &mut impl Write) -> std::io::Result<()> {
    sources(&coverage.sources, out)?;
    let all = &coverage.all;
    writeln!(out, "\nproduction: {} statements, {} calls, {}", all.shapes, all.calls, duration(all.time_ms))?;
    writeln!(out, "{:<32} {:>10} {:>9} {:>9}", "covered by", "statements", "calls", "time")?;
    let row = |name: &str, share: &Share, out: &mut dyn Write| {
        let [shapes, calls, time] = share.of(all);
        writeln!(out, "{name:<32} {:>10} {:>9} {:>9}", percent(shapes), percent(calls), percent(time))
    };
    let rows: [(&str, Option<&Covered>); 3] = [
        ("the window", Some(&coverage.window)),
        ("the run, with their place known", coverage.judged.as_ref()),
        ("the fixture", coverage.fixture.as_ref()),
    ];
    for (name, covered) in rows {
        if let Some(covered) = covered {
            row(name, &covered.share, out)?;
        }
    }
    if coverage.fixture.is_some() {
        row("window or fixture", &coverage.either, out)?;
    }
    let window = &coverage.window;
    if window.by_words + window.by_beginning > 0 {
        writeln!(
            out,
            "{} statements were recognised by their words and names alone, {} by their beginning",
            window.by_words, window.by_beginning
        )?;
    }
    let hidden = &coverage.without_text;
    if hidden.shapes > 0 {
        writeln!(
            out,
            "not known: {} rows without a text, {} calls, {} (no right to see them, or more statements than the view holds)",
            hidden.shapes,
            hidden.calls,
            duration(hidden.time_ms)
        )?;
    }
    let (list, title) = match &coverage.never_imagined {
        Some(list) => (list, "Neither in the window nor in the fixture, the longest time first:"),
        None => (&coverage.not_in_window, "Not in the window, the longest time first:"),
    };
    missing(list, title, out)?;
    if !coverage.not_in_census.is_empty() {
        let requests: u64 = coverage.not_in_census.iter().map(|(_, requests)| requests).sum();
        writeln!(
            out,
            "\n{} shapes of the window, {requests} requests, are not in production's census: --format json lists them",
            coverage.not_in_census.len()
        )?;
    }
    Ok(())
}

fn missing(list: &[Missing], title: &str, out: &mut impl Write) -> std::io::Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    writeln!(out, "{:>10} {:>10}  {:<8} statement", "calls", "time", "belongs")?;
    for missing in list.iter().take(LISTED) {
        let (intent, reason) = (missing.intent.as_deref().unwrap_or("unknown"), missing.reason.as_deref());
        writeln!(
            out,
            "{:>10} {:>10}  {intent:<8} {}",
            missing.calls,
            duration(missing.time_ms),
            line(&missing.text, 200)
        )?;
        if let Some(reason) = reason.filter(|_| intent != "replica") {
            writeln!(out, "{:>31} {reason}", "")?;
        }
    }
    if list.len() > LISTED {
        writeln!(out, "{:>10}  more: --format json lists all", list.len() - LISTED)?;
    }
    Ok(())
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
