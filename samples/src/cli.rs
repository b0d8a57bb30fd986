//! The commands, as plain data and what each one does.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use splitproof_capture::trace::Engine;
use splitproof_samples::Sandbox;
use splitproof_samples::record::Recorder;
use splitproof_samples::sandbox::state::Backends;
use splitproof_samples::sandbox::{Plan, StatementLog};
use splitproof_samples::shop::{Summary, Workload};
use splitproof_samples::sysbench::Sysbench;
use tokio::runtime::Runtime;

/// A real primary, a replica and a router, in a directory of their own: PostgreSQL with pgpool-II, or MariaDB with the
/// sample router.
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
    Create {
        /// The kind of servers: postgresql, or mysql for MariaDB
        #[arg(long, default_value = "postgresql", value_parser = engine)]
        engine: Engine,
        /// Switch MariaDB's performance_schema on
        #[arg(long)]
        performance_schema: bool,
        /// The primary's port, instead of a free one
        #[arg(long)]
        primary_port: Option<u16>,
    },
    /// Load the sample shop's schema and seed data into the running pair
    Load {
        /// Load sysbench's tables instead (MariaDB)
        #[arg(long)]
        sysbench: bool,
    },
    /// Start both nodes and wait until the replica has caught up
    Up,
    /// Stop the router and both nodes
    Down,
    /// Stop everything and remove the directory
    Destroy,
    /// Start the router, or start it again, with a configuration: today, candidate, or a file. For PostgreSQL that is
    /// pgpool, or with a YAML file the sample router; for MySQL the sample router
    Router {
        /// The configuration
        config: String,
        /// Point the router straight at the nodes instead of at replay's taps
        #[arg(long)]
        direct: bool,
        /// More arguments for the router's command line, after a --
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Keep a copy of both nodes' data; they restart if they ran
    Snapshot,
    /// Put the copy back; nodes and router restart if they ran
    Restore,
    /// Pause the replica: it receives and does not apply, and answers from the past
    Pause,
    /// Let the replica apply again
    Resume,
    /// Let the replica apply every transaction so many seconds late; 0 ends that
    Delay {
        /// The seconds
        #[arg(value_parser = clap::value_parser!(u32).range(0..=86_400))]
        seconds: u32,
    },
    /// Switch MariaDB's log of every statement on both nodes
    GeneralLog {
        /// Where to
        to: GeneralLog,
    },
    /// Wait until the replica has applied what the primary has written
    Wait,
    /// Write the pair.toml that replay reads, and print where it is
    PairToml {
        /// Where to write it instead of into the sandbox's directory
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Run the sample shop's clients
    Workload {
        /// Connect to the router instead of the primary
        #[arg(long)]
        through_router: bool,
        #[command(flatten)]
        run: Run,
    },
    /// Record the packets of the sample shop's clients, or of sysbench, at the primary's port
    Record {
        /// A file whose name ends in .pcap is written by tcpdump; anything else is a trace, written by
        /// `splitproof-capture live`
        #[arg(short, long)]
        output: PathBuf,
        /// Record sysbench's oltp_read_write instead (MariaDB); it knows no pace
        #[arg(long, value_name = "HOW")]
        sysbench: Option<Statements>,
        #[command(flatten)]
        run: Run,
    },
    /// What runs where
    Status,
}

/// Where MariaDB logs every statement.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum GeneralLog {
    /// Nowhere
    Off,
    /// Into a file in the sandbox's log/
    File,
    /// Into the table mysql.general_log
    Table,
}

/// How sysbench sends its statements.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Statements {
    /// As texts
    Text,
    /// Prepared, in the binary protocol
    Prepared,
}

