//! The closing summary of a recording, as text and JSON.

use std::fmt;
use std::io::Write;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use splitproof_capture::log;
use splitproof_capture::packets::{Counts, Statistics};
use splitproof_capture::tap::Counters;
use splitproof_capture::trace::{Encrypted, Losses, Manifest, Window};

use super::watch::Budget;

/// What a recording did.
#[derive(Serialize)]
pub struct Summary<'a> {
    trace: &'a Path,
    window: Option<Window>,
    sessions: u64,
    requests: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<Packets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<Connections>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Entries>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    encrypted: &'a [Encrypted],
    /// Traces of a series.
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<Budget>,
    losses: Vec<LossLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<Places<'a>>,
    problems: &'a [String],
}

/// What was read, when the source is packets.
#[derive(Serialize)]
struct Packets {
    read: u64,
    used: u64,
    /// Of the TCP connections that were asked for: each byte was delivered, cut off, repeated, or came after the end.
    payload_bytes: u64,
    delivered_bytes: u64,
    cut_bytes: u64,
    repeated_bytes: u64,
    after_close_bytes: u64,
}

/// What was relayed, when the source is a tap.
#[derive(Serialize)]
struct Connections {
    accepted: u64,
    unreachable: u64,
    broken: u64,
    client_bytes: u64,
    server_bytes: u64,
}

/// What was read, when the source is a log.
#[derive(Serialize)]
struct Entries {
    read: u64,
    used: u64,
    made_up_requests: u64,
}

/// Where the entries of a log are that could not be read.
#[derive(Serialize)]
struct Places<'a> {
    path: &'a Path,
    reason: &'static str,
    unit: &'static str,
    places: &'a [(u64, u64)],
    more: u64,
}

/// Places that are shown to people.
const SHOWN: usize = 8;

/// One reason of loss.
#[derive(Serialize)]
pub struct LossLine {
    pub reason: &'static str,
    pub count: u64,
    pub unit: &'static str,
    pub meaning: String,
}

/// Every loss that occurred, with what it means.
pub fn loss_lines(losses: &Losses) -> Vec<LossLine> {
    let lines = losses.iter().map(|(loss, count)| LossLine {
        reason: loss.name(),
        count,
        unit: loss.unit(),
        meaning: loss.meaning().split_whitespace().collect::<Vec<_>>().join(" "),
    });
    lines.collect()
}

impl<'a> Summary<'a> {
    pub fn new(trace: &'a Path, manifest: &'a Manifest, problems: &'a [String]) -> Self {
        let table = &manifest.table;
        Summary {
            trace,
            window: table.window,
            sessions: table.sessions,
            requests: table.requests,
            packets: None,
            connections: None,
            entries: None,
            encrypted: &manifest.encrypted,
            traces: None,
            cpu: None,
            losses: loss_lines(&table.losses),
            unread: Vec::new(),
            problems,
        }
    }

    /// Adds what was read.
    pub fn packets(mut self, statistics: &Statistics) -> Self {
        let &Statistics { packets, used, payload_bytes, after_close_bytes, streams, .. } = statistics;
        let Counts { delivered: delivered_bytes, cut: cut_bytes, repeated: repeated_bytes, .. } = streams;
        self.packets = Some(Packets {
            read: packets,
            used,
            payload_bytes,
            delivered_bytes,
            cut_bytes,
            repeated_bytes,
            after_close_bytes,
        });
        self
    }

    /// Adds what was relayed.
    pub fn connections(mut self, counters: &Counters) -> Self {
        let &Counters { accepted, unreachable, broken, client_bytes, server_bytes, .. } = counters;
        self.connections = Some(Connections { accepted, unreachable, broken, client_bytes, server_bytes });
        self
    }

    /// Adds what was read of a log.
    pub fn log(mut self, ended: &'a log::Ended) -> Self {
        let log::Statistics { entries, opened, joined, made_up, .. } = ended.statistics;
        self.unread = ended.unread.iter().map(Places::of).collect();
        self.entries = Some(Entries { read: entries, used: opened + joined, made_up_requests: made_up });
        self
    }

    /// Adds of how many traces it tells, where that is a series.
    pub fn traces(mut self, traces: Option<u64>) -> Self {
        self.traces = traces;
        self
    }

    /// Adds what the recording cost.
    pub fn cpu(mut self, budget: Budget) -> Self {
        self.cpu = Some(budget);
        self
    }

