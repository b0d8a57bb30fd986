//! What to do, checked and free of command-line types.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::SignedDuration;
use splitproof_capture::log::{self, Settings};
use splitproof_capture::merge;
use splitproof_capture::packets::{Live, Ports, Source};
use splitproof_capture::redact::Key;
use splitproof_capture::session::Sampling;
use splitproof_capture::trace::{Engine, Existing};

use super::flags::{
    Command, Flags, Format, FormatFlags, LongFlags, OutputFlags, PlaceFlags, PortFlags, RedactFlags, TimeFlags,
};
use super::series::Rotation;
use super::watch::parse_size;

/// What the command line asks for.
#[derive(Debug)]
pub enum Plan {
    /// Record packets.
    Record(Record),
    /// Relay connections and record them.
    Tap(Tap),
    /// Record server logs.
    Log(Log),
    /// Make one trace of several.
    Merge(Merge),
    /// Take the values out of a trace.
    Redact(Redact),
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
    pub sampling: Option<Sampling>,
    pub long: Long,
    pub output: Output,
}

/// What a long recording minds.
#[derive(Debug, Default)]
pub struct Long {
    pub rotation: Rotation,
    /// Bytes of the disk that stay free.
    pub min_free: Option<u64>,
}

/// Make one trace of several.
#[derive(Debug)]
pub struct Merge {
    pub plan: merge::Plan,
    pub json: bool,
}

/// Relay connections and record them.
#[derive(Debug)]
pub struct Tap {
    pub engine: Engine,
    pub listen: SocketAddr,
    pub upstream: String,
    pub refuse_encryption: bool,
    pub duration: Option<Duration>,
    pub long: Long,
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
            Command::Packets { ports, output, key_logs, files } => Plan::Record(Record {
                source: Source::Files(files),
                key_logs,
                ports: ports.try_into()?,
                duration: None,
                sampling: None,
                long: Long::default(),
                output: output.try_into()?,
            }),
            Command::Live {
                interface,
                buffer,
                promiscuous,
                tunnels,
                key_logs,
                sample_sessions,
                ports,
                time,
                long,
                output,
            } => {
                let (buffer, tunnels) = (buffer << 20, tunnels.concat());
                Plan::Record(Record {
                    source: Source::Live(Live { buffer, promiscuous, tunnels, ..Live::new(interface) }),
                    key_logs,
                    ports: ports.try_into()?,
                    duration: duration(&time)?,
                    sampling: sample_sessions.map(sampling).transpose()?,
                    long: long_of(&long, &output)?,
                    output: output.try_into()?,
                })
            }
            Command::Tap { engine, listen, upstream, refuse_encryption, time, long, output } => Plan::Tap(Tap {
                engine: named(&engine)?,
                listen,
                upstream,
                refuse_encryption,
                duration: duration(&time)?,
                long: long_of(&long, &output)?,
                output: output.try_into()?,
            }),
            Command::Log { format, timezone, year, log_line_prefix, summary, output, files } => {
                let settings = Settings { zone: timezone, year, prefix: log_line_prefix };
                let source = log::Source { format, settings, files };
                Plan::Log(Log { source, output: Output::new(output, summary)? })
            }
            Command::Merge { offsets, output, force, format, traces } => {
                let offsets = offsets.iter().map(|offset| offset_of(offset, &traces)).collect::<anyhow::Result<_>>()?;
                let existing = if force { Existing::Replace } else { Existing::Refuse };
                Plan::Merge(Merge { plan: merge::Plan { traces, offsets, output, existing }, json: is_json(&format) })
            }
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
        Output::new(flags.place, flags.format.format)
    }
}

