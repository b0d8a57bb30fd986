//! `audit`.

use std::io::{BufWriter, Write, stdout};
use std::sync::Arc;

use splitproof_analyze::census::{self, Audited, Share};
use splitproof_analyze::run::{Run, dialect};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::Catalog;

use super::coverage::{duration, line, sources};
use super::flags::Format;
use super::plan::Audit;

/// Statements that are listed for people; JSON has all.
const LISTED: usize = 25;

/// Audits an export of the primary. It always passes: the list is a work queue, not an alert.
pub fn run(plan: Audit) -> anyhow::Result<u8> {
    let engine = plan.census.engine().unwrap_or(Engine::Postgresql);
    let (mut dialect, mut catalog) = (dialect(engine, ""), None);
    if let Some(dir) = &plan.catalog {
        let run = Run::open(dir)?;
        plan.census.must_be(run.reader().manifest().engine, dir)?;
        dialect = run.dialect();
        catalog = Catalog::read(run.reader())?.map(Arc::new);
        anyhow::ensure!(catalog.is_some(), "{}: has no catalog.json; name a run, not a recording", dir.display());
    }
    let known = catalog.is_some();
    let audit = census::audit(plan.census, dialect, catalog, plan.writer)?;
    let mut out = BufWriter::new(stdout().lock());
    match plan.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &audit)?;
            writeln!(out)?;
        }
        Format::Text => text(&audit, known, &mut out)?,
    }
    out.flush()?;
    Ok(0)
}

fn text(audit: &census::Audit, catalog: bool, out: &mut impl Write) -> std::io::Result<()> {
    sources(&audit.sources, out)?;
    writeln!(out, "\n{:<40} {:>10} {:>12} {:>10} {:>8}", "on the primary", "statements", "calls", "time", "of it")?;
    let rows: [(&str, &Share); 6] = [
        ("everything", &audit.all),
        ("reads that a replica may serve", &audit.reads),
        ("reads that either may serve", &audit.either),
        ("belongs to the primary", &audit.primary),
        ("transaction control and session state", &audit.session),
        ("not decided", &audit.unknown),
    ];
    for (name, share) in rows {
        let [_, _, time] = share.of(&audit.all);
        let percent = time * 100.0;
        writeln!(
            out,
            "{name:<40} {:>10} {:>12} {:>10} {percent:>6.1} %",
            share.shapes,
            share.calls,
            duration(share.time_ms)
        )?;
    }
    if audit.other_hostgroups.shapes > 0 {
        writeln!(
            out,
            "left out: {} rows of other hostgroups, {} calls",
            audit.other_hostgroups.shapes, audit.other_hostgroups.calls
        )?;
    }
    writeln!(
        out,
        "An export does not tell transactions: a read among these may have had to run where its transaction did."
    )?;
    if !catalog && audit.undecided.iter().any(|audited| audited.reason.contains("volatility")) {
        writeln!(out, "The volatility of your own functions is in a run's catalogue: name one with --catalog.")?;
    }
    list("Reads on the primary that a replica may serve, the longest time first:", &audit.work, false, out)?;
    list("Not decided:", &audit.undecided, true, out)
}

fn list(title: &str, list: &[Audited], reasons: bool, out: &mut impl Write) -> std::io::Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    for audited in list.iter().take(LISTED) {
        writeln!(out, "{:>12} {:>10}  {}", audited.calls, duration(audited.time_ms), line(&audited.text, 200))?;
        if reasons {
            writeln!(out, "{:>25}{}", "", audited.reason)?;
        }
    }
    if list.len() > LISTED {
        writeln!(out, "{:>12} more: --format json lists all", list.len() - LISTED)?;
    }
    Ok(())
}
