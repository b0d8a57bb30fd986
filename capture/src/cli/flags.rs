//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use splitproof_capture::log::{Format as LogFormat, Prefix, Zone};
use splitproof_capture::packets::{InvalidTunnel, PortOption, Tunnel};

/// Record what clients ask a database server, when, and what came back
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, but with a problem that was reported: nothing decodable, damaged input, incomplete trace
  2  not done: wrong command line, or input or output that cannot be used";

const PACKETS_EXAMPLE: &str = "\
Example:
  tcpdump -i any -w window.pcap tcp port 5432
  splitproof-capture packets --port 5432=postgresql -o window.trace window.pcap
  splitproof-capture packets --port 3306=mysql -o window.trace window.pcap

A trace is of one engine. Without --port the registered port of each is decoded, and the first session decides.";

const LIVE_EXAMPLE: &str = "\
Example:
  splitproof-capture live -i eth0 --port 5432=postgresql --for 10m -o window.trace
  splitproof-capture live -i eth0 --port 3306=mysql --for 10m -o window.trace

  splitproof-capture live -i eth0 --tunnels vxlan -o window.trace    # mirrored by a cloud
  splitproof-capture live -i eth0 --rotate 10m --min-free 5G --sample-sessions 0.1 -o traces

Ctrl-C, SIGTERM or SIGHUP ends the recording and leaves a readable trace.";

const TAP_EXAMPLE: &str = "\
Example:
  splitproof-capture tap --listen 0.0.0.0:6432 --upstream db1:5432 -o window.trace
  splitproof-capture tap --engine mysql --listen 0.0.0.0:3307 --upstream db1:3306 -o window.trace

Clients connect to that port instead of the server's. Ctrl-C, SIGTERM or SIGHUP ends the recording and leaves a readable trace.
Connections that are open then are cut.";

const LOG_EXAMPLE: &str = "\
Example:
  splitproof-capture log --format postgresql-csv -o window.trace postgresql-Mon.csv postgresql-Tue.csv.gz

Files packed with gzip or zstd are read as they are. A log holds what the server was told to log and no answers; what it
does not tell stays empty in the trace. The summary is printed as JSON with --summary json, since --format names the log's.";

const SHOW_EXAMPLE: &str = "\
Example:
  splitproof-capture show window.trace
  splitproof-capture show --format json window.trace | jq .losses";

