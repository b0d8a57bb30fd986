//! Packets per second: our decoder to a finished trace, a bare libpcap read loop, and tshark.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use splitproof_capture::trace::Engine;

use crate::figure::{Figure, Goal};
use crate::rounds::medians;
use crate::tool;

/// Rounds, each with all of them in turn.
const ROUNDS: usize = 3;

/// Recorded packets.
pub struct Packets {
    /// What kind of server they come from.
    pub engine: Engine,
    /// Its port.
    pub port: u16,
    /// The file.
    pub pcap: PathBuf,
}

impl Packets {
    /// Where decoding leaves the trace.
    pub fn trace(engine: Engine, folder: &Path) -> PathBuf {
        folder.join(format!("{engine}-decoded"))
    }

    /// The protocol as tshark calls it.
    fn dissector(&self) -> &'static str {
        match self.engine {
            Engine::Postgresql => "pgsql",
            Engine::Mysql => "mysql",
        }
    }

    /// The same for us on one core: results that are only hashed come faster than small statements.
    fn most_on_one_core(&self) -> f64 {
        match self.engine {
            Engine::Postgresql => 5.0,
            Engine::Mysql => 3.0,
        }
    }

    /// How many times faster than us a loop may be that only reads.
    fn most(&self) -> f64 {
        match self.engine {
            Engine::Postgresql => 15.0,
            Engine::Mysql => 6.0,
        }
    }
}

/// Measures all on the same file.
pub fn measure(packets: &Packets, folder: &Path) -> Result<Vec<Figure>> {
    let trace = Packets::trace(packets.engine, folder);
    let mut count = 0;
    let program = tool::path("splitproof-capture")?;
    let [bare, ours, alone, tshark, cat] = medians(
        ROUNDS,
        [
            &mut || timed(|| bare_loop(&packets.pcap).map(|packets| count = packets)),
            &mut || timed(|| capture(Command::new(&program), packets, &trace)),
            &mut || timed(|| capture(tool::one_core(program.clone()), packets, &trace)),
            &mut || timed(|| tshark(packets)),
            &mut || timed(|| cat(&packets.pcap)),
        ],
    )?;
    let rate = |seconds: f64| count as f64 / seconds;
    let size = std::fs::metadata(&packets.pcap)?.len() as f64 / 1e6;
    let written = size_of(&trace)? / 1e6;
    Ok(vec![
        Figure {
            name: format!("{}_decode_vs_tshark", packets.engine),
            value: rate(ours) / rate(tshark),
            goal: Goal::AtLeast(20.0),
            detail: format!(
                "{count} packets ({size:.0} MB): splitproof-capture {:.0}/s, tshark {:.0}/s",
                rate(ours),
                rate(tshark)
            ),
        },
        Figure {
            name: format!("{}_bare_loop_vs_decode", packets.engine),
            value: rate(bare) / rate(ours),
            goal: Goal::AtMost(packets.most()),
            detail: format!("bare libpcap loop {:.0}/s, splitproof-capture {:.0}/s", rate(bare), rate(ours)),
        },
        Figure {
            name: format!("{}_decode_on_one_core_vs_tshark", packets.engine),
            value: rate(alone) / rate(tshark),
            goal: Goal::AtLeast(50.0),
            detail: format!(
                "splitproof-capture on one core {:.0}/s ({:.0} MB/s; cat {:.0} MB/s)",
                rate(alone),
                size / alone,
                size / cat
            ),
        },
        Figure {
            name: format!("{}_bare_loop_vs_decode_on_one_core", packets.engine),
            value: rate(bare) / rate(alone),
            goal: Goal::AtMost(packets.most_on_one_core()),
            detail: format!("bare libpcap loop {:.0}/s, splitproof-capture {:.0}/s", rate(bare), rate(alone)),
        },
        Figure {
            name: format!("{}_pcap_vs_trace_bytes", packets.engine),
            value: size / written,
            goal: Goal::AtLeast(20.0),
            detail: format!("pcap {size:.1} MB, trace {written:.1} MB"),
        },
    ])
}

/// Decodes, for whoever needs the trace.
pub fn decode(packets: &Packets, folder: &Path) -> Result<()> {
    capture(Command::new(tool::path("splitproof-capture")?), packets, &Packets::trace(packets.engine, folder))
}

/// Seconds that it takes.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_secs_f64())
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
fn capture(mut program: Command, packets: &Packets, trace: &Path) -> Result<()> {
    let port = format!("{}={}", packets.port, packets.engine);
    let output = program
        .args(["packets", "--force", "--port", &port, "-o"])
        .arg(trace)
        .arg(&packets.pcap)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("splitproof-capture failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Reads the file: the limit that the machine sets.
fn cat(pcap: &Path) -> Result<()> {
    let status = Command::new("cat").arg(pcap).stdout(Stdio::null()).status()?;
    if !status.success() {
        bail!("cat failed");
    }
    Ok(())
}

/// Bytes of the files in a directory.
fn size_of(dir: &Path) -> Result<f64> {
    let sizes = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.metadata()?.len() as f64));
    sizes.sum()
}

/// tshark, asked for the time and the text of every query.
fn tshark(packets: &Packets) -> Result<()> {
    let dissector = packets.dissector();
    let query = format!("{dissector}.query");
    let output = Command::new("tshark")
        .args(["-n", "-d", &format!("tcp.port=={},{dissector}", packets.port)])
        .args(["-Y", &query, "-T", "fields", "-e", "frame.time_epoch", "-e", &query, "-r"])
        .arg(&packets.pcap)
        .stdin(Stdio::null())
        .output()
        .context("start tshark (package tshark)")?;
    if !output.status.success() || output.stdout.is_empty() {
        bail!("tshark decoded nothing: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
