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
    /// Say which statement shapes of a window a fixture asserts on, and the other way round.
    #[command(after_help = "Example:\n  splitproof-analyze coverage --fixture fixture.yaml traces/monday")]
    Coverage(CoverageFlags),
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
    /// Fixtures.
    #[arg(long, value_name = "FILE", required = true)]
    pub fixture: Vec<PathBuf>,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
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
