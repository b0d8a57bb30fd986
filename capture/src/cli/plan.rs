//! What to do, checked and free of command-line types.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use jiff::SignedDuration;
use splitproof_capture::packets::{Live, Ports, Source};
use splitproof_capture::redact::Key;
use splitproof_capture::trace::{Engine, Existing};

use super::flags::{Command, Flags, Format, FormatFlags, OutputFlags, PortFlags, RedactFlags, TimeFlags};

/// What the command line asks for.
#[derive(Debug)]
pub enum Plan {
    /// Record packets.
    Record(Record),
    /// Relay connections and record them.
    Tap(Tap),
    /// Take the values out of a trace.
    Redact(Redact),
    /// Print what a trace holds.
    Show(Show),
}

/// Record packets from files or an interface.
#[derive(Debug)]
pub struct Record {
    pub source: Source,
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

/// Where a recording goes.
#[derive(Debug)]
pub struct Output {
    pub dir: PathBuf,
    pub existing: Existing,
    /// The key of the redaction, where values are not to be recorded.
    pub redact: Option<Key>,
    pub json: bool,
}

/// Take the values out of a trace.
#[derive(Debug)]
pub struct Redact {
    pub trace: PathBuf,
    pub key: Key,
    pub output: Output,
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
            Command::Packets { ports, output, files } => Plan::Record(Record {
                source: Source::Files(files),
                ports: ports.try_into()?,
                duration: None,
                output: output.try_into()?,
            }),
            Command::Live { interface, buffer, promiscuous, ports, time, output } => Plan::Record(Record {
                source: Source::Live(Live { buffer: buffer << 20, promiscuous, ..Live::new(interface) }),
                ports: ports.try_into()?,
                duration: duration(&time)?,
                output: output.try_into()?,
            }),
            Command::Tap { engine, listen, upstream, refuse_encryption, time, output } => Plan::Tap(Tap {
                engine: named(&engine)?,
                listen,
                upstream,
                refuse_encryption,
                duration: duration(&time)?,
                output: output.try_into()?,
            }),
            Command::Redact { redact_key, output, force, format, trace } => {
                let key = redact_key.map_or_else(Key::random, |path| Key::read(&path)).context("--redact-key")?;
                let existing = if force { Existing::Replace } else { Existing::Refuse };
                let output = Output { dir: output, existing, redact: None, json: is_json(&format) };
                Plan::Redact(Redact { trace, key, output })
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

impl TryFrom<OutputFlags> for Output {
    type Error = anyhow::Error;

    fn try_from(flags: OutputFlags) -> anyhow::Result<Self> {
        let existing = if flags.force { Existing::Replace } else { Existing::Refuse };
        Ok(Output { dir: flags.output, existing, redact: key(flags.redact)?, json: is_json(&flags.format) })
    }
}

fn key(flags: RedactFlags) -> anyhow::Result<Option<Key>> {
    match flags {
        RedactFlags { redact_key: Some(path), .. } => Key::read(&path).map(Some).context("--redact-key"),
        RedactFlags { redact: true, .. } => Ok(Some(Key::random()?)),
        RedactFlags { redact: false, .. } => Ok(None),
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
