//! Bytes that nobody meant.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use splitproof_capture::mysql::bulk::{BulkFlags, BulkValue};
use splitproof_capture::mysql::session_state::Change;
use splitproof_capture::mysql::{
    Attributes, AuthSwitch, BinaryRow, BulkExecute, Capabilities, Code, Content, Exchange, Execute, ExecuteFlags,
    Handshake, HandshakeResponse, Kind, OkPacket, ParamType, Parameter, Query, Secret, SessionState, Status, auth,
};

use super::everything::read_everything;
use super::*;

/// Capabilities that change how messages are read, each of them set or not.
fn capabilities() -> impl Strategy<Value = Capabilities> {
    any::<u64>().prop_map(|bits| Capabilities(bits) | Capabilities::PROTOCOL_41)
}

/// Messages of both sides, each of which has something that can be broken.
fn some_messages() -> Vec<Vec<u8>> {
    let all = since_4_1(Capabilities::QUERY_ATTRIBUTES | Capabilities::SESSION_TRACK | Capabilities::DEPRECATE_EOF);
    let text = Parameter { name: b"t", kind: ParamType::new(Kind::STRING, false), value: Content::Bytes(b"abc") };
    let number = Parameter { name: b"n", kind: ParamType::new(Kind::SHORT, true), value: Content::Bytes(b"ab") };
    let null = Parameter { value: Content::Null, ..number };
    let flags = ExecuteFlags::PARAMETER_COUNT;
    let changes = SessionState::bytes([
        Change::SystemVariable { name: b"autocommit", value: b"OFF" },
        Change::Gtids { encoding: 0, gtids: b"0-1-2" },
        Change::TransactionState(b"T_______"),
    ]);
    let attributes = Attributes::bytes([(&b"_os"[..], &b"Linux"[..])]);
    let response = HandshakeResponse {
        capabilities: all | Capabilities::CONNECT_WITH_DB | Capabilities::CONNECT_ATTRS | Capabilities::ZSTD,
        max_packet: 1 << 24,
        collation: 45,
        user: b"root",
        proof: Secret(b"abcdefgh"),
        database: Some(b"shop"),
        plugin: Some(auth::plugin::NATIVE_PASSWORD),
        attributes: Some(Attributes::from_bytes(&attributes).unwrap()),
        zstd_level: Some(3),
    };
    let handshake = Handshake {
        version: b"8.0.36",
        connection: 7,
        scramble_start: *b"abcdefgh",
        scramble_rest: b"ijklmnopqrst",
        capabilities: all,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin: auth::plugin::NATIVE_PASSWORD,
    };
    let ok = OkPacket {
        affected: 300,
        status: Status::SESSION_STATE_CHANGED | Status::MORE_RESULTS,
        session: SessionState::from_bytes(&changes).unwrap(),
        ..OkPacket::default()
    };
    let values = [BulkValue::Bytes(b"abc"), BulkValue::Null];
    vec![
        written(|out| handshake.encode(out)),
        written(|out| response.encode(out)),
        written(|out| Query::write(out, all, &[text, number, null], b"SELECT 1")),
        written(|out| Execute::write(out, all, 1, flags, &[text, number, null, text], true)),
        written(|out| BulkExecute::write(out, 1, BulkFlags::SEND_TYPES, &[text.kind; 2], [&values[..]])),
        written(|out| ok.encode(all, out)),
        written(|out| ok.encode_end(all, out)),
        written(|out| {
            BinaryRow::write(out, &[(Kind::LONG, Some(b"abcd")), (Kind::STRING, None), (Kind::TIME, Some(b""))])
        }),
        written(|out| AuthSwitch { plugin: b"client_ed25519", data: b"abc" }.encode(out)),
        b"\x11root\0\x03abcshop\0\x2d\0native\0\x06\x01a\x03bcd".to_vec(),
        b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x03\0\0\0\0\0".to_vec(),
    ]
}

/// As everything there is, and as the answer to every command, packet by packet; each must be read or refused, and the end is
/// the end.
fn read(payload: &[u8], capabilities: Capabilities) {
    read_everything(payload, capabilities);
    for code in 0..=255 {
        for start in [Exchange::new(Code(code), capabilities), Exchange::joined(Code(code))] {
            let mut exchange = start.with_cursor();
            for part in payload.chunks(8) {
                let before = exchange.clone();
                let answer = exchange.next(part);
                assert!(!before.is_complete() || answer.is_err());
                assert!(answer.is_ok() || exchange == before, "what cannot stand there changes nothing");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200), capabilities in capabilities()) {
        read(&bytes, capabilities);
    }

    /// The first byte decides, so all of them are tried more often.
    #[test]
    fn random_commands(code in 0u8..0x22, bytes in vec(any::<u8>(), 0..60), capabilities in capabilities()) {
        read(&[&[code][..], &bytes].concat(), capabilities);
    }

    #[test]
    fn broken_messages(
        message in select(some_messages()),
        capabilities in capabilities(),
        changes in vec((any::<Index>(), any::<u8>()), 0..4),
        end in any::<Index>(),
    ) {
        let mut message = message;
        read(&message, capabilities);
        for (index, byte) in changes {
            let index = index.index(message.len());
            message[index] = byte;
        }
        read(&message, capabilities);
        message.truncate(end.index(message.len()));
        read(&message, capabilities);
    }
}
