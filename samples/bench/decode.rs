//! Packets per second: our decoder to a finished trace, a bare libpcap read loop, and tshark.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::figure::{Figure, Goal};
use crate::traffic::Traffic;

/// Each is run this many times and the fastest counts: noise only ever slows down.
const ROUNDS: usize = 3;

/// Measures all three on the same file.
pub fn measure(traffic: &Traffic, pcap: &Path, folder: &Path) -> Result<Vec<Figure>> {
    let trace = folder.join("decoded");
    let mut packets = 0;
    let bare = fastest(ROUNDS, || bare_loop(pcap).map(|count| packets = count))?;
    let ours = fastest(ROUNDS, || capture(traffic, pcap, &trace))?;
    let tshark = fastest(1, || tshark(traffic, pcap))?;
    let rate = |time: Duration| packets as f64 / time.as_secs_f64();
    let size = std::fs::metadata(pcap)?.len() as f64 / 1e6;
    Ok(vec![
        Figure {
            name: "postgresql_decode_vs_tshark",
            value: rate(ours) / rate(tshark),
            goal: Goal::AtLeast(20.0),
            detail: format!(
                "{packets} packets ({size:.0} MB): splitproof-capture {:.0}/s, tshark {:.0}/s",
                rate(ours),
                rate(tshark)
            ),
        },
        Figure {
            name: "postgresql_bare_loop_vs_decode",
            value: rate(bare) / rate(ours),
            goal: Goal::AtMost(15.0),
            detail: format!("bare libpcap loop {:.0}/s, splitproof-capture {:.0}/s", rate(bare), rate(ours)),
        },
    ])
}

fn fastest(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let begin = Instant::now();
        work()?;
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

/// Reads every packet and touches its length: the least that any reader does.
fn bare_loop(pcap: &Path) -> Result<u64> {
    let mut capture = pcap::Capture::from_file(pcap).context("open the pcap")?;
    let (mut packets, mut bytes) = (0, 0);
    while let Ok(packet) = capture.next_packet() {
        packets += 1;
        bytes += packet.data.len();
    }
    std::hint::black_box(bytes);
    Ok(packets)
}

/// The whole tool: process start, decoding, a finished trace on disk.
fn capture(traffic: &Traffic, pcap: &Path, trace: &Path) -> Result<()> {
    let port = format!("{}=postgresql", traffic.port());
    let output = Command::new(tool("splitproof-capture")?)
        .args(["packets", "--force", "--port", &port, "-o"])
        .arg(trace)
        .arg(pcap)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("splitproof-capture failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn tshark(traffic: &Traffic, pcap: &Path) -> Result<()> {
    let output = Command::new("tshark")
        .args(["-n", "-d", &format!("tcp.port=={},pgsql", traffic.port())])
        .args(["-Y", "pgsql.query", "-T", "fields", "-e", "frame.time_epoch", "-e", "pgsql.query", "-r"])
        .arg(pcap)
        .stdin(Stdio::null())
        .output()
        .context("start tshark (package tshark)")?;
    if !output.status.success() || output.stdout.is_empty() {
        bail!("tshark decoded nothing: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// A tool of this workspace, beside this program.
pub fn tool(name: &str) -> Result<std::path::PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is not built: cargo build --release --workspace", path.display());
    }
    Ok(path)
}
