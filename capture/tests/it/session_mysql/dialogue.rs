//! A small language for MySQL dialogues: what each side sends, byte for byte, and what rows come of it.

use std::fmt::Write as _;
use std::sync::Arc;

use splitproof_capture::mysql::{
    Capabilities, ErrPacket, Handshake, HandshakeResponse, OkPacket, PrepareOk, Secret, Status, packet,
};
use splitproof_capture::session::mysql::Session;
use splitproof_capture::session::{Close, Decoder, Shared, Start};
use splitproof_capture::trace::{Engine, Losses, Request};

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
pub struct Dialogue {
    pub events: Vec<Event>,
    pub midway: bool,
}

/// Time of the first event.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// Time between two events.
pub const TICK_NS: i64 = 1_000;

/// What both sides of [`Dialogue::session`] can do: the protocol of MySQL 5.5, with EOF packets.
pub const OLD: Capabilities =
    Capabilities(Capabilities::ASSUMED.0 | Capabilities::LONG_PASSWORD.0 | Capabilities::CONNECT_WITH_DB.0);
/// The same with what MySQL 8 adds.
pub const NEW: Capabilities = Capabilities(
    OLD.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::SESSION_TRACK.0 | Capabilities::QUERY_ATTRIBUTES.0,
);

impl Dialogue {
    /// A connection on which nothing was sent.
    pub fn raw() -> Self {
        Self::default()
    }

    /// A session with EOF packets that is ready for its first request, which is the row with seq 1.
    pub fn session() -> Self {
        Self::with(OLD)
    }

    /// The same with these capabilities.
    pub fn with(capabilities: Capabilities) -> Self {
        Self::raw()
            .server([greeting("8.0.36", capabilities)])
            .client([response(capabilities, "shop", "shopdb")])
            .server([at(2, &ok_with(OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() }))])
    }

    /// A connection that is older than the recording.
    pub fn midway() -> Self {
        Dialogue { midway: true, ..Self::default() }
    }

    pub fn client<const N: usize>(mut self, packets: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Client(packets.concat()));
        self
    }

    pub fn server<const N: usize>(mut self, packets: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Server(packets.concat()));
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
        self.run_with(|bytes| vec![bytes])
    }

    /// The same, with every event's bytes delivered in the pieces that `cut` makes of them.
    pub fn run_with(&self, mut cut: impl FnMut(&[u8]) -> Vec<&[u8]>) -> (Vec<Request>, Losses) {
        let start =
            Start { client: Arc::from("10.0.0.1:40000"), server: Arc::from("10.0.0.2:3306"), midway: self.midway };
        let mut session = Session::new(3, start, &Shared::new(Engine::Mysql));
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
pub fn expect(dialogue: &Dialogue, lines: &[&str]) {
    expect_with_losses(dialogue, lines, "");
}

/// Compares all rows but a connect row that is ok, and the losses.
#[track_caller]
pub fn expect_with_losses(dialogue: &Dialogue, lines: &[&str], losses: &str) {
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
    add("", row.sql.as_ref().map(|sql| format!("\"{sql}\"")));
    add("", Some(row.outcome.to_string()));
    add("", row.error_code.as_ref().map(ToString::to_string));
    add("rows=", row.rows.map(|rows| rows.to_string()));
    add("affected=", row.affected.map(|rows| rows.to_string()));
    add("id=", row.last_insert_id.map(|id| id.to_string()));
    add("warnings=", row.warnings.filter(|&count| count > 0).map(|count| count.to_string()));
    add("copied=", Some(row.copy_data.len()).filter(|&count| count > 0).map(|count| count.to_string()));
    add("at=", row.position.as_ref().map(ToString::to_string));
    add("took=", row.duration_ns.map(|ns| (ns / TICK_NS as u64).to_string()));
    add("", row.transaction.map(|status| status.to_string()));
    add("", row.autocommit.filter(|autocommit| !autocommit).map(|_| "no-autocommit".into()));
    add("", row.truncated.then(|| "truncated".into()));
    add("", row.gap_before.then(|| "gap-before".into()));
    add("", row.joined_midway.then(|| "midway".into()));
    line
}

/// One payload as packets, from this sequence number on.
pub fn at(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), sequence);
    packet::write(&mut out, &mut sequence, payload);
    out
}

