//! Packets per second: a bare libpcap loop, the decoder, and tshark, over the same capture in the same run.
//!
//! ```text
//! cargo run --release --example decode -- pgbench.pcap 5432=postgresql
//! ```
//!
//! Every figure is the best of several rounds, in which the contenders take turns, so that a disturbance of the
//! machine meets all of them. The file is read once before, so that it comes from memory for all.

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use splitproof_capture::{
    packets::{Assembler, Control, Limits, PortOption, Source, sessions},
    session::Shared,
    trace::{Request, Sink},
};

const ROUNDS: usize = 5;

/// Counts requests and lets them go.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn request(&mut self, request: Request) {
        self.0 += 1;
        black_box(request);
    }
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(port)) = (args.next(), args.next()) else {
        bail!("usage: decode FILE PORT=PROTOCOL; for example decode pgbench.pcap 5432=postgresql");
    };
    let (path, port) = (PathBuf::from(path), port.parse::<PortOption>()?);

    let packets = bare(&path)?;
    let (mut bare_s, mut decoder_s, mut requests) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        bare(&path)?;
        bare_s = bare_s.min(began.elapsed().as_secs_f64());
        let began = Instant::now();
        requests = decode(&path, port)?;
        decoder_s = decoder_s.min(began.elapsed().as_secs_f64());
    }
    let rate = |seconds: f64| packets as f64 / seconds;
    println!("{}: {packets} packets, {requests} requests", path.display());
    println!("bare libpcap loop {:>12.0} packets/s", rate(bare_s));
    println!("decoder           {:>12.0} packets/s", rate(decoder_s));
    let slower = decoder_s / bare_s;
    println!("bench decode_vs_bare_loop {slower:.2} goal <= 15 {}", verdict(slower <= 15.0));
    match tshark(&path, port)? {
        Some(tshark_s) => {
            println!("tshark            {:>12.0} packets/s", rate(tshark_s));
            let faster = tshark_s / decoder_s;
            println!("bench decode_vs_tshark {faster:.1} goal >= 20 {}", verdict(faster >= 20.0));
        }
        None => println!("skipped: decode_vs_tshark (no tshark on the PATH)"),
    }
    Ok(())
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "short" }
}

/// Reads every packet and does nothing with it.
fn bare(path: &Path) -> Result<u64> {
    let mut capture = pcap::Capture::from_file_with_precision(path, pcap::Precision::Nano)?;
    let mut packets = 0;
    capture.for_each(None, |packet| {
        packets += 1;
        black_box(packet.data);
    })?;
    Ok(packets)
}

/// Decodes to requests, and returns their number.
fn decode(path: &Path, port: PortOption) -> Result<u64> {
    let mut assembler = Assembler::new([port].into(), Limits::default(), sessions(Shared::new()));
    let mut count = Count::default();
    Source::Files(vec![path.to_owned()]).run(&mut assembler, &mut count, Control::default())?;
    assembler.finish(&mut count);
    Ok(count.0)
}

/// Lets tshark decode the statements, and returns its best time in seconds; `None` where it is not installed.
fn tshark(path: &Path, PortOption { port, .. }: PortOption) -> Result<Option<f64>> {
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let began = Instant::now();
        let status = Command::new("tshark")
            .args(["-n", "-d", &format!("tcp.port=={port},pgsql"), "-T", "fields", "-e", "pgsql.query", "-r"])
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => best = best.min(began.elapsed().as_secs_f64()),
            Ok(status) => bail!("tshark: {status}"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("tshark cannot be started"),
        }
    }
    Ok(Some(best))
}
