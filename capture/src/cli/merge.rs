//! Making one trace of several.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use splitproof_capture::merge::{Clock, Merged, merge};
use splitproof_capture::trace::Window;

use super::Done;
use super::plan::Merge;
use super::summary::{LossLine, loss_lines, write_counts, write_losses, write_problems};

/// What was made of what.
#[derive(Serialize)]
struct Summary<'a> {
    trace: &'a Path,
    merged: Vec<Part<'a>>,
    window: Option<Window>,
    sessions: u64,
    /// Sessions that several traces saw.
    joint_sessions: u64,
    /// Requests of all traces together, and of these the ones that two saw.
    read: u64,
    duplicates: u64,
    requests: u64,
    losses: Vec<LossLine>,
    problems: Vec<String>,
}

/// One of the traces, and what is known of its clock.
#[derive(Serialize)]
struct Part<'a> {
    trace: &'a Path,
    clock: &'static str,
    offset_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertainty_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_sessions: Option<u64>,
}

impl<'a> Part<'a> {
    fn new(trace: &'a Path, clock: Clock) -> Self {
        let word = match clock {
            Clock::Reference => "reference",
            Clock::Given(_) => "given",
            Clock::Estimated { .. } => "estimated",
            Clock::Unknown => "unknown",
        };
        let (uncertainty_ns, compared_requests, compared_sessions) = match clock {
            Clock::Estimated { uncertainty_ns, requests, sessions, .. } => {
                (Some(uncertainty_ns), Some(requests), Some(sessions))
            }
            _ => (None, None, None),
        };
        let offset_ns = clock.offset_ns();
        Part { trace, clock: word, offset_ns, uncertainty_ns, compared_requests, compared_sessions }
    }
}

/// Merges the traces and prints the summary.
pub fn run(plan: Merge) -> anyhow::Result<Done> {
    let Merge { plan, json } = plan;
    let merged = merge(&plan)?;
    let Merged { manifest, clocks, read, duplicates, joint_sessions } = &merged;
    let unknown = |(trace, clock): (&'_ std::path::PathBuf, &Clock)| {
        (*clock == Clock::Unknown).then(|| {
            format!(
                "{}: no session of it is in a trace whose clock is known, so that its times stay as they are; give --offset if its \
                 clock was off",
                trace.display()
            )
        })
    };
    let mut problems: Vec<String> = Vec::new();
    // A series has one clock, and no session in two of its traces: nothing is wrong with that.
    let notes: Vec<String> = plan.traces.iter().zip(clocks).filter_map(unknown).collect();
    if !manifest.complete {
        problems.push("not all of the traces are complete, and so the merged one is not".into());
    }
    let table = &manifest.table;
    let summary = Summary {
        trace: &plan.output,
        merged: plan.traces.iter().zip(clocks).map(|(trace, &clock)| Part::new(trace, clock)).collect(),
        window: table.window,
        sessions: table.sessions,
        joint_sessions: *joint_sessions,
        read: *read,
        duplicates: *duplicates,
        requests: table.requests,
        losses: loss_lines(&table.losses),
        problems,
    };
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &summary)?;
        writeln!(out)?;
    } else {
        writeln!(out, "trace     {}", plan.output.display())?;
        for part in &summary.merged {
            let ms = part.offset_ns as f64 / 1e6;
            write!(out, "merged    {}: clock {}", part.trace.display(), part.clock)?;
            match (part.uncertainty_ns, part.compared_requests, part.compared_sessions) {
                (Some(uncertainty), Some(requests), Some(sessions)) => {
                    let uncertainty = uncertainty as f64 / 1e6;
                    writeln!(
                        out,
                        " {ms:+.3} ms \u{b1} {uncertainty:.3} ms ({requests} requests of {sessions} sessions)"
                    )?;
                }
                _ if part.offset_ns != 0 => writeln!(out, " {ms:+.3} ms")?,
                _ => writeln!(out)?,
            }
        }
        write_counts(&mut out, summary.window, summary.sessions, summary.requests)?;
        writeln!(
            out,
            "in common {} sessions, {} requests of {}",
            summary.joint_sessions, summary.duplicates, summary.read
        )?;
        write_losses(&mut out, &summary.losses)?;
        write_problems(&mut out, &summary.problems)?;
        for note in notes {
            writeln!(out, "note      {note}")?;
        }
    }
    out.flush()?;
    Ok(Done::from_problems(&summary.problems))
}
