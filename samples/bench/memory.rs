//! Memory that decoding takes, of long recordings and of many connections. The packets come through a pipe, so that they take no room.

use std::fs;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::copies::Recording;
use crate::decode::Packets;
use crate::figure::{Figure, Goal};
use crate::tool;

const SHORT: u64 = 400_000_000;
const LONG: u64 = 4_000_000_000;
const CONNECTIONS: u32 = 10_000;
/// Packets of each recorded connection, on average, that stand for an open one.
const EACH: u32 = 100;
const MIB: f64 = 1024.0;

/// Measures the largest resident size of the tool.
pub fn measure(packets: &Packets, connections: u32, folder: &Path) -> Result<Vec<Figure>> {
    let whole = Recording::read(&packets.pcap, packets.port, usize::MAX)?;
    let copies = |bytes: u64| u32::try_from(bytes.div_ceil(whole.bytes())).unwrap_or(u32::MAX);
    let short = peak(packets, folder, |to| whole.in_turn(copies(SHORT), to))?;
    let long = peak(packets, folder, |to| whole.in_turn(copies(LONG), to))?;
    drop(whole);
    let begin = Recording::read(&packets.pcap, packets.port, (connections * EACH) as usize)?;
    let many = peak(packets, folder, |to| begin.side_by_side(CONNECTIONS / connections, to))?;
    let engine = packets.engine;
    Ok(vec![
        Figure {
            name: format!("{engine}_memory_4_gb_vs_400_mb"),
            value: long / short,
            goal: Goal::AtMost(1.2),
            detail: format!("peak resident size {:.0} MiB of 4 GB, {:.0} MiB of 400 MB", long / MIB, short / MIB),
        },
        Figure {
            name: format!("{engine}_memory_10000_connections_mib"),
            value: many / MIB,
            goal: Goal::AtMost(512.0),
            detail: format!("peak resident size with {CONNECTIONS} connections open: {:.0} MiB", many / MIB),
        },
    ])
}

/// The largest resident size, KiB, while the packets are decoded.
fn peak(
    packets: &Packets,
    folder: &Path,
    write: impl FnOnce(&mut BufWriter<std::process::ChildStdin>) -> Result<()> + Send,
) -> Result<f64> {
    let mut capture = Command::new(tool::path("splitproof-capture")?)
        .args(["packets", "--force", "--port", &format!("{}={}", packets.port, packets.engine), "-o"])
        .arg(folder.join("memory"))
        .arg("/dev/stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let stdin = capture.stdin.take().context("the tool's standard input")?;
    let status = format!("/proc/{}/status", capture.id());
    let mut most = 0.0;
    std::thread::scope(|scope| -> Result<()> {
        let writing = scope.spawn(|| {
            let mut to = BufWriter::with_capacity(1 << 20, stdin);
            write(&mut to)
        });
        while capture.try_wait()?.is_none() {
            // The kernel keeps the mark, so that looking now and then misses only what comes at the very end.
            let text = fs::read_to_string(&status).unwrap_or_default();
            let mark =
                text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
            most = mark.map_or(most, |mark: f64| mark.max(most));
            std::thread::sleep(Duration::from_millis(5));
        }
        writing.join().map_err(|_| anyhow::anyhow!("the writer panicked"))?
    })?;
    if !capture.wait()?.success() || most == 0.0 {
        bail!("splitproof-capture failed on {} through a pipe", packets.pcap.display());
    }
    Ok(most)
}
