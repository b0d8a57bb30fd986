//! The summary on a terminal: one screen that says ship or not, why, which shapes, and what is not known.

use std::io::{self, Write};

use super::{Exporter, Headline, Report, headlines, shorten};
use crate::comparison::{AnswerClass, Comparison, Destination, Judged};
use crate::gate::Status;

/// Plain text, no wider than 120 characters where the names allow it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal;

/// Shapes listed per finding; the other reports list all.
const LINES: usize = 6;

impl Exporter for Terminal {
    fn write(&self, report: Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let comparison = report.comparison;
        writeln!(out, "verdict: {}", report.words().to_uppercase())?;
        for checked in report.verdict.with_status(Status::Broken) {
            writeln!(out, "  ✗ {checked}")?;
        }
        for checked in report.verdict.with_status(Status::Unmeasured) {
            writeln!(out, "  ? {checked}")?;
        }
        let held = report.verdict.with_status(Status::Held).count();
        writeln!(out, "  ✓ {held} of {} conditions hold", report.verdict.conditions.len())?;
        writeln!(out)?;
        runs(comparison, out)?;
        findings(&headlines(comparison), out)?;
        grid(comparison, out)?;
        predictions(comparison, out)?;
        answers(comparison, out)?;
        causal_reads(&comparison.candidate, out)?;
        routes(&comparison.candidate, out)?;
        unknowns("candidate", &comparison.candidate, out)?;
        unknowns("baseline", &comparison.baseline, out)
    }
}

fn runs(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for (name, judged) in [("baseline", &comparison.baseline), ("candidate", &comparison.candidate)] {
        let run = &judged.run;
        let nodes: Vec<String> =
            run.nodes.iter().map(|node| format!("{} ({}) {}", node.name, node.role, node.executions)).collect();
        writeln!(
            out,
            "{name:<9} {}: {} requests in {} sessions, {} shapes, {:.1} s; executed: {}; attributed {} of {}",
            run.path,
            run.requests,
            run.sessions,
            run.shapes,
            run.seconds,
            if nodes.is_empty() { "no evidence".to_owned() } else { nodes.join(", ") },
            run.attributed.attributed,
            run.attributed.total(),
        )?;
        if let Some(simulation) = &run.simulation {
            let rules: Vec<String> = simulation.rules.iter().map(|rules| rules.display().to_string()).collect();
            writeln!(out, "          predicted by the model of {} with {}", simulation.model, rules.join(", "))?;
        }
    }
    writeln!(out)
}

fn findings(headlines: &[Headline], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:<62} {:>9} {:>9}", "findings", "baseline", "candidate")?;
    if headlines.is_empty() {
        writeln!(out, "  none")?;
    }
    for headline in headlines {
        let title = format!("{} ({})", headline.title, if headline.silent { "silent" } else { "loud" });
        let baseline = headline.baseline.map_or("-".to_owned(), |count| count.to_string());
        let mark = if headline.is_worse() { '▲' } else { ' ' };
        writeln!(out, "{mark} {title:<60} {baseline:>9} {:>9}", headline.candidate)?;
        for line in headline.lines.iter().take(LINES) {
            writeln!(out, "    {:>6} {:<5} {}", line.count, line.mark(), shorten(&line.shape, 300))?;
            writeln!(out, "                 {} [{}]", shorten(&line.detail, 200), line.example)?;
        }
        if headline.lines.len() > LINES {
            writeln!(out, "           and {} more shapes in the other reports", headline.lines.len() - LINES)?;
        }
    }
    writeln!(out)
}

fn grid(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for (name, judged) in [("baseline", &comparison.baseline), ("candidate", &comparison.candidate)] {
        if !judged.run.has_evidence {
            continue;
        }
        write!(out, "{:<22}", format!("{name}: intent ↓ ran →"))?;
        for destination in Destination::ALL {
            write!(out, " {destination:>10}")?;
        }
        writeln!(out)?;
        for intent in intents(judged) {
            write!(out, "  {intent:<20}")?;
            for &destination in Destination::ALL {
                write!(out, " {:>10}", judged.grid.count(intent, destination))?;
            }
            writeln!(out)?;
        }
    }
    writeln!(out)
}

/// The intents that occur, the usual ones in their usual order.
fn intents(judged: &Judged) -> Vec<&str> {
    let mut intents: Vec<&str> = ["primary", "replica", "same", "all"].to_vec();
    for cell in &judged.grid.cells {
        if !intents.contains(&cell.intent.as_str()) {
            intents.push(&cell.intent);
        }
    }
    intents.retain(|intent| judged.grid.of_intent(intent) > 0);
    intents
}

/// Why statements went where they did, as the candidate's model says.
fn predictions(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let Some(simulation) = &comparison.candidate.run.simulation else { return Ok(()) };
    writeln!(out, "why the candidate's statements go where they do, the most requests first:")?;
    for decision in simulation.decisions.iter().take(LINES * 2) {
        let rule = decision.rule.as_deref().map(|rule| format!("{rule}: ")).unwrap_or_default();
        writeln!(
            out,
            "    {:>6} {:<12} {rule}{}  {}",
            decision.requests,
            decision.sent,
            decision.reason,
            shorten(&decision.sql, 80)
        )?;
    }
    if simulation.decisions.len() > LINES * 2 {
        let more = simulation.decisions.len() - LINES * 2;
        writeln!(
            out,
            "           and {more} more in the other reports; decisions.parquet in the run has every request"
        )?;
    }
    writeln!(out)
}

