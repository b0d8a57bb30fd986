//! Every way to read bytes, for bytes that nobody meant. The fuzz targets include this file as well.

use splitproof_capture::mysql::compressed::{self, Algorithm, Decompressor};
use splitproof_capture::mysql::packet::{self, Joiner};
use splitproof_capture::mysql::{
    AuthMore, AuthNextFactor, AuthSwitch, BinaryRow, Capabilities, Column, Command, Content, ErrPacket, Handshake,
    Kind, Known, OkPacket, Opening, ParamType, PrepareOk, Progress, TextRow, Unencodable, Value,
};

const TYPES: [ParamType; 4] = [
    ParamType::new(Kind::LONGLONG, false),
    ParamType::new(Kind::STRING, false),
    ParamType::new(Kind::DATETIME, false),
    ParamType::new(Kind::NULL, false),
];

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).expect("can be written");
    out
}

/// Reads whatever the bytes hold in every way there is. What can be decoded can be written, and reads the same again.
pub fn read_everything(payload: &[u8], capabilities: Capabilities) {
    let mut joiner = Joiner::new();
    let mut rest = payload;
    while let Some(next) = packet::next(rest) {
        let _ = joiner.push(next);
        rest = &rest[next.len()..];
    }
    if let Some(piece) = compressed::next(payload) {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let _ = Decompressor::new(algorithm).unwrap().push(piece, &mut Vec::new());
        }
    }
    read_opening(payload);
    read_command(payload, capabilities);
    read_answer(payload, capabilities);
}

fn read_opening(payload: &[u8]) {
    if let Ok(handshake) = Handshake::decode(payload) {
        let mut again = Vec::new();
        if handshake.encode(&mut again).is_ok() {
            // Without its capability the method has no name to be written.
            assert_eq!(Handshake::decode(&again).map(|read| read.version), Ok(handshake.version));
        }
    }
    match Opening::decode(payload) {
        Ok(Opening::Response(response)) => {
            let mut again = Vec::new();
            if response.encode(&mut again).is_ok() {
                let Ok(Opening::Response(read)) = Opening::decode(&again) else { panic!("{again:?}") };
                assert_eq!((read.user, read.proof), (response.user, response.proof));
            }
            response.attributes.into_iter().flatten().for_each(drop);
        }
        Ok(Opening::Ssl(request)) => {
            let mut again = Vec::new();
            request.encode(&mut again);
            assert_eq!(Opening::decode(&again), Ok(Opening::Ssl(request)));
        }
        Err(_) => {}
    }
}

fn read_command(payload: &[u8], capabilities: Capabilities) {
    let Ok(command) = Command::decode(payload, capabilities) else { return };
    let mut again = Vec::new();
    if command.encode(capabilities, &mut again).is_ok() {
        let read = Command::decode(&again, capabilities).expect("what was written can be read");
        match (command, read) {
            // Lists compare by their bytes, and lengths have longer forms than the one that is written.
            (Command::Query(ours), Command::Query(read)) => {
                assert_eq!(ours.sql, read.sql);
                assert!(ours.attributes.iter().eq(read.attributes.iter()));
            }
            (ours, read) => assert_eq!(ours, read),
        }
    }
    let known = [
        Known::default(),
        Known { parameters: 4, types: &TYPES, long: &[1] },
        Known { parameters: 4, types: &[], long: &[] },
        Known { parameters: 300, types: &[], long: &[] },
    ];
    for known in known {
        match command {
            Command::Execute(execute) => {
                if let Ok(parameters) = execute.parameters(capabilities, known) {
                    let list: Vec<_> = parameters.iter().collect();
                    assert_eq!(list.len(), parameters.len());
                    for parameter in list {
                        if let Content::Bytes(bytes) = parameter.value {
                            let _ = Value::decode(parameter.kind, bytes).map(|value| value.to_string());
                        }
                    }
                }
            }
            Command::BulkExecute(bulk) => {
                if let Ok(rows) = bulk.rows(known)
                    && !rows.types.is_empty()
                {
                    assert_eq!(rows.values().count() % rows.types.len(), 0);
                }
            }
            _ => {}
        }
    }
}

fn read_answer(payload: &[u8], capabilities: Capabilities) {
    if let Ok(packet) = OkPacket::decode(payload, capabilities) {
        packet.session.iter().for_each(drop);
        let _ = (packet.session.gtid(), packet.session.schema(), packet.session.variable(b"sql_mode"));
    }
    if let Ok(error) = ErrPacket::decode(payload) {
        let mut again = Vec::new();
        error.encode(&mut again);
        assert_eq!(again, payload);
    }
    let _ = AuthSwitch::decode(payload).map(|switch| written(|out| switch.encode(out)));
    let _ = AuthNextFactor::decode(payload).map(|factor| written(|out| factor.encode(out)));
    let _ = (AuthMore::decode(payload), Progress::decode(payload), PrepareOk::decode(payload));
    if let Ok(column) = Column::decode(payload, capabilities) {
        let again = written(|out| column.encode(capabilities, out));
        assert_eq!(Column::decode(&again, capabilities), Ok(column));
    }
    for columns in [1, 3] {
        if let Ok(row) = TextRow::decode(payload, columns) {
            assert_eq!(row.iter().count() as u64, columns);
        }
    }
    let kinds = [Kind::LONG, Kind::STRING, Kind::TIME];
    if let Ok(row) = BinaryRow::decode(payload, &kinds) {
        let columns: Vec<_> = row.iter().collect();
        assert_eq!(columns.len(), kinds.len());
        let again = written(|out| BinaryRow::write(out, &columns));
        assert!(BinaryRow::decode(&again, &kinds).unwrap().iter().eq(columns));
    }
}
