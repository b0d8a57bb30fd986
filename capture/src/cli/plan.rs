//! What to do, checked and free of command-line types.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use jiff::SignedDuration;
use splitproof_capture::log::{self, Settings};
use splitproof_capture::packets::{Live, Ports, Source};
use splitproof_capture::trace::{Engine, Existing};

use super::flags::{Command, Flags, Format, FormatFlags, OutputFlags, PlaceFlags, PortFlags, TimeFlags};

/// What the command line asks for.
#[derive(Debug)]
pub enum Plan {
    /// Record packets.
    Record(Record),
    /// Relay connections and record them.
    Tap(Tap),
    /// Record server logs.
    Log(Log),
    /// Print what a trace holds.
    Show(Show),
}

/// Record packets from files or an interface.
#[derive(Debug)]
pub struct Record {
    pub source: Source,
    /// Files with secrets of TLS sessions.
    pub key_logs: Vec<PathBuf>,
    pub ports: Ports,
    pub duration: Option<Duration>,
    pub output: Output,
}

/// Relay connections and record them.
#[derive(Debug)]
pub struct Tap {
    pub engine: Engine,
    pub listen: SocketAddr,
    pub upstream: String,
    pub refuse_encryption: bool,
    pub duration: Option<Duration>,
    pub output: Output,
}

/// Record server logs.
#[derive(Debug)]
pub struct Log {
    pub source: log::Source,
    pub output: Output,
}

/// Where a recording goes.
#[derive(Debug)]
pub struct Output {
    pub dir: PathBuf,
    pub existing: Existing,
    pub json: bool,
}

/// Print what a trace holds.
#[derive(Debug)]
pub struct Show {
    pub trace: PathBuf,
    pub shapes: usize,
    pub rebuild: bool,
    pub json: bool,
}

impl TryFrom<Flags> for Plan {
    type Error = anyhow::Error;

    fn try_from(flags: Flags) -> anyhow::Result<Self> {
        Ok(match flags.command {
            Command::Packets { ports, output, key_logs, files } => Plan::Record(Record {
                source: Source::Files(files),
                key_logs,
                ports: ports.try_into()?,
                duration: None,
                output: output.into(),
            }),
            Command::Live { interface, buffer, promiscuous, key_logs, ports, time, output } => Plan::Record(Record {
                source: Source::Live(Live { buffer: buffer << 20, promiscuous, ..Live::new(interface) }),
                key_logs,
                ports: ports.try_into()?,
                duration: duration(&time)?,
                output: output.into(),
            }),
            Command::Tap { engine, listen, upstream, refuse_encryption, time, output } => Plan::Tap(Tap {
                engine: named(&engine)?,
                listen,
                upstream,
                refuse_encryption,
                duration: duration(&time)?,
                output: output.into(),
            }),
            Command::Log { format, timezone, year, log_line_prefix, summary, output, files } => {
                let settings = Settings { zone: timezone, year, prefix: log_line_prefix };
                Plan::Log(Log { source: log::Source { format, settings, files }, output: Output::new(output, summary) })
            }
            Command::Show { shapes, rebuild, format, trace } => {
                Plan::Show(Show { trace, shapes, rebuild, json: is_json(&format) })
            }
        })
    }
}

impl TryFrom<PortFlags> for Ports {
    type Error = anyhow::Error;

    fn try_from(flags: PortFlags) -> anyhow::Result<Self> {
        if flags.ports.is_empty() {
            return Ok(Ports::default());
        }
        let ports = Ports::from(flags.ports);
        ports.only_engine().context("--port: a trace is of one engine; record each engine into a trace of its own")?;
        Ok(ports)
    }
}

impl From<OutputFlags> for Output {
    fn from(flags: OutputFlags) -> Self {
        Output::new(flags.place, flags.format.format)
    }
}

impl Output {
    fn new(place: PlaceFlags, format: Format) -> Self {
        let existing = if place.force { Existing::Replace } else { Existing::Refuse };
        Output { dir: place.output, existing, json: format == Format::Json }
    }
}

fn named(engine: &str) -> anyhow::Result<Engine> {
    let known = || Engine::ALL.iter().map(|engine| engine.as_str()).collect::<Vec<_>>().join(", ");
    Engine::from_word(engine).with_context(|| format!("--engine {engine}: not known; give one of: {}", known()))
}

fn is_json(flags: &FormatFlags) -> bool {
    flags.format == Format::Json
}

fn duration(flags: &TimeFlags) -> anyhow::Result<Option<Duration>> {
    let Some(text) = &flags.duration else { return Ok(None) };
    let duration: SignedDuration =
        text.parse().with_context(|| format!("--for {text}: not a time; for example 90s, 10m or 1h30m"))?;
    let duration = Duration::try_from(duration).ok().filter(|duration| !duration.is_zero());
    duration.map(Some).with_context(|| format!("--for {text}: the time must be longer than nothing"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    fn plan(line: &str) -> anyhow::Result<Plan> {
        Plan::try_from(Flags::try_parse_from(line.split_whitespace())?)
    }

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn a_live_recording_has_ports_and_a_time() {
        let line = "splitproof-capture live -i lo --port 6432=postgresql --port 5432=postgresql --for 1m30s -o t";
        let Ok(Plan::Record(record)) = plan(line) else { panic!("{line}") };
        assert_eq!(record.duration, Some(Duration::from_secs(90)));
        assert!(record.ports.engine(6432).is_some() && record.ports.engine(5433).is_none());
        assert_eq!(record.output.existing, Existing::Refuse);
    }

    #[test]
    fn the_ports_of_a_trace_are_of_one_engine() {
        let line = "splitproof-capture live -i lo -o t --port 3306=mysql --port 3307=mysql";
        let Ok(Plan::Record(record)) = plan(line) else { panic!("{line}") };
        assert_eq!(record.ports.only_engine(), Some(Engine::Mysql));
        let error = plan(&format!("{line} --port 5432=postgresql")).expect_err("of two engines");
        assert!(error.to_string().contains("one engine"), "{error}");
    }

    #[test]
    fn times_that_make_no_sense_are_refused_with_an_example() {
        for time in ["ten", "0s", "5"] {
            let error = plan(&format!("splitproof-capture live -i lo -o t --for {time}")).expect_err(time);
            assert!(error.to_string().contains(&format!("--for {time}")), "{error}");
        }
    }
}
