//! One self-contained page: no script, no network, light and dark, readable on a phone.

use std::io;

use askama::Template;

use super::chart::{Bar, number, paired_bars};
use super::{Exporter, Headline, Report, headlines, shorten};
use crate::comparison::{AnswerClass, Comparison, Destination, Judged, Latency, Quantiles, RouteSummary, UnknownShape};
use crate::gate::{Checked, Decision, Status, Verdict};
use crate::simulate::ShapeDecision;

/// An HTML page that opens from the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Exporter for Html {
    fn write(&self, report: Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let page = Page {
            words: report.words(),
            verdict: report.verdict,
            comparison: report.comparison,
            headlines: headlines(report.comparison),
            runs: [run("Baseline", &report.comparison.baseline), run("Candidate", &report.comparison.candidate)],
            share: share_chart(report.comparison),
            primary_time: primary_time_chart(report.comparison),
            latency: latency_chart(report.comparison),
        };
        let mut out = out;
        page.write_into(&mut out).map_err(io::Error::other)
    }
}

/// Rows of the latency table and bars of a chart; the JSON report has all.
const ROWS: usize = 25;
/// Rows of the table of predicted decisions.
const DECISIONS: usize = 200;
const BARS: usize = 12;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    words: &'static str,
    verdict: &'a Verdict,
    comparison: &'a Comparison,
    headlines: Vec<Headline>,
    runs: [Run<'a>; 2],
    share: String,
    primary_time: Option<String>,
    latency: Option<String>,
}

/// A run with its grid and unknowns in the form of tables.
struct Run<'a> {
    name: &'static str,
    judged: &'a Judged,
    grid: Vec<(String, Vec<GridCell>)>,
    unknowns: Vec<String>,
}

/// A number of the grid and how it is to be read.
struct GridCell {
    requests: u64,
    class: &'static str,
}

fn run<'a>(name: &'static str, judged: &'a Judged) -> Run<'a> {
    let mut intents: Vec<String> = ["primary", "replica", "same", "all"].map(String::from).to_vec();
    for cell in &judged.grid.cells {
        if !intents.contains(&cell.intent) {
            intents.push(cell.intent.clone());
        }
    }
    intents.retain(|intent| judged.grid.of_intent(intent) > 0);
    let grid = intents
        .into_iter()
        .map(|intent| {
            let cells = Destination::ALL
                .iter()
                .map(|&destination| {
                    let requests = judged.grid.count(&intent, destination);
                    GridCell { requests, class: cell_class(&intent, destination, requests) }
                })
                .collect();
            (intent, cells)
        })
        .collect();
    Run { name, judged, grid, unknowns: unknowns(judged) }
}

/// Right, wrong, wasteful or unknown; nothing for what only its transaction can tell.
fn cell_class(intent: &str, destination: Destination, requests: u64) -> &'static str {
    match (requests, intent, destination) {
        (0, ..) => "none",
        (_, _, Destination::Ambiguous | Destination::Unseen) => "unknown",
        (_, "primary", Destination::Replica | Destination::Both) => "wrong",
        (_, "replica", Destination::Primary) => "waste",
        (_, "primary", Destination::Primary) | (_, "replica", Destination::Replica) => "right",
        _ => "",
    }
}

fn unknowns(judged: &Judged) -> Vec<String> {
    let unknowns = &judged.unknowns;
    let mut lines: Vec<String> = unknowns
        .functions
        .iter()
        .map(|(name, requests)| {
            format!("{requests} requests call {name}, whose volatility is not known: they were taken to belong to the primary")
        })
        .collect();
    let mut shapes = |what: &str, list: &[UnknownShape]| {
        for entry in list {
            lines.push(format!(
                "{} requests {what}: {} ({})",
                entry.requests,
                shorten(&entry.shape.text, 160),
                entry.reason
            ));
        }
    };
    shapes("could not be parsed", &unknowns.parse_errors);
    shapes("were seen on no node", &unknowns.unseen);
    shapes("match more than one execution", &unknowns.ambiguous);
    shapes("may or may not be stale", &unknowns.staleness);
    if unknowns.without_text > 0 {
        lines.push(format!("{} requests have no text", unknowns.without_text));
    }
    lines.extend(unknowns.losses.iter().map(|(loss, amount)| format!("lost: {amount} {loss}")));
    lines.extend(unknowns.notes.iter().cloned());
    lines
}

