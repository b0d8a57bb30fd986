//! Capture beside a server at full speed: what it costs the server, and whether what was missed is counted.

use std::path::Path;

use anyhow::Result;
use splitproof_capture::trace::{Loss, Reader};
use splitproof_samples::record::Recorder;

use crate::figure::{Figure, Goal};
use crate::pgbench::Server;
use crate::rounds::medians;
use crate::tool;

/// Measures pgbench without and with a capture on the loopback interface of the same two cores.
pub fn measure(server: &Server, folder: &Path) -> Result<Vec<Figure>> {
    let recorder = Recorder::Capture(tool::path("splitproof-capture")?);
    let trace = folder.join("live");
    let (mut sent, mut seen, mut dropped) = (0, 0, 0);
    let [alone, watched] = medians(
        3,
        [&mut || server.drive(), &mut || {
            let _ = std::fs::remove_dir_all(&trace);
            let rate = server.watched(&recorder, &trace)?;
            let reader = Reader::open(&trace)?;
            dropped += reader.manifest().table.losses.get(Loss::KernelDropped);
            for request in reader.requests() {
                // pgbench asks for other things before it begins.
                let counts = |sql: &str| sql.starts_with("SELECT abalance FROM");
                seen += u64::from(request?.sql.as_deref().is_some_and(counts));
            }
            sent += server.sent();
            Ok(rate)
        }],
    )?;
    Ok(vec![
        Figure {
            name: "postgresql_live_vs_unwatched".to_owned(),
            value: watched / alone,
            goal: Goal::AtLeast(0.95),
            detail: format!("pgbench {watched:.0}/s while captured, {alone:.0}/s without"),
        },
        Figure {
            name: "postgresql_live_captured".to_owned(),
            value: seen as f64 / sent as f64,
            goal: Goal::AtLeast(1.0),
            detail: format!(
                "{seen} of {sent} statements captured, {dropped} packets dropped by the kernel and counted"
            ),
        },
    ])
}
