//! `splitproof-bench`: speed as ratios against a peer or a limit, both measured in this run.
//!
//! - [`figure`]: one figure with its goal, the printed lines and `bench.json`; [`rounds`]: measuring in turn, and the median
//! - [`decode`]: packets decoded, against a bare libpcap loop and against tshark
//! - [`copies`], [`memory`]: memory, of long recordings and many connections; [`live`]: capture beside a server at full speed
//! - [`logs`]: logs, against those who read them
//! - [`replay`]: statements replayed at full speed
//! - [`simulate`]: a trace through a model of a router
//! - [`pgbench`]: a PostgreSQL server with pgbench's data; [`pgreplay`]: that tool's replay of the server's log
//! - [`sysbench`]: a MariaDB server with sysbench's tables
//! - [`scale`]: the analyzer on millions of requests, against DuckDB
//! - [`tool`]: the tools of this workspace

mod copies;
mod decode;
mod figure;
mod live;
mod logs;
mod memory;
mod pgbench;
mod pgreplay;
mod replay;
mod rounds;
mod scale;
mod simulate;
mod sysbench;
mod tool;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use splitproof_capture::trace::Engine;

use figure::Figure;

/// pgbench's packets are small: so many runs of it make a recording of 250 MB.
const LONG: u32 = 5;

/// Measure decoding and replay against their peers on this machine.
///
/// Example: splitproof-bench --json target/bench.json
#[derive(Debug, Parser)]
#[command(name = "splitproof-bench", version)]
struct Cli {
    /// Where the figures go as JSON.
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    json: PathBuf,
    /// Measure this engine only: postgresql or mysql.
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    engine: Option<Engine>,
    /// Statements that pgbench and sysbench send on each of their connections.
    #[arg(long, value_name = "N", default_value_t = 25_000)]
    statements: u32,
    /// Requests of each of the two runs that the analyzer compares.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    requests: u64,
    /// Measure the analyzer only.
    #[arg(long)]
    analyzer: bool,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 8)]
    connections: u32,
}

fn engine(word: &str) -> Result<Engine, String> {
    Engine::from_word(word).ok_or_else(|| "not one of postgresql, mysql".to_owned())
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
    let mut figures = Vec::new();
    let engines =
        Engine::ALL.iter().filter(|engine| !cli.analyzer && cli.engine.is_none_or(|wanted| wanted == **engine));
    for &engine in engines {
        figures.extend(match engine {
            Engine::Postgresql => postgresql(cli, folder.path())?,
            Engine::Mysql => mysql(cli, folder.path())?,
        });
    }
    if cli.analyzer || cli.engine.is_none() {
        figures.extend(scale::measure(cli.requests, folder.path())?);
    }
    figure::report(&figures, &cli.json)
}

fn postgresql(cli: &Cli, folder: &Path) -> Result<Vec<Figure>> {
    let mut server = pgbench::Server::start(cli.connections, cli.statements)?;
    eprintln!("recording pgbench: {} connections, {} statements each", cli.connections, cli.statements * LONG);
    let packets = server.longer(LONG, |server| server.record(&folder.join("pgbench.pcap")))?;
    let mut figures = decode::measure(&packets, folder)?;
    figures.extend(memory::measure(&packets, cli.connections, folder)?);
    std::fs::remove_file(&packets.pcap)?;
    figures.extend(live::measure(&server, folder)?);
    figures.push(logs::measure(&server.csvlog(folder)?, folder)?);
    // The replay repeats what one run of pgbench sends.
    let packets = server.record(&folder.join("pgbench.pcap"))?;
    decode::decode(&packets, folder)?;
    figures.extend(pgbench::measure(&server, folder)?);
    Ok(figures)
}

fn mysql(cli: &Cli, folder: &Path) -> Result<Vec<Figure>> {
    let server = sysbench::Server::start(cli.connections, cli.statements)?;
    eprintln!("recording sysbench: {} connections, {} statements each", cli.connections, cli.statements);
    let packets = server.record(&folder.join("sysbench.pcap"))?;
    let mut figures = decode::measure(&packets, folder)?;
    figures.extend(memory::measure(&packets, cli.connections, folder)?);
    figures.extend(sysbench::measure(&server, folder)?);
    figures.push(simulate::measure(&decode::Packets::trace(Engine::Mysql, folder), folder)?);
    figures.push(logs::measure(&server.slow_log(folder)?, folder)?);
    Ok(figures)
}