const MERGE_EXAMPLE: &str = "\
Example:
  splitproof-capture merge -o all.trace db1.trace db2.trace app1.trace
  splitproof-capture merge -o all.trace --offset db2.trace=-1.5ms db1.trace db2.trace
  splitproof-capture merge -o day.trace traces/*

Sessions that several traces saw tell how far the clocks are apart; their requests are kept once.";

const REDACT_EXAMPLE: &str = "\
Example:
  openssl rand -hex 16 > key
  splitproof-capture redact window.trace --redact-key key -o for-the-vendor.trace

docs/trace.md says what stays. What was redacted is not replayed.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record from capture files (pcap, pcapng)
    #[command(after_help = PACKETS_EXAMPLE)]
    Packets {
        #[command(flatten)]
        ports: PortFlags,
        #[command(flatten)]
        output: OutputFlags,
        /// Secrets of TLS sessions, as a client or server writes them for SSLKEYLOGFILE; repeat for several. Secrets that
        /// pcapng files carry are used, too
        #[arg(long = "keylog", value_name = "FILE")]
        key_logs: Vec<PathBuf>,
        /// Capture files (pcap, pcapng; as they are, gzip or zstd), in the order in which they were recorded; - is standard
        /// input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Record from a network interface
    #[command(after_help = LIVE_EXAMPLE)]
    Live {
        /// Interface, such as eth0, lo or any
        #[arg(short, long, value_name = "IFACE")]
        interface: String,
        /// Kernel buffer in MiB; raise it when the summary counts kernel_dropped
        #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=2047))]
        buffer: u32,
        /// See packets for other machines too, as on a mirror port
        #[arg(long)]
        promiscuous: bool,
        /// Let packets of these tunnels pass, too, whatever is in them: vxlan, geneve, gre (and ERSPAN), ipip, mpls, pppoe, or all
        #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = tunnels)]
        tunnels: Vec<Tunnels>,
        /// Secrets of TLS sessions, which a client or server writes for SSLKEYLOGFILE meanwhile; repeat for several
        #[arg(long = "keylog", value_name = "FILE")]
        key_logs: Vec<PathBuf>,
        /// Record this share of the sessions, each whole; the same on every host
        #[arg(long, value_name = "SHARE")]
        sample_sessions: Option<f64>,
        #[command(flatten)]
        ports: PortFlags,
        #[command(flatten)]
        time: TimeFlags,
        #[command(flatten)]
        long: LongFlags,
        #[command(flatten)]
        output: OutputFlags,
    },
    /// Relay connections to a server and record what passes; needs no right to capture packets
    #[command(after_help = TAP_EXAMPLE)]
    Tap {
        /// The server's kind: postgresql or mysql (MariaDB, too)
        #[arg(long, default_value = "postgresql", value_name = "ENGINE")]
        engine: String,
        /// Address to listen on; port 0 takes a free one
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: SocketAddr,
        /// The server
        #[arg(long, value_name = "HOST:PORT")]
        upstream: String,
        /// Refuse encryption in the server's place, so that clients which only prefer it can be recorded
        #[arg(long)]
        refuse_encryption: bool,
        #[command(flatten)]
        time: TimeFlags,
        #[command(flatten)]
        long: LongFlags,
        #[command(flatten)]
        output: OutputFlags,
    },
    /// Record from server logs
    #[command(after_help = LOG_EXAMPLE)]
    Log {
        /// What kind of log it is
        #[arg(long, value_name = "FORMAT", value_parser = log_format())]
        format: LogFormat,
        /// Zone of times that are written without one or with an ambiguous one, such as Europe/Berlin or +02:00
        #[arg(long, value_name = "ZONE")]
        timezone: Option<Zone>,
        /// The year in which the log begins, for syslog's times [default: the last one that is possible]
        #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i16).range(1970..=9999))]
        year: Option<i16>,
        /// PostgreSQL's log_line_prefix, for postgresql-stderr [default: the usual ones are recognised]
        #[arg(long, value_name = "PREFIX")]
        log_line_prefix: Option<Prefix>,
        /// How to print the summary on standard output
        #[arg(long, value_enum, default_value_t = Format::Text)]
        summary: Format,
        #[command(flatten)]
        output: PlaceFlags,
        /// Log files, in the order in which they were written; - is standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Make one trace of those of several hosts, or of a series
    #[command(after_help = MERGE_EXAMPLE)]
    Merge {
        /// Add this time to a trace, such as db2.trace=+1.5ms, instead of estimating how far its clock is off; repeat for several
        #[arg(long = "offset", value_name = "TRACE=TIME", allow_hyphen_values = true)]
        offsets: Vec<String>,
        /// Directory of the merged trace, new or empty
        #[arg(short, long, value_name = "TRACE")]
        output: PathBuf,
        /// Replace the trace that is in the directory
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        format: FormatFlags,
        /// Directories of the traces; the times of the others are put on the clock of the first
        #[arg(required = true, value_name = "TRACE")]
        traces: Vec<PathBuf>,
    },
    /// Exchange every literal and parameter of a trace for another one of its type
    #[command(after_help = REDACT_EXAMPLE)]
    Redact {
        /// The key, 32 hexadecimal digits in a file [default: a random one that is not kept]
        #[arg(long, value_name = "FILE")]
        redact_key: Option<PathBuf>,
        /// Directory of the redacted trace, new or empty
        #[arg(short, long, value_name = "TRACE")]
        output: PathBuf,
        /// Replace the trace that is in the directory
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        format: FormatFlags,
        /// Directory of the trace
        #[arg(value_name = "TRACE")]
        trace: PathBuf,
    },
    /// Print what a trace holds: window, sessions, shapes, every loss
    #[command(after_help = SHOW_EXAMPLE)]
    Show {
        /// Shapes to list, by number of requests
        #[arg(long, default_value_t = 10, value_name = "N")]
        shapes: usize,
        /// First make trace.json again from the Parquet files; loss counters are then unknown
        #[arg(long)]
        rebuild: bool,
        #[command(flatten)]
        format: FormatFlags,
        /// Directory of the trace
        #[arg(value_name = "TRACE")]
        trace: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct PortFlags {
    /// Server port and its protocol; repeat for several [default: 5432=postgresql and 3306=mysql]
    #[arg(short, long = "port", value_name = "PORT=PROTOCOL")]
    pub ports: Vec<PortOption>,
}

#[derive(Debug, Args)]
pub struct TimeFlags {
    /// Stop after this time, such as 90s, 10m or 1h30m
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<String>,
}

#[derive(Debug, Args)]
pub struct LongFlags {
    /// Begin a new trace after this time, such as 10m; the output is then a directory of traces
    #[arg(long, value_name = "TIME")]
    pub rotate: Option<String>,
    /// Begin a new trace when its files have this size, such as 1G; looked at when a file is written, every ten seconds
    #[arg(long, value_name = "SIZE")]
    pub rotate_size: Option<String>,
    /// End the recording in order when less than this is free on the disk, such as 5G
    #[arg(long, value_name = "SIZE")]
    pub min_free: Option<String>,
}

#[derive(Debug, Args)]
pub struct OutputFlags {
    #[command(flatten)]
    pub place: PlaceFlags,
    #[command(flatten)]
    pub format: FormatFlags,
}

#[derive(Debug, Args)]
pub struct PlaceFlags {
    /// Directory of the trace, new or empty
    #[arg(short, long, value_name = "TRACE")]
    pub output: PathBuf,
    /// Replace the trace that is in the directory
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub redact: RedactFlags,
}

#[derive(Debug, Args)]
pub struct RedactFlags {
    /// Exchange every literal and parameter for another one of its type, by a random key that is not kept
    #[arg(long)]
    pub redact: bool,
    /// The same with the key in this file (32 hexadecimal digits), so that equal values are equal in several traces
    #[arg(long, value_name = "FILE")]
    pub redact_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FormatFlags {
    /// How to print the summary on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// How to print a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// One or all.
pub type Tunnels = &'static [Tunnel];

fn tunnels(name: &str) -> Result<Tunnels, InvalidTunnel> {
    if name == "all" {
        return Ok(Tunnel::ALL);
    }
    let tunnel: Tunnel = name.parse()?;
    Ok(Tunnel::ALL.iter().position(|other| *other == tunnel).map_or(&[], |at| &Tunnel::ALL[at..=at]))
}

/// The names of the log formats.
fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    let names = LogFormat::ALL.iter().map(|format| PossibleValue::new(format.name()).help(format.meaning()));
    PossibleValuesParser::new(names).try_map(|name| LogFormat::from_name(&name).ok_or("not a log format"))
}
