//! A small language for dialogues: what each side sends, byte for byte, and what rows come of it.
//!
//! [`postgresql`] and [`mysql`] have the messages of each protocol.

pub mod mysql;
pub mod postgresql;

use std::fmt::Write as _;
use std::marker::PhantomData;

use splitproof_capture::session::{Close, Shared, Start, decoder};
use splitproof_capture::trace::{Engine, Losses, Request};

/// Whose messages they are.
pub trait Protocol: Clone + Default {
    const ENGINE: Engine;
}

/// What happens on a connection, one thing every microsecond.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Client(Vec<u8>),
    Server(Vec<u8>),
    ClientGap(u64),
    ServerGap(u64),
    Close(Close),
}

/// A connection from its first byte on.
#[derive(Clone, Debug, Default)]
pub struct Dialogue<P> {
    pub events: Vec<Event>,
    pub midway: bool,
    pub protocol: PhantomData<P>,
}

/// Time of the first event.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// Time between two events.
pub const TICK_NS: i64 = 1_000;

impl<P: Protocol> Dialogue<P> {
    /// A connection on which nothing was sent.
    pub fn raw() -> Self {
        Self::default()
    }

    /// A connection that is older than the recording.
    pub fn midway() -> Self {
        Dialogue { midway: true, ..Self::default() }
    }

    pub fn client<const N: usize>(mut self, messages: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Client(messages.concat()));
        self
    }

    pub fn server<const N: usize>(mut self, messages: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Server(messages.concat()));
        self
    }

    pub fn client_gap(mut self, missing: u64) -> Self {
        self.events.push(Event::ClientGap(missing));
        self
    }

    pub fn server_gap(mut self, missing: u64) -> Self {
        self.events.push(Event::ServerGap(missing));
        self
    }

    pub fn close(mut self, how: Close) -> Self {
        self.events.push(Event::Close(how));
        self
    }

    /// The rows, in the order in which they were finished, and the losses.
    pub fn run(&self) -> (Vec<Request>, Losses) {
        self.run_in_pieces(|bytes| vec![bytes])
    }

    /// The same, with every event's bytes delivered in the pieces that `cut` makes of them.
    pub fn run_in_pieces(&self, cut: impl FnMut(&[u8]) -> Vec<&[u8]>) -> (Vec<Request>, Losses) {
        self.run_among(&Shared::new(P::ENGINE), cut)
    }

    /// The same, as one of several sessions.
    pub fn run_among(&self, shared: &Shared, mut cut: impl FnMut(&[u8]) -> Vec<&[u8]>) -> (Vec<Request>, Losses) {
        let start = Start { client: "10.0.0.1:40000".into(), server: "10.0.0.2:4000".into(), midway: self.midway };
        let mut session = decoder(P::ENGINE, 3, start, shared);
        let mut rows = Vec::new();
        for (event, at_ns) in self.events.iter().zip((START_NS..).step_by(TICK_NS as usize)) {
            match event {
                Event::Client(bytes) => cut(bytes).iter().for_each(|piece| session.client(at_ns, piece, &mut rows)),
                Event::Server(bytes) => cut(bytes).iter().for_each(|piece| session.server(at_ns, piece, &mut rows)),
                Event::ClientGap(missing) => session.client_gap(at_ns, *missing, &mut rows),
                Event::ServerGap(missing) => session.server_gap(at_ns, *missing, &mut rows),
                Event::Close(how) => session.close(at_ns, *how, &mut rows),
            }
        }
        let losses = session.losses().clone();
        (rows, losses)
    }

    /// The rows after the connect row, in the order of their numbers.
    pub fn rows(&self) -> Vec<Request> {
        let (mut rows, _) = self.run();
        rows.sort_by_key(|row| row.seq);
        rows.retain(|row| row.kind.as_str() != "connect");
        rows
    }
}

/// Compares all rows but a connect row that is ok, and wants nothing lost.
#[track_caller]
pub fn expect<P: Protocol>(dialogue: &Dialogue<P>, lines: &[&str]) {
    expect_with_losses(dialogue, lines, "");
}

/// Compares all rows but a connect row that is ok, and the losses.
#[track_caller]
pub fn expect_with_losses<P: Protocol>(dialogue: &Dialogue<P>, lines: &[&str], losses: &str) {
    let (mut rows, lost) = dialogue.run();
    rows.sort_by_key(|row| row.seq);
    let rows: Vec<String> = rows.iter().map(line).filter(|line| !line.starts_with("connect  ok")).collect();
    assert_eq!(rows.join("\n"), lines.join("\n"));
    let words: Vec<String> = lost.iter().map(|(loss, amount)| format!("{}={amount}", loss.name())).collect();
    assert_eq!(words.join(" "), losses);
}

/// A row in one line: kind, messages, SQL, outcome, and whatever else is set.
pub fn line(row: &Request) -> String {
    let mut line = format!("{} {}", row.kind, row.messages);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " {name}{value}").unwrap();
        }
    };
    add("", row.statement.as_ref().map(|name| format!("s:{name}")));
    add("", row.portal.as_ref().map(|name| format!("p:{name}")));
    add("", row.sql.as_ref().map(|sql| format!("\"{sql}\"")));
    add("", Some(row.outcome.to_string()));
    add("", row.error_code.as_ref().map(ToString::to_string));
    add("rows=", row.rows.map(|rows| rows.to_string()));
    add("affected=", row.affected.map(|rows| rows.to_string()));
    add("id=", row.last_insert_id.map(|id| id.to_string()));
    add("warnings=", row.warnings.filter(|&count| count > 0).map(|count| count.to_string()));
    add("copied=", Some(row.copy_data.len()).filter(|&count| count > 0).map(|count| count.to_string()));
    add("at=", row.position.as_ref().map(ToString::to_string));
    add("group=", row.pipeline_group.map(|group| group.to_string()));
    add("took=", row.duration_ns.map(|ns| (ns / TICK_NS as u64).to_string()));
    add("", row.transaction.map(|status| status.to_string()));
    add("", row.autocommit.filter(|autocommit| !autocommit).map(|_| "no-autocommit".into()));
    add("", row.truncated.then(|| "truncated".into()));
    add("", row.gap_before.then(|| "gap-before".into()));
    add("", row.joined_midway.then(|| "midway".into()));
    line
}
