//! `splitproof-bench`: speed as ratios against a peer or a limit, both measured in this run.
//!
//! - [`figure`]: one figure with its goal, the printed lines and `bench.json`
//! - [`traffic`]: a PostgreSQL server with pgbench's data, and what pgbench sends to it
//! - [`decode`]: packets decoded, against a bare libpcap loop and against tshark
//! - [`drive`]: statements replayed, against pgbench and against pgreplay

mod decode;
mod drive;
mod figure;
mod traffic;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

/// Measure decoding and replay against their peers on this machine.
///
/// Example: splitproof-bench --json target/bench.json
#[derive(Debug, Parser)]
#[command(name = "splitproof-bench", version)]
struct Cli {
    /// Where the figures go as JSON.
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    json: PathBuf,
    /// Statements that pgbench sends on each of its connections.
    #[arg(long, value_name = "N", default_value_t = 25_000)]
    statements: u32,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 8)]
    connections: u32,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A goal that is missed is printed as `short` and is no failure: figures on a shared machine are to be read, not asserted.
fn run(cli: &Cli) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("splitproof-bench").tempdir().context("make a temporary folder")?;
    let traffic = traffic::Traffic::start(folder.path(), cli.connections, cli.statements)?;
    eprintln!("recording pgbench: {} connections, {} statements each", cli.connections, cli.statements);
    let pcap = traffic.record(&folder.path().join("pgbench.pcap"))?;
    let mut figures = decode::measure(&traffic, &pcap, folder.path())?;
    figures.extend(drive::measure(&traffic, folder.path())?);
    figure::report(&figures, &cli.json)
}
