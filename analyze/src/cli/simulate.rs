//! `simulate`.

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use splitproof_analyze::simulate::{self, Agreement, Model, Simulation, Summary};
use splitproof_capture::trace::Existing;

use super::flags::Format;
use super::models::ModelFlags;

/// Lines of the table of rules and of decisions; JSON has all.
const LISTED: usize = 15;

#[derive(Debug, clap::Args)]
pub struct SimulateFlags {
    #[command(flatten)]
    model: ModelFlags,
    /// A recording, or a run that repeats one.
    trace: PathBuf,
    /// Where the run goes.
    #[arg(short, long, value_name = "RUN")]
    out: PathBuf,
    /// Replace a run that is there.
    #[arg(long)]
    force: bool,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Send a trace through a model.
pub struct Simulate {
    plan: simulate::Plan,
    model: Box<dyn Model>,
    format: Format,
}

impl SimulateFlags {
    /// The same, checked.
    pub fn plan(self) -> anyhow::Result<Simulate> {
        let model = self.model.load(Some(&self.trace))?;
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        let plan = simulate::Plan {
            router: self.model.router,
            rules: self.model.rules,
            trace: self.trace,
            out: self.out,
            existing,
            catalog: self.model.catalog,
        };
        Ok(Simulate { plan, model, format: self.format })
    }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    run: &'a std::path::Path,
    #[serde(flatten)]
    simulation: &'a Simulation,
    /// Seconds on one core in which the model alone decided all requests.
    deciding_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<&'a Agreement>,
}

/// Simulates and says what came of it.
pub fn run(simulate: &Simulate) -> anyhow::Result<u8> {
    let summary = simulate::simulate(&simulate.plan, simulate.model.as_ref())?;
    let mut out = BufWriter::new(stdout().lock());
    let written = match simulate.format {
        Format::Json => {
            let printed = Printed {
                run: &simulate.plan.out,
                simulation: &summary.simulation,
                deciding_seconds: summary.deciding.as_secs_f64(),
                agreement: summary.agreement.as_ref(),
            };
            serde_json::to_writer_pretty(&mut out, &printed).map_err(Into::into).and_then(|()| writeln!(out))
        }
        Format::Text => text(simulate, &summary, &mut out),
    };
    super::enough(written.and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(0)
}

fn text(simulate: &Simulate, summary: &Summary, out: &mut dyn Write) -> std::io::Result<()> {
    let simulation = &summary.simulation;
    let counts = &simulation.counts;
    let nodes: Vec<String> =
        summary.nodes.iter().map(|node| format!("{} ({})", node.name, node.role.as_str())).collect();
    writeln!(out, "{}: predicted by the model of {}", simulate.plan.out.display(), simulation.model)?;
    writeln!(out, "nodes: {}", nodes.join(", "))?;
    writeln!(
        out,
        "{} of {} requests are routed: {} to nodes, {} answered by the router, {} refused by it, {} not known",
        counts.routed, counts.requests, counts.decided, counts.by_router, counts.refused, counts.undecided
    )?;
    if !simulation.rule_uses.is_empty() {
        writeln!(out, "\n{:>10}  rule", "requests")?;
    }
    for rule in simulation.rule_uses.iter().take(LISTED) {
        writeln!(out, "{:>10}  {} {}", rule.hits, rule.rule, rule.text)?;
    }
    if let Some(more) = simulation.rule_uses.len().checked_sub(LISTED).filter(|&more| more > 0) {
        writeln!(out, "{:>10}  more rules: --format json lists all", more)?;
    }
    writeln!(out, "\n{:>10}  goes to", "requests")?;
    for decision in simulation.decisions.iter().take(LISTED) {
        let rule = decision.rule.as_deref().map(|rule| format!("{rule}: ")).unwrap_or_default();
        writeln!(out, "{:>10}  {:<16} {rule}{}", decision.requests, decision.sent, decision.reason)?;
        writeln!(out, "{:>12}{}", "", decision.sql.chars().take(100).collect::<String>().replace('\n', " "))?;
    }
    if let Some(more) = simulation.decisions.len().checked_sub(LISTED).filter(|&more| more > 0) {
        writeln!(
            out,
            "{:>10}  more: --format json lists all, and decisions.parquet in the run has every request",
            more
        )?;
    }
    if let Some(agreement) = &summary.agreement {
        agrees(agreement, out)?;
    }
    for (title, lines) in [
        ("not known to the model", &simulation.unknown),
        ("not modelled", &simulation.unmodelled),
        ("remarkable", &simulation.notes),
    ] {
        if !lines.is_empty() {
            writeln!(out, "\n{title}:")?;
        }
        for line in lines {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// How far the model agrees with the router that the run went through.
fn agrees(agreement: &Agreement, out: &mut dyn Write) -> std::io::Result<()> {
    let Agreement { compared, agreed, not_compared, .. } = agreement;
    writeln!(
        out,
        "\n{agreed} of {compared} requests go where the run's nodes executed them ({:.2} %); {not_compared} not compared",
        agreement.percent()
    )?;
    for differing in agreement.differing.iter().take(LISTED) {
        let sql = differing.sql.chars().take(100).collect::<String>().replace('\n', " ");
        writeln!(
            out,
            "{:>10}  {} predicted ({}), {} seen: session {} request {}\n{:>12}{sql}",
            differing.requests,
            differing.predicted,
            differing.reason,
            differing.ran,
            differing.session,
            differing.seq,
            ""
        )?;
    }
    Ok(())
}