/// How the clients run.
#[derive(Debug, Args)]
struct Run {
    /// Requests in all
    #[arg(long, default_value_t = 3000)]
    requests: u64,
    /// Stop after so many seconds, even with fewer requests
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Clients of the shop; two report clients and two of a courier come on top
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=Workload::MOST_CLIENTS as u64))]
    clients: u64,
    /// Mean pause of a client between two actions, in milliseconds
    #[arg(long, default_value_t = 160)]
    pace_ms: u64,
    /// What the clients ask follows from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Cli {
    /// Does what the command says.
    pub fn run(self) -> Result<()> {
        if let Command::Create { engine, performance_schema, primary_port } = self.command {
            let mut plan = Plan::new(engine)?;
            plan.performance_schema = performance_schema;
            plan.ports.primary = primary_port.unwrap_or(plan.ports.primary);
            let mut sandbox = Sandbox::create_with(&self.dir, plan)?;
            sandbox.keep_running();
            return Ok(());
        }
        let mut sandbox = Sandbox::open(&self.dir)?;
        sandbox.keep_running();
        match self.command {
            Command::Create { .. } => {}
            Command::Up => sandbox.up()?,
            Command::Down => sandbox.down()?,
            Command::Destroy => sandbox.destroy()?,
            Command::Router { config, direct, arguments } => {
                sandbox.router_with(&config, if direct { Backends::Nodes } else { Backends::Taps }, &arguments)?;
            }
            Command::Load { sysbench: false } => sandbox.load_shop()?,
            Command::Load { sysbench: true } => sandbox.load_sysbench(Sysbench::default())?,
            Command::Workload { through_router, run } => {
                let ports = sandbox.ports();
                let workload =
                    run.workload(sandbox.engine(), if through_router { ports.router } else { ports.primary })?;
                let start = Instant::now();
                print(&Runtime::new()?.block_on(workload.run())?, start);
            }
            Command::Record { output, sysbench: None, run } => run.record(&mut sandbox, &output)?,
            Command::Record { output, sysbench: Some(how), run } => run.record_sysbench(&mut sandbox, &output, how)?,
            Command::Snapshot => sandbox.snapshot()?,
            Command::Restore => sandbox.restore()?,
            Command::Pause => sandbox.pause_replay()?,
            Command::Resume => sandbox.resume_replay()?,
            Command::Delay { seconds } => sandbox.delay(seconds)?,
            Command::GeneralLog { to } => sandbox.log_statements(match to {
                GeneralLog::Off => None,
                GeneralLog::File => Some(StatementLog::File),
                GeneralLog::Table => Some(StatementLog::Table),
            })?,
            Command::Wait => sandbox.wait_caught_up()?,
            Command::PairToml { output } => println!("{}", sandbox.write_pair_toml(output.as_deref())?.display()),
            Command::Status => status(&sandbox),
        }
        Ok(())
    }
}

fn engine(word: &str) -> Result<Engine, String> {
    let known: Vec<_> = Engine::ALL.iter().map(|engine| engine.as_str()).collect();
    Engine::from_word(word).ok_or_else(|| format!("not one of {}", known.join(", ")))
}

impl Run {
    fn workload(&self, engine: Engine, port: u16) -> Result<Workload> {
        Ok(Workload {
            engine,
            port,
            clients: usize::try_from(self.clients)?,
            requests: self.requests,
            time: Duration::from_secs(self.seconds),
            pace: Duration::from_millis(self.pace_ms),
            seed: self.seed,
        })
    }

    fn record(&self, sandbox: &mut Sandbox, output: &Path) -> Result<()> {
        let start = Instant::now();
        let workload = self.workload(sandbox.engine(), sandbox.ports().primary)?;
        print(&sandbox.record(&recorder(output)?, output, workload)?, start);
        Ok(())
    }

    fn record_sysbench(&self, sandbox: &mut Sandbox, output: &Path, how: Statements) -> Result<()> {
        let bench = Sysbench {
            prepared: matches!(how, Statements::Prepared),
            threads: u32::try_from(self.clients)?,
            transactions: self.requests.div_ceil(Sysbench::default().statements()),
            seconds: self.seconds,
            seed: u32::try_from(self.seed)?,
            ..Sysbench::default()
        };
        let done = sandbox.record_while(&recorder(output)?, output, |sandbox| sandbox.run_sysbench(bench))?;
        println!("{} statements in {} transactions; {} failed", done.queries, done.transactions, done.failed);
        Ok(())
    }
}

/// Who writes such an output.
fn recorder(output: &Path) -> Result<Recorder> {
    if output.extension().is_some_and(|extension| extension == "pcap") {
        return Ok(Recorder::Tcpdump);
    }
    // The tools are built and installed side by side.
    Ok(Recorder::Capture(std::env::current_exe()?.with_file_name("splitproof-capture")))
}

fn print(summary: &Summary, start: Instant) {
    let errors: Vec<String> = summary.errors.iter().map(|(code, count)| format!("{count} × {code}")).collect();
    println!(
        "{} requests in {} sessions, {:.1} s; errors: {}",
        summary.requests,
        summary.sessions,
        start.elapsed().as_secs_f64(),
        if errors.is_empty() { "none".to_owned() } else { errors.join(", ") },
    );
}

fn status(sandbox: &Sandbox) {
    let ports = sandbox.ports();
    println!("{} ({})", sandbox.dir().display(), sandbox.engine().as_str());
    for (node, tap) in [(sandbox.primary(), ports.tap_primary), (sandbox.replica(), ports.tap_replica)] {
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
