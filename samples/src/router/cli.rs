//! The command line of `splitproof-router`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Parser;
use tokio::net::TcpListener;

use super::Config;
use super::fault::{Fault, Faults};
use super::log::DecisionLog;
use super::node::Engine;
use super::serve::{self, Shared};

/// A read/write-splitting router for tests: right, or wrong in one named way.
#[derive(Debug, Parser)]
#[command(
    name = "splitproof-router",
    version,
    after_help = "Example:\n  splitproof-router --engine postgresql --listen 127.0.0.1:6432 --primary 127.0.0.1:5432 \\\n    \
                  --replica 127.0.0.1:5433 --config samples/router/parsed.yaml --fault for-update-to-replica"
)]
pub struct Cli {
    /// What the servers are.
    #[arg(long, value_enum, required_unless_present = "list_faults")]
    engine: Option<Engine>,
    /// Where clients connect; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,
    /// The primary.
    #[arg(long, value_name = "ADDR", required_unless_present = "list_faults")]
    primary: Option<String>,
    /// A replica; several when repeated.
    #[arg(long, value_name = "ADDR")]
    replica: Vec<String>,
    /// Where the router asks for positions and lag: one address per server, the primary first. The servers themselves
    /// when left out.
    #[arg(long, value_name = "ADDR")]
    control: Vec<String>,
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Faults to commit.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    fault: Vec<String>,
    /// Writes every decision to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Lists the faults, those of --engine where it is given, and ends.
    #[arg(long)]
    list_faults: bool,
}

impl Cli {
    /// Does what the command line says.
    pub fn run(self) -> anyhow::Result<()> {
        if self.list_faults {
            return list(self.engine);
        }
        let (Some(engine), Some(primary)) = (self.engine, self.primary) else {
            bail!("--engine and --primary are needed");
        };
        for address in [&primary].into_iter().chain(&self.replica).chain(&self.control) {
            if !is_address(address) {
                bail!("{address} is no address of a server: write HOST:PORT");
            }
        }
        let addresses: Vec<String> = [primary].into_iter().chain(self.replica).collect();
        if !self.control.is_empty() && self.control.len() != addresses.len() {
            bail!("{} servers and {} control addresses: give one for each server", addresses.len(), self.control.len());
        }
        let config = self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let faults = Faults::parse(&self.fault, engine)?;
        let log = match &self.log {
            Some(path) => DecisionLog::create(path).with_context(|| format!("cannot create {}", path.display()))?,
            None => DecisionLog::default(),
        };
        let shared = Arc::new(Shared::new(engine, config, &addresses, &self.control, faults, log));
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(async {
            let listener = TcpListener::bind(&self.listen).await;
            let listener = listener.with_context(|| format!("cannot listen on {}", self.listen))?;
            println!("listening on {}", listener.local_addr()?);
            serve::serve(shared, listener).await.context("cannot serve")
        })
    }
}

/// True for `HOST:PORT`.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Lists the faults: those of one engine, where it is given.
fn list(engine: Option<Engine>) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    for fault in Fault::ALL.iter().filter(|fault| engine.is_none_or(|engine| fault.engines().contains(&engine))) {
        let engines: Vec<&str> = fault.engines().iter().map(|engine| engine.name()).collect();
        match writeln!(out, "{fault:<30} {:<17} {}", engines.join(","), fault.what()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