    /// Prints it on standard output.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self)?;
            writeln!(out)?;
        } else {
            match self.traces {
                Some(traces) => writeln!(out, "traces    {traces} in {}", self.trace.display())?,
                None => writeln!(out, "trace     {}", self.trace.display())?,
            }
            write_counts(&mut out, self.window, self.sessions, self.requests)?;
            if let Some(packets) = &self.packets {
                let Packets { read, used, payload_bytes, cut_bytes, repeated_bytes, after_close_bytes, .. } = packets;
                writeln!(out, "packets   {read} read, {used} used")?;
                let apart =
                    format!("{repeated_bytes} repeated, {cut_bytes} cut off, {after_close_bytes} after the end");
                writeln!(out, "payload   {payload_bytes} bytes: {apart}")?;
            }
            if let Some(Connections { accepted, unreachable, broken, client_bytes, server_bytes }) = &self.connections {
                writeln!(out, "relayed   {accepted} connections ({unreachable} not reachable, {broken} broken)")?;
                writeln!(out, "bytes     {client_bytes} from clients, {server_bytes} from the server")?;
            }
            if let Some(Entries { read, used, made_up_requests }) = &self.entries {
                writeln!(out, "entries   {read} read, {used} used; {made_up_requests} requests made up")?;
            }
            if let Some(Budget { cpu_seconds, wall_seconds, share }) = self.cpu {
                let percent = 100.0 * share;
                writeln!(out, "cpu       {cpu_seconds:.2} s in {wall_seconds:.1} s ({percent:.1} % of one core)")?;
            }
            write_losses(&mut out, &self.losses)?;
            write_encrypted(&mut out, self.encrypted)?;
            if !self.unread.is_empty() {
                writeln!(out, "unread")?;
            }
            for places in &self.unread {
                writeln!(out, "  {places}")?;
            }
            write_problems(&mut out, self.problems)?;
        }
        out.flush()?;
        Ok(())
    }
}

impl<'a> Places<'a> {
    fn of(unread: &'a log::Unread) -> Self {
        let log::Unread { path, reason, unit, places, more } = unread;
        Places { path, reason: reason.name(), unit, places, more: *more }
    }
}

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} at {}", self.path.display(), self.reason, self.unit)?;
        for (index, (first, last)) in self.places.iter().take(SHOWN).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma} {first}")?,
                false => write!(f, "{comma} {first}-{last}")?,
            }
        }
        match self.more + self.places.len().saturating_sub(SHOWN) as u64 {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

pub fn write_counts(out: &mut impl Write, window: Option<Window>, sessions: u64, requests: u64) -> std::io::Result<()> {
    match window {
        Some(window) => {
            let length = SignedDuration::from_nanos_i128(window.length_ns().into());
            let (first, last) = (moment(window.first_start_ns), moment(window.last_end_ns));
            writeln!(out, "window    {first} to {last} ({})", rounded(length))?;
        }
        None => writeln!(out, "window    none")?,
    }
    writeln!(out, "sessions  {sessions}")?;
    writeln!(out, "requests  {requests}")
}

/// A point in time for people, nanoseconds since 1970 UTC.
pub fn moment(ns: i64) -> String {
    match Timestamp::from_nanosecond(ns.into()) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{ns} ns"),
    }
}

/// Milliseconds are enough for people.
fn rounded(length: SignedDuration) -> String {
    format!("{:#}", SignedDuration::from_millis(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
}

pub fn write_losses(out: &mut impl Write, losses: &[LossLine]) -> std::io::Result<()> {
    if losses.is_empty() {
        return writeln!(out, "lost      nothing");
    }
    writeln!(out, "lost")?;
    // What stands before the meaning.
    const BEFORE: usize = 45;
    for LossLine { reason, count, unit, meaning } in losses {
        let mut lines = wrapped(meaning, WIDTH - BEFORE).into_iter();
        writeln!(out, "  {reason:<19} {count:>12} {unit:<9} {}", lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(out, "{:BEFORE$}{line}", "")?;
        }
    }
    Ok(())
}

/// Columns of a terminal that everything fits into.
pub const WIDTH: usize = 100;

/// A sentence in lines of at most so many letters; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The sessions that could not be read, because they are encrypted.
pub fn write_encrypted(out: &mut impl Write, sessions: &[Encrypted]) -> std::io::Result<()> {
    if !sessions.is_empty() {
        writeln!(out, "encrypted")?;
    }
    for Encrypted { server, sessions, encryption, reason } in sessions {
        let line = format!("{sessions} to {server} ({encryption}): {reason}");
        for (at, line) in wrapped(&line, WIDTH - 4).iter().enumerate() {
            writeln!(out, "  {}{line}", if at == 0 { "" } else { "  " })?;
        }
    }
    Ok(())
}

pub fn write_problems(out: &mut impl Write, problems: &[String]) -> std::io::Result<()> {
    if !problems.is_empty() {
        writeln!(out, "problems")?;
    }
    for problem in problems {
        writeln!(out, "  {problem}")?;
    }
    Ok(())
}
