//! The commands, as plain data and what each one does.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::state::Backends;

/// A real PostgreSQL primary, a streaming standby and pgpool-II, in a directory of their own.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example:\n  \
    splitproof-sandbox --dir /tmp/pair create\n  \
    splitproof-sandbox --dir /tmp/pair up\n  \
    splitproof-sandbox --dir /tmp/pair router today\n  \
    splitproof-sandbox --dir /tmp/pair down"
)]
pub struct Cli {
    /// The sandbox's directory
    #[arg(long, default_value = "/tmp/splitproof-sandbox", env = "SPLITPROOF_SANDBOX")]
    dir: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the sandbox: two nodes, not yet running
    Create,
    /// Start both nodes and wait until the standby has caught up
    Up,
    /// Stop the router and both nodes
    Down,
    /// Stop everything and remove the directory
    Destroy,
    /// Start pgpool, or start it again, with a configuration: today, candidate, or a file
    Router {
        /// The configuration
        config: String,
        /// Point pgpool straight at the nodes instead of at replay's taps
        #[arg(long)]
        direct: bool,
    },
    /// Keep a copy of both nodes' data; they restart if they ran
    Snapshot,
    /// Put the copy back; nodes and router restart if they ran
    Restore,
    /// Pause the standby's replay: it answers from the past
    Pause,
    /// Let the standby's replay go on
    Resume,
    /// Wait until the standby has applied what the primary has written
    Wait,
    /// Write the pair.toml that replay reads, and print where it is
    PairToml {
        /// Where to write it instead of into the sandbox's directory
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// What runs where
    Status,
}

impl Cli {
    /// Does what the command says.
    pub fn run(self) -> Result<()> {
        if let Command::Create = self.command {
            let mut sandbox = Sandbox::create(&self.dir)?;
            sandbox.keep_running();
            return Ok(());
        }
        let mut sandbox = Sandbox::open(&self.dir)?;
        sandbox.keep_running();
        match self.command {
            Command::Create => {}
            Command::Up => sandbox.up()?,
            Command::Down => sandbox.down()?,
            Command::Destroy => sandbox.destroy()?,
            Command::Router { config, direct } => {
                sandbox.router_with(&config, if direct { Backends::Nodes } else { Backends::Taps })?;
            }
            Command::Snapshot => sandbox.snapshot()?,
            Command::Restore => sandbox.restore()?,
            Command::Pause => sandbox.pause_replay()?,
            Command::Resume => sandbox.resume_replay()?,
            Command::Wait => sandbox.wait_caught_up()?,
            Command::PairToml { output } => println!("{}", sandbox.write_pair_toml(output.as_deref())?.display()),
            Command::Status => status(&sandbox),
        }
        Ok(())
    }
}

fn status(sandbox: &Sandbox) {
    let ports = sandbox.ports();
    println!("{}", sandbox.dir().display());
    for (node, tap) in [(sandbox.primary(), ports.tap_primary), (sandbox.standby(), ports.tap_standby)] {
        let state = node.pid().map_or_else(|| "stopped".to_owned(), |pid| format!("pid {pid}"));
        println!("  {:<8} port {}  {state}  (tap: port {tap})", node.name, node.port);
    }
    let router = sandbox.running_router().map_or_else(
        || "stopped".to_owned(),
        |state| {
            let backends = match state.backends {
                Backends::Taps => "the taps",
                Backends::Nodes => "the nodes",
            };
            format!("pid {}  configuration {}, backends are {backends}", state.pid, state.config)
        },
    );
    println!("  {:<8} port {}  {router}", "router", ports.router);
}