fn answers(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if [&comparison.baseline, &comparison.candidate].iter().any(|judged| judged.run.simulation.is_some()) {
        writeln!(out, "answers: not measured, because nothing was executed")?;
        for name in ["replica_read_share_pct_baseline", "replica_read_share_pct"] {
            if let Some(value) = comparison.metrics.get(name) {
                writeln!(out, "  {name}: {value:.1}")?;
            }
        }
        return writeln!(out);
    }
    let counts = &comparison.answers.counts;
    let parts: Vec<String> = AnswerClass::ALL
        .iter()
        .filter(|&&class| counts.get(class) > 0)
        .map(|&class| format!("{class} {}", counts.get(class)))
        .collect();
    writeln!(out, "answers to {} recorded requests in both runs: {}", counts.total(), parts.join(", "))?;
    for shape in comparison.answers.nondeterministic.iter().filter(|shape| shape.differ > 0).take(LINES) {
        writeln!(out, "  nondeterministic: {} ({})", shorten(&shape.shape.text, 100), shape.why)?;
    }
    for name in ["p99_read_latency_delta_pct", "replica_read_share_pct_baseline", "replica_read_share_pct"] {
        if let Some(value) = comparison.metrics.get(name) {
            writeln!(out, "  {name}: {value:.1}")?;
        }
    }
    if let Some(coverage) = &comparison.coverage {
        writeln!(
            out,
            "fixture: asserts on {} of the window's {} shapes, {} of its {} requests",
            coverage.shared_shapes, coverage.window_shapes, coverage.covered_requests, coverage.window_requests
        )?;
    }
    writeln!(out)
}

/// What would prevent stale reads, and at what cost; where there are any.
fn causal_reads(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    if judged.causal_reads.iter().all(|mode| mode.prevented + mode.left == 0) {
        return Ok(());
    }
    writeln!(
        out,
        "{:<22} {:>9} {:>9} {:>9} {:>10} {:>9} {:>9} {:>6}",
        "causal_reads", "prevented", "left", "waited", "p99 ms", "trips", "primary", "share"
    )?;
    for mode in &judged.causal_reads {
        writeln!(
            out,
            "  {:<20} {:>9} {:>9} {:>9} {:>10.1} {:>9} {:>9} {:>4.0} %",
            mode.mode,
            mode.prevented,
            mode.left,
            mode.waited,
            mode.wait_quantiles_ms[1],
            mode.round_trips,
            mode.to_primary,
            mode.to_primary_share * 100.0
        )?;
    }
    writeln!(out)
}

/// The routes that keep the primary busy, where statements name any.
fn routes(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let routes: Vec<_> = judged.routes.list.iter().filter(|route| route.tagged).collect();
    if routes.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{:<40} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7}",
        "routes", "calls", "primary", "old", "new", "fallbk", "refused", "moves"
    )?;
    for route in routes.iter().take(LINES) {
        writeln!(
            out,
            "  {:<38} {:>8} {:>6.1} % {:>7} {:>7} {:>7} {:>8} {:>7}",
            shorten(&route.route.to_string(), 38),
            route.calls,
            route.primary_share * 100.0,
            route.served.old,
            route.served.new,
            route.served.fallback,
            route.served.refused,
            if route.movable { "yes" } else { "no" }
        )?;
    }
    if routes.len() > LINES {
        writeln!(out, "  and {} more routes in the other reports", routes.len() - LINES)?;
    }
    writeln!(out)
}

fn unknowns(name: &str, judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let unknowns = &judged.unknowns;
    if unknowns.is_empty() {
        return writeln!(out, "not known of the {name}: nothing");
    }
    writeln!(out, "not known of the {name}:")?;
    for (function, requests) in &unknowns.functions {
        writeln!(
            out,
            "  {requests:>6} requests call {function}, of unknown volatility: taken to belong to the primary"
        )?;
    }
    for (what, shapes) in [
        ("could not be parsed", &unknowns.parse_errors),
        ("were seen on no node", &unknowns.unseen),
        ("match more than one execution", &unknowns.ambiguous),
        ("may or may not be stale", &unknowns.staleness),
    ] {
        let requests: u64 = shapes.iter().map(|shape| shape.requests).sum();
        if requests > 0 {
            writeln!(out, "  {requests:>6} requests of {} shapes {what}", shapes.len())?;
        }
    }
    if unknowns.without_text > 0 {
        writeln!(out, "  {:>6} requests have no text", unknowns.without_text)?;
    }
    for (loss, amount) in &unknowns.losses {
        writeln!(out, "  {amount:>6} lost: {loss}")?;
    }
    for note in &unknowns.notes {
        writeln!(out, "  {note}")?;
    }
    Ok(())
}