fn share_chart(comparison: &Comparison) -> String {
    let metric = |name: &str| comparison.metrics.get(name).copied();
    let pair = |label: &str, name: &str| Bar {
        label: label.into(),
        baseline: metric(&format!("{name}_baseline")),
        candidate: metric(name),
    };
    paired_bars(
        "Replica's share of the reads it may serve",
        "%",
        &[pair("reads served by a replica", "replica_read_share_pct")],
    )
}

/// The work queue: which reads take the primary's time.
fn primary_time_chart(comparison: &Comparison) -> Option<String> {
    let earlier = &comparison.baseline.accidental_primary_reads;
    let bars: Vec<Bar> = comparison
        .candidate
        .accidental_primary_reads
        .iter()
        .take(BARS)
        .map(|read| Bar {
            label: read.shape.text.clone(),
            baseline: earlier.iter().find(|other| other.shape.id == read.shape.id).and_then(|other| other.primary_ms),
            candidate: read.primary_ms,
        })
        .collect();
    let known = bars.iter().any(|bar| bar.candidate.is_some() || bar.baseline.is_some());
    known.then(|| paired_bars("Time on the primary of reads that a replica may serve", "ms", &bars))
}

fn latency_chart(comparison: &Comparison) -> Option<String> {
    let bars: Vec<Bar> = comparison
        .latency
        .iter()
        .take(BARS)
        .map(|latency| Bar {
            label: latency.shape.text.clone(),
            baseline: latency.baseline.map(|quantiles| quantiles.p99_ms),
            candidate: latency.candidate.map(|quantiles| quantiles.p99_ms),
        })
        .collect();
    (!bars.is_empty()).then(|| paired_bars("99th percentile of latency", "ms", &bars))
}

impl Page<'_> {
    fn shown<'b>(&self, decisions: &'b [ShapeDecision]) -> &'b [ShapeDecision] {
        decisions.get(..DECISIONS.min(decisions.len())).unwrap_or_default()
    }

    fn mark(&self, checked: &Checked) -> &'static str {
        match checked.status {
            Status::Held => "held",
            Status::Broken => "broken",
            Status::Unmeasured => "unmeasured",
        }
    }

    fn class(&self) -> &'static str {
        match self.verdict.decision {
            Decision::Pass => "pass",
            Decision::Fail => "fail",
            Decision::CouldNotJudge => "unjudged",
        }
    }

    fn answer_rows(&self) -> Vec<(AnswerClass, u64)> {
        let counts = &self.comparison.answers.counts;
        AnswerClass::ALL.iter().map(|&class| (class, counts.get(class))).filter(|&(_, count)| count > 0).collect()
    }

    fn latency_rows(&self) -> &[Latency] {
        self.comparison.latency.get(..ROWS).unwrap_or(&self.comparison.latency)
    }

    fn requests(&self, of: &Option<Quantiles>) -> String {
        of.map_or("–".into(), |quantiles| quantiles.requests.to_string())
    }

    fn p50(&self, of: &Option<Quantiles>) -> String {
        of.map_or("–".into(), |quantiles| number(quantiles.p50_ms))
    }

    fn p99(&self, of: &Option<Quantiles>) -> String {
        of.map_or("–".into(), |quantiles| number(quantiles.p99_ms))
    }

    fn percent(&self, value: &Option<f64>) -> String {
        value.map_or("–".into(), |value| format!("{value:+.0} %"))
    }

    fn route_rows(&self) -> &[RouteSummary] {
        let routes = &self.comparison.candidate.routes.list;
        routes.get(..ROWS).unwrap_or(routes)
    }

    fn hides(&self, route: &RouteSummary) -> bool {
        route.hidden_writes.is_some_and(|writes| writes > 0)
    }

    fn number(&self, value: &f64) -> String {
        number(*value)
    }

    fn share(&self, value: &f64) -> String {
        format!("{:.1} %", value * 100.0)
    }

    fn count(&self, value: &Option<u64>) -> String {
        value.map_or("–".into(), |value| value.to_string())
    }
}
