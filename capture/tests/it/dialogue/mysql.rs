//! Dialogues of MySQL, and its packets.

use splitproof_capture::mysql::{
    Capabilities, ErrPacket, Handshake, HandshakeResponse, OkPacket, PrepareOk, Secret, Status, packet,
};
use splitproof_capture::trace::Engine;

pub use super::{Event, START_NS, TICK_NS, expect, expect_with_losses, line};

#[derive(Clone, Debug, Default)]
pub struct Mysql;

impl super::Protocol for Mysql {
    const ENGINE: Engine = Engine::Mysql;
}

pub type Dialogue = super::Dialogue<Mysql>;

/// What both sides of [`Dialogue::session`] can do: the protocol of MySQL 5.5, with EOF packets.
pub const OLD: Capabilities =
    Capabilities(Capabilities::ASSUMED.0 | Capabilities::LONG_PASSWORD.0 | Capabilities::CONNECT_WITH_DB.0);
/// The same with what MySQL 8 adds.
pub const NEW: Capabilities = Capabilities(
    OLD.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::SESSION_TRACK.0 | Capabilities::QUERY_ATTRIBUTES.0,
);

impl Dialogue {
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
