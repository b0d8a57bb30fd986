//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use super::explain::ExplainFlags;
use super::rules::RulesFlags;
use super::simulate::SimulateFlags;

/// Judge where a router sent statements, what they answered, and how stale it was.
#[derive(Debug, Parser)]
#[command(name = "splitproof-analyze", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 pass, 1 fail, 2 could not judge (or the command line or an input cannot be used)."
)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare a candidate's run with a baseline, and hold the gate against the result.
    #[command(
        after_help = "Example:\n  splitproof-analyze compare runs/today runs/candidate --gate gate.yaml --html report.html"
    )]
    Compare(CompareFlags),
    /// Say what of production a window and a fixture cover, and what of a window a fixture asserts on.
    #[command(
        after_help = "Example:\n  splitproof-analyze coverage --census pg_stat_statements.csv --fixture fixture.yaml traces/monday"
    )]
    Coverage(CoverageFlags),
    /// List the reads that a replica may serve and the primary served, from an export made at the primary.
    #[command(
        after_help = "Example:\n  psql --csv -c 'SELECT * FROM pg_stat_statements' > primary.csv\n  splitproof-analyze audit primary.csv"
    )]
    Audit(AuditFlags),
    /// Say of each of the application's routes what it asks of the primary, whether it could move to a replica, and what it needs there.
    #[command(after_help = "Example:\n  splitproof-analyze routes --capacity 16 traces/monday")]
    Routes(RoutesFlags),
    /// Choose the users, applications, clients or routes that cover most shapes with little traffic.
    #[command(after_help = "Example:\n  splitproof-analyze canary --by route --cover shapes=95% traces/monday")]
    Canary(CanaryFlags),
    /// Run a fixture of known statements through the router, and say where each one went.
    #[command(
        after_help = "Example:\n  splitproof-analyze check --fixture samples/fixtures/postgresql.yaml --pair pair.toml --junit check.xml"
    )]
    Check(CheckFlags),
    /// Say what a router's rules would do with a trace, from a model of the router and without any database.
    #[command(
        after_help = "Example:\n  splitproof-analyze simulate --router proxysql --rules proxysql.cnf window -o predicted\n  splitproof-analyze compare today predicted"
    )]
    Simulate(SimulateFlags),
    /// Say where single statements would go, and why: several are one session.
    #[command(
        after_help = "Example:\n  splitproof-analyze explain --router proxysql --rules proxysql.cnf 'BEGIN' 'SELECT 1' 'COMMIT'"
    )]
    Explain(ExplainFlags),
    /// Look at a router's rule files: what can never match, what depends on order, and how several states of them differ.
    #[command(
        after_help = "Example:\n  splitproof-analyze rules --router proxysql runtime.json disk.sql proxysql.cnf\n\nExit codes: 0 nothing was found, 1 something was, 2 the files cannot be read."
    )]
    Rules(RulesFlags),
    /// List the numbers that a gate can ask about.
    #[command(after_help = "Example:\n  splitproof-analyze metrics")]
    Metrics,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, clap::Args)]
pub struct CompareFlags {
    /// Today's run, or the recording itself.
    pub baseline: PathBuf,
    /// The run of the rules that are about to ship.
    pub candidate: PathBuf,
    /// Conditions to hold [default: no leakage, no new split, no stale or different answer].
    #[arg(long, value_name = "FILE")]
    pub gate: Option<PathBuf>,
    /// Fixtures whose coverage of the window is measured.
    #[arg(long, value_name = "FILE")]
    pub fixture: Vec<PathBuf>,
    /// JSON reports of control runs: today's configuration compared with itself, replayed twice. Answers of a shape that differed there
    /// without a cause count as nondeterministic, unless they differ much more often.
    #[arg(long, value_name = "FILE")]
    pub noise: Vec<PathBuf>,
    /// The tag of statements (sqlcommenter, marginalia, query attributes) that names the user behind them, so that a read which missed
    /// the same user's write in another session is told apart.
    #[arg(long, value_name = "KEY")]
    pub client_tag: Option<String>,
    /// Write the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write everything as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the conditions as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Keep every request of both runs as judged, in DIR/baseline.parquet and DIR/candidate.parquet (docs/judged.md).
    #[arg(long, value_name = "DIR")]
    pub requests: Option<PathBuf>,
    /// Memory for joins and sorts; more is spilled to disk (TMPDIR).
    #[arg(long, value_name = "SIZE", default_value = "1GB")]
    pub memory: String,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, clap::Args)]
pub struct CoverageFlags {
    /// A trace or a run.
    pub trace: PathBuf,
    /// What production counted: pg_stat_statements, events_statements_summary_by_digest or ProxySQL's
    /// stats_mysql_query_digest, as CSV, TSV (the mysql client with --batch) or JSON.
    #[arg(long, value_name = "FILE", required_unless_present = "fixture")]
    pub census: Vec<PathBuf>,
    /// Fixtures.
    #[arg(long, value_name = "FILE")]
    pub fixture: Vec<PathBuf>,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, clap::Args)]
pub struct AuditFlags {
    /// What the primary counted, in the forms that `coverage --census` reads.
    #[arg(required = true, value_name = "EXPORT")]
    pub exports: Vec<PathBuf>,
    /// ProxySQL: the hostgroup of the primary.
    #[arg(long, value_name = "NUMBER")]
    pub writer_hostgroup: Option<i64>,
    /// A run whose catalogue tells what functions do.
    #[arg(long, value_name = "RUN")]
    pub catalog: Option<PathBuf>,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, clap::Args)]
pub struct RoutesFlags {
    /// A trace or a run.
    pub trace: PathBuf,
    /// Statements that the primary can work on at once.
    #[arg(long, value_name = "NUMBER")]
    pub capacity: Option<f64>,
    /// Memory for joins and sorts; more is spilled to disk (TMPDIR).
    #[arg(long, value_name = "SIZE", default_value = "1GB")]
    pub memory: String,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, clap::Args)]
pub struct CanaryFlags {
    /// A trace or a run.
    pub trace: PathBuf,
    /// What makes a group: user, application, database, client, route, or tag:KEY of a statement's comment.
    #[arg(long, value_name = "GROUP", default_value = "application")]
    pub by: splitproof_analyze::canary::By,
    /// How much is to be covered: a share of the shapes, or of the calls or the time of shapes.
    #[arg(long, value_name = "MEASURE=SHARE", default_value = "shapes=90%")]
    pub cover: splitproof_analyze::canary::Target,
    /// What is to be little: the chosen groups' requests, or their number.
    #[arg(long, value_enum, default_value = "requests")]
    pub least: Least,
    /// The random sample of sessions to hold against.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = splitproof_analyze::canary::share_of)]
    pub random: f64,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// What a canary should be sparing with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Least {
    /// Traffic that meets a fault.
    Requests,
    /// Groups to be routed apart.
    Groups,
}

#[derive(Debug, clap::Args)]
pub struct CheckFlags {
    /// The known statements.
    #[arg(long, value_name = "FILE")]
    pub fixture: PathBuf,
    /// The router and the pair behind it.
    #[arg(long, value_name = "FILE")]
    pub pair: PathBuf,
    /// Write the cases as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// How often a case is run at most while only reads on the primary are wrong with it.
    #[arg(long, value_name = "N", default_value_t = splitproof_analyze::check::Plan::TRIES, value_parser = clap::value_parser!(u32).range(1..))]
    pub tries: u32,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}