/// A command.
pub fn command(payload: &[u8]) -> Vec<u8> {
    at(0, payload)
}

/// An answer: its payloads with sequence numbers from 1.
pub fn answer<const N: usize>(payloads: [Vec<u8>; N]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1);
    payloads.iter().for_each(|payload| packet::write(&mut out, &mut sequence, payload));
    out
}

pub fn query(sql: &str) -> Vec<u8> {
    command(&[b"\x03", sql.as_bytes()].concat())
}

pub fn prepare(sql: &str) -> Vec<u8> {
    command(&[b"\x16", sql.as_bytes()].concat())
}

/// COM_STMT_EXECUTE without a cursor; `rest` follows the number of iterations.
pub fn execute(statement: u32, rest: &[u8]) -> Vec<u8> {
    command(&[b"\x17", &statement.to_le_bytes()[..], b"\0\x01\0\0\0", rest].concat())
}

pub fn long_data(statement: u32, parameter: u16, data: &[u8]) -> Vec<u8> {
    command(&[b"\x18", &statement.to_le_bytes()[..], &parameter.to_le_bytes(), data].concat())
}

pub fn close_statement(statement: u32) -> Vec<u8> {
    command(&[b"\x19", &statement.to_le_bytes()[..]].concat())
}

pub fn quit() -> Vec<u8> {
    command(b"\x01")
}

pub fn ping() -> Vec<u8> {
    command(b"\x0e")
}

pub fn greeting(version: &str, capabilities: Capabilities) -> Vec<u8> {
    let mut out = Vec::new();
    let greeting = Handshake {
        version: version.as_bytes(),
        connection: 7,
        scramble_start: *b"abcdefgh",
        scramble_rest: b"ijklmnopqrst",
        capabilities,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin: b"mysql_native_password",
    };
    greeting.encode(&mut out).unwrap();
    at(0, &out)
}

pub fn response(capabilities: Capabilities, user: &str, database: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let response = HandshakeResponse {
        capabilities,
        max_packet: 1 << 24,
        collation: 45,
        user: user.as_bytes(),
        proof: Secret(b"sesame-proof-20bytes"),
        database: Some(database.as_bytes()),
        plugin: Some(b"mysql_native_password"),
        attributes: None,
        zstd_level: None,
    };
    response.encode(&mut out).unwrap();
    at(1, &out)
}

/// The payload of an OK packet.
pub fn ok_with(packet: OkPacket<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(NEW, &mut out).unwrap();
    out
}

pub fn ok() -> Vec<u8> {
    ok_with(OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() })
}

pub fn ok_affected(affected: u64) -> Vec<u8> {
    ok_with(OkPacket { affected, status: Status::AUTOCOMMIT, ..OkPacket::default() })
}

/// The payload of an EOF packet.
pub fn eof() -> Vec<u8> {
    eof_with(Status::AUTOCOMMIT)
}

pub fn eof_with(status: Status) -> Vec<u8> {
    let mut out = Vec::new();
    OkPacket { status, ..OkPacket::default() }.encode_eof(OLD, &mut out);
    out
}

/// The OK packet that ends rows where there are no EOF packets.
pub fn end() -> Vec<u8> {
    let mut out = Vec::new();
    OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() }.encode_end(NEW, &mut out).unwrap();
    out
}

pub fn error(code: u16, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    ErrPacket { code, sqlstate: Some(*b"HY000"), message: message.as_bytes() }.encode(&mut out);
    out
}

pub fn count(columns: u8) -> Vec<u8> {
    vec![columns]
}

/// The description of a column or parameter.
pub fn column() -> Vec<u8> {
    b"\x03def\0\0\0\x01a\0\x0c\x21\0\x01\0\0\0\xfd\0\0\0\0\0".to_vec()
}

/// A row of the text protocol with one column.
pub fn row(value: &str) -> Vec<u8> {
    [&[value.len() as u8][..], value.as_bytes()].concat()
}

pub fn prepared(statement: u32, parameters: u16, columns: u16) -> Vec<u8> {
    let mut out = Vec::new();
    PrepareOk { statement, columns, parameters, warnings: 0, described: true }.encode(OLD, &mut out);
    out
}

/// The answer to `SELECT 1`, with EOF packets.
pub fn select_one() -> Vec<u8> {
    answer([count(1), column(), eof(), row("1"), eof()])
}