impl Output {
    fn new(place: PlaceFlags, format: Format) -> anyhow::Result<Self> {
        let existing = if place.force { Existing::Replace } else { Existing::Refuse };
        Ok(Output { dir: place.output, existing, redact: key(place.redact)?, json: format == Format::Json })
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
    flags.duration.as_deref().map(|text| time("--for", text)).transpose()
}

fn time(flag: &str, text: &str) -> anyhow::Result<Duration> {
    let duration: SignedDuration =
        text.parse().with_context(|| format!("{flag} {text}: not a time; for example 90s, 10m or 1h30m"))?;
    let duration = Duration::try_from(duration).ok().filter(|duration| !duration.is_zero());
    duration.with_context(|| format!("{flag} {text}: the time must be longer than nothing"))
}

fn long_of(flags: &LongFlags, output: &OutputFlags) -> anyhow::Result<Long> {
    let size = |flag: &str, text: &Option<String>| {
        let parsed = text
            .as_deref()
            .map(|text| parse_size(text).with_context(|| format!("{flag} {text}: not a size; for example 500M or 5G")));
        parsed.transpose()
    };
    let rotation = Rotation {
        every: flags.rotate.as_deref().map(|text| time("--rotate", text)).transpose()?,
        bytes: size("--rotate-size", &flags.rotate_size)?,
    };
    if output.place.force && !rotation.is_none() {
        bail!("--force replaces one trace, and --rotate makes many: give a new directory");
    }
    Ok(Long { rotation, min_free: size("--min-free", &flags.min_free)? })
}

fn sampling(share: f64) -> anyhow::Result<Sampling> {
    if !(share > 0.0 && share <= 1.0) {
        bail!("--sample-sessions {share}: give a share above 0 and up to 1; 0.1 is every tenth session");
    }
    Ok(Sampling { share })
}

/// One of the traces, by its path or its name, and nanoseconds to add to its times.
fn offset_of(text: &str, traces: &[PathBuf]) -> anyhow::Result<(usize, i64)> {
    let example = || format!("--offset {text}: write TRACE=TIME; for example db2.trace=+1.5ms");
    let (name, offset) = text.rsplit_once('=').with_context(example)?;
    let name = std::path::Path::new(name);
    let trace = traces.iter().position(|trace| trace == name || trace.file_name() == Some(name.as_os_str()));
    let trace = trace.with_context(|| format!("--offset {text}: {} is none of the traces", name.display()))?;
    let (sign, offset) = match offset.strip_prefix('-') {
        Some(offset) => (-1.0, offset),
        None => (1.0, offset.strip_prefix('+').unwrap_or(offset)),
    };
    let units = [("ns", 1.0), ("us", 1e3), ("\u{b5}s", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units.iter().find_map(|(unit, size)| Some(offset.strip_suffix(unit)?.parse::<f64>().ok()? * size));
    // Beyond a day the clock is not off, but wrong.
    let ns = found.filter(|ns| (0.0..=86_400e9).contains(ns)).with_context(example)?;
    Ok((trace, (sign * ns).round() as i64))
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
    fn a_long_recording_minds_time_size_and_disk() {
        let line =
            "splitproof-capture live -i lo -o t --rotate 10m --rotate-size 1G --min-free 5G --sample-sessions 0.1";
        let Ok(Plan::Record(record)) = plan(line) else { panic!("{line}") };
        assert_eq!(record.long.rotation, Rotation { every: Some(Duration::from_secs(600)), bytes: Some(1 << 30) });
        assert_eq!((record.long.min_free, record.sampling), (Some(5 << 30), Some(Sampling { share: 0.1 })));
        for wrong in [
            "--rotate 0s",
            "--rotate-size 1Q",
            "--min-free much",
            "--sample-sessions 0",
            "--sample-sessions 2",
            "--rotate 1m --force",
        ] {
            let error = plan(&format!("splitproof-capture live -i lo -o t {wrong}")).expect_err(wrong).to_string();
            assert!(error.contains(wrong.split(' ').next().unwrap_or_default()), "{error}");
        }
    }

    #[test]
    fn offsets_name_a_trace_and_a_time() {
        let offsets = |flags: &str| match plan(&format!("splitproof-capture merge -o m {flags} dir/a dir/b")) {
            Ok(Plan::Merge(merge)) => Ok(merge.plan.offsets),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(offsets("--offset dir/a=+1.5ms --offset b=-20us"), Ok([(0, 1_500_000), (1, -20_000)].into()));
        for wrong in ["c=1ms", "a=1", "a=ms", "a", "a=1h", "a=1e9s"] {
            let error = offsets(&format!("--offset {wrong}")).expect_err(wrong);
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn times_that_make_no_sense_are_refused_with_an_example() {
        for time in ["ten", "0s", "5"] {
            let error = plan(&format!("splitproof-capture live -i lo -o t --for {time}")).expect_err(time);
            assert!(error.to_string().contains(&format!("--for {time}")), "{error}");
        }
    }
}
