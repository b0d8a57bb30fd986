//! The command line, and the order that it makes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use splitproof_capture::trace::Existing;
use splitproof_replay::clock::Speed;
use splitproof_replay::pair::{Pair, PairError, Passwords};
use splitproof_replay::run::{Only, Order};

/// Replay a recorded trace through a router into a real pair, and keep what came back.
#[derive(Debug, Parser)]
#[command(
    name = "splitproof-replay",
    version,
    after_help = "\
Examples:
  splitproof-replay window --pair pair.toml -o today
  splitproof-replay window --pair pair.toml -o fast --speed max --only reads --format json

Exit codes:
  0  replayed
  1  replayed, but unsound (the replayer was late too often) or incomplete (stopped, sessions refused or lost, or a node
     or the router stopped answering); the summary says which
  2  the command line, the trace or pair.toml cannot be used, the pair is not as pair.toml says, or the router
     is not there or refused every session"
)]
pub struct Args {
    /// Directory of the trace
    trace: PathBuf,

    /// File that names the router and the nodes
    #[arg(long, value_name = "FILE")]
    pair: PathBuf,

    /// Directory of the run to write
    #[arg(short, long = "output", value_name = "RUN")]
    output: PathBuf,

    /// Recorded time passes this many times as fast: 1, 0.5, 2, or "max" to send as soon as the answer before is there
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    speed: Speed,

    /// Send only requests of this kind
    #[arg(long, value_name = "KIND")]
    only: Option<OnlyKind>,

    /// Replace a run that is there already
    #[arg(long)]
    force: bool,

    /// Replay even into a server that the trace was recorded at, for pairs restored in its place
    #[arg(long)]
    allow_recorded_server: bool,

    /// Milliseconds between samples of each node's replication position
    #[arg(long, value_name = "MS", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    sample_every: u64,

    /// Give up when no session has been answered for so many seconds though some wait, and for as long as the longest request
    /// took when it was recorded
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    give_up_after: u64,

    /// How the summary is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// What is sent.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnlyKind {
    /// What is proven to read, and what shapes its session
    Reads,
}

/// How the summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Args {
    /// The order that these arguments make. Reads the pair's file and the password file.
    pub fn order(&self) -> Result<Order, PairError> {
        let pair = Pair::read(&self.pair)?;
        Ok(Order {
            trace: self.trace.clone(),
            passwords: Passwords::from_environment(pair.engine)?,
            pair,
            run: self.output.clone(),
            existing: if self.force { Existing::Replace } else { Existing::Refuse },
            speed: self.speed,
            only: match self.only {
                None => Only::All,
                Some(OnlyKind::Reads) => Only::Reads,
            },
            allow_recorded_server: self.allow_recorded_server,
            sample_every: Duration::from_millis(self.sample_every),
            give_up_after: Duration::from_secs(self.give_up_after),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn speeds_and_formats_are_parsed() {
        let line = ["splitproof-replay", "trace", "--pair", "p", "-o", "run", "--speed", "max", "--format", "json"];
        let args = Args::try_parse_from(line).unwrap();
        assert_eq!((args.speed, args.format), (Speed::Max, Format::Json));
        assert!(Args::try_parse_from([&line[..6], &["--speed", "0"]].concat()).is_err());
    }
}
