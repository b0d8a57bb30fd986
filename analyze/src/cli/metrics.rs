//! `metrics`.

use std::io::{BufWriter, Write, stdout};

use splitproof_analyze::comparison::metrics;

/// Lists the metrics, with the suffixes that some of them have.
pub fn run() -> anyhow::Result<u8> {
    let mut out = BufWriter::new(stdout().lock());
    for metric in metrics() {
        writeln!(out, "{:<36} {}", metric.name, metric.meaning)?;
    }
    let own: Vec<&str> = metrics().iter().filter(|metric| metric.per_run).map(|metric| metric.name).collect();
    writeln!(out, "\nWith _baseline (the baseline's) and _delta (candidate less baseline) too: {}", own.join(", "))?;
    out.flush()?;
    Ok(0)
}
