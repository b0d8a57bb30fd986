//! `canary`.

use std::io::{BufWriter, Write, stdout};

use splitproof_analyze::canary::{self, Cost, Universe, choose};
use splitproof_capture::trace::Reader;

use super::coverage::line;
use super::flags::Format;
use super::plan::Canary;

/// Groups and shapes that are listed for people; JSON has all.
const LISTED: usize = 40;

/// Chooses a canary. It always passes.
pub fn run(plan: &Canary) -> anyhow::Result<u8> {
    let universe = Universe::read(&Reader::open(&plan.trace)?, &plan.by)?;
    anyhow::ensure!(universe.requests > 0, "{}: holds no statements: there is nothing to cover", plan.trace.display());
    let canary = choose(&universe, &plan.by, plan.target, plan.cost, plan.random)?;
    let mut out = BufWriter::new(stdout().lock());
    match plan.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &canary)?;
            writeln!(out)?;
        }
        Format::Text => text(&canary, &mut out)?,
    }
    out.flush()?;
    Ok(0)
}

fn text(canary: &canary::Canary, out: &mut impl Write) -> std::io::Result<()> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (by, measure) = (&canary.by, canary.measure.as_str());
    writeln!(
        out,
        "{} of {} groups by {by} cover {} of the {measure} ({} asked for), with {} of the requests",
        canary.chosen.len(),
        canary.groups,
        percent(canary.covered),
        percent(canary.wanted),
        percent(canary.requests_share)
    )?;
    writeln!(out, "\n{:>10} {:>9} {:>9}  {by}", "new shapes", "covered", "requests")?;
    for group in canary.chosen.iter().take(LISTED) {
        writeln!(
            out,
            "{:>10} {:>9} {:>9}  {}",
            group.new_shapes,
            percent(group.covered),
            percent(group.requests_share),
            line(&group.name, 80)
        )?;
    }
    if canary.chosen.len() > LISTED {
        writeln!(out, "{:>10} more: --format json lists all", canary.chosen.len() - LISTED)?;
    }
    let (cost, bound) = match canary.cost_of {
        Cost::Requests => (format!("{} requests", canary.cost), format!("{} requests", canary.lower_bound)),
        Cost::Groups => (format!("{} groups", canary.cost), format!("{} groups", canary.lower_bound)),
    };
    writeln!(
        out,
        "\nThe choice costs {cost}; none that covers as much costs less than {bound}. Greed is never worse than 1 + ln {} = {:.1} \
         times the best.",
        canary.largest, canary.guarantee
    )?;
    for (sample, why) in [(&canary.random, ""), (&canary.random_alike, ", which is as much traffic")] {
        writeln!(
            out,
            "A random {} of the sessions ({} of {}){why} covers {} on average.",
            percent(sample.share),
            sample.sessions,
            canary.sessions,
            percent(sample.covered)
        )?;
    }
    if canary.without_group > 0 {
        writeln!(
            out,
            "{} of {} requests tell no {by}: no canary can choose them.",
            canary.without_group, canary.requests
        )?;
    }
    if !canary.left.is_empty() {
        writeln!(
            out,
            "\nNot covered, most frequent first:\n{:>10}  {:<24} shape",
            "requests",
            format!("cheapest {by}")
        )?;
    }
    for left in canary.left.iter().take(LISTED) {
        let group = left.group.as_deref().unwrap_or("(none)");
        writeln!(out, "{:>10}  {:<24} {}", left.requests, line(group, 23), line(&left.shape.text, 160))?;
    }
    if canary.left.len() > LISTED {
        writeln!(out, "{:>10} more: --format json lists all", canary.left.len() - LISTED)?;
    }
    Ok(())
}
