//! Values of the binary protocol: parameters, rows; and the packets around everything.

use bytes::{BufMut, BytesMut};
use mysql_common::constants::MAX_PAYLOAD_LEN;
use mysql_common::packets::{ComStmtBulkExecuteRequestBuilder, ComStmtExecuteRequestBuilder};
use mysql_common::proto::codec::PacketCodec;
use mysql_common::value::{TextValue, Value as Other, ValueDeserializer};
use proptest::prelude::*;
use splitproof_capture::mysql::bulk::{BulkFlags, BulkValue};
use splitproof_capture::mysql::compressed::{self, Algorithm, Compressor, Decompressor};
use splitproof_capture::mysql::packet::{self, Joiner};
use splitproof_capture::mysql::{
    BulkExecute, Capabilities, Command, Content, Execute, ExecuteFlags, Known, Parameter, TextRow, Value,
};

use super::*;

fn value() -> impl Strategy<Value = Other> {
    prop_oneof![
        Just(Other::NULL),
        blob().prop_map(Other::Bytes),
        any::<i64>().prop_map(Other::Int),
        any::<u64>().prop_map(Other::UInt),
        any::<f32>().prop_map(Other::Float),
        any::<f64>().prop_map(Other::Double),
        (0u16..9999, 1u8..=12, 1u8..=28, 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000)
            .prop_map(|(y, m, d, h, i, s, u)| Other::Date(y, m, d, h, i, s, u)),
        (any::<bool>(), 0u32..34, 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000)
            .prop_map(|(n, d, h, m, s, u)| Other::Time(n, d, h, m, s, u)),
    ]
}

/// Our reading of a value means what the other codec meant.
fn same(value: &Other, parameter: &Parameter<'_>) -> bool {
    let bytes = match parameter.value {
        Content::Bytes(bytes) => bytes,
        Content::Null => return *value == Other::NULL,
        Content::Long => return false,
    };
    match (value, Value::decode(parameter.kind, bytes)) {
        (Other::Bytes(theirs), Some(Value::Bytes(ours))) => theirs == ours,
        (Other::Int(theirs), Some(Value::Int(ours))) => *theirs == ours,
        (Other::UInt(theirs), Some(Value::UInt(ours))) => *theirs == ours,
        (Other::Float(theirs), Some(Value::Float(ours))) => theirs.to_bits() == ours.to_bits(),
        (Other::Double(theirs), Some(Value::Double(ours))) => theirs.to_bits() == ours.to_bits(),
        (&Other::Date(y, m, d, h, i, s, u), Some(Value::Date(ours))) => {
            (y, m, d, h, i, s, u) == (ours.year, ours.month, ours.day, ours.hour, ours.minute, ours.second, ours.micros)
        }
        (&Other::Time(n, d, h, m, s, u), Some(Value::Time(ours))) => {
            let zero = (d, h, m, s, u) == (0, 0, 0, 0, 0);
            (d, h, m, s, u) == (ours.days, ours.hour, ours.minute, ours.second, ours.micros)
                && (n == ours.negative || zero)
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn execution(statement in any::<u32>(), values in vec(value(), 0..20)) {
        let (request, _) = ComStmtExecuteRequestBuilder::new(statement).build(&values);
        let payload = other(&request);
        let capabilities = since_4_1(Capabilities::default());
        let Ok(Command::Execute(execute)) = Command::decode(&payload, capabilities) else { panic!("{payload:?}") };
        let known = Known { parameters: values.len() as u16, ..Known::default() };
        let parameters: Vec<_> = execute.parameters(capabilities, known).unwrap().iter().collect();
        prop_assert_eq!(parameters.len(), values.len());
        for (value, parameter) in values.iter().zip(&parameters) {
            prop_assert!(same(value, parameter), "{:?} is {:?}", value, parameter);
        }
        let again = written(|out| Execute::write(out, capabilities, statement, ExecuteFlags::default(), &parameters, true));
        prop_assert_eq!(again, payload);
    }

    #[test]
    fn bulk_execution(rows in (1usize..5).prop_flat_map(|columns| vec(vec(any::<i64>().prop_map(Other::Int), columns), 1..8)),
                      nulls in vec(any::<bool>(), 40)) {
        // The other codec takes the types from the first row, so only the rows behind it may have NULLs.
        let mut nulls = nulls.into_iter();
        let mut rows = rows;
        for value in rows.iter_mut().skip(1).flatten() {
            if nulls.next() == Some(true) {
                *value = Other::NULL;
            }
        }
        let mut builder = ComStmtBulkExecuteRequestBuilder::new(7, 1 << 24);
        for row in &rows {
            builder.add_row(row.clone()).unwrap();
        }
        let payload = other(&builder.build().unwrap());
        let Ok(Command::BulkExecute(bulk)) = Command::decode(&payload, Capabilities::default()) else { panic!() };
        let known = Known { parameters: rows[0].len() as u16, ..Known::default() };
        let read = bulk.rows(known).unwrap();
        let values: Vec<_> = read.values().collect();
        prop_assert_eq!(values.len(), rows.iter().flatten().count());
        for (value, (kind, read)) in rows.iter().flatten().zip(&values) {
            let content = match *read {
                BulkValue::Bytes(bytes) => Content::Bytes(bytes),
                _ => Content::Null,
            };
            let parameter = Parameter { name: b"", kind: *kind, value: content };
            prop_assert!(same(value, &parameter));
        }
        let list: Vec<_> = values.iter().map(|(_, value)| *value).collect();
        let again = written(|out| BulkExecute::write(out, 7, BulkFlags::SEND_TYPES, &read.types, list.chunks(rows[0].len())));
        prop_assert_eq!(again, payload);
    }

    #[test]
    fn text_rows(columns in vec(proptest::option::of(blob()), 1..10)) {
        let mut payload = Vec::new();
        TextRow::write(&mut payload, columns.iter().map(Option::as_deref));
        let row = TextRow::decode(&payload, columns.len() as u64).unwrap();
        prop_assert!(row.iter().eq(columns.iter().map(Option::as_deref)));
        let mut rest = ParseBuf(&payload);
        for column in &columns {
            let theirs: ValueDeserializer<TextValue> = rest.parse(()).unwrap();
            prop_assert_eq!(theirs.0, column.clone().map_or(Other::NULL, Other::Bytes));
        }
    }

    #[test]
    fn packets(payloads in vec(blob(), 1..10)) {
        let mut theirs = BytesMut::new();
        let mut codec = PacketCodec::default();
        let (mut ours, mut sequence) = (Vec::new(), 0);
        for payload in &payloads {
            codec.encode(&mut &payload[..], &mut theirs).unwrap();
            packet::write(&mut ours, &mut sequence, payload);
        }
        prop_assert_eq!(&ours[..], &theirs[..]);
    }

    #[test]
    fn compressed_packets(payloads in vec(vec(0u8..4, 0..2000), 1..10)) {
        let mut theirs = BytesMut::new();
        let mut codec = PacketCodec::default();
        codec.compress(mysql_common::proto::codec::Compression::default());
        let (mut plain, mut sequence) = (Vec::new(), 0);
        for payload in &payloads {
            codec.encode(&mut &payload[..], &mut theirs).unwrap();
            packet::write(&mut plain, &mut sequence, payload);
        }
        // What the other compressed.
        let (mut undone, mut rest) = (Vec::new(), &theirs[..]);
        let mut decompressor = Decompressor::new(Algorithm::Zlib).unwrap();
        while let Some(piece) = compressed::next(rest) {
            decompressor.push(piece, &mut undone).unwrap();
            rest = &rest[piece.len()..];
        }
        let mut payload = &undone[..];
        for expected in &payloads {
            let next = packet::next(payload).unwrap();
            prop_assert_eq!(next.payload, &expected[..]);
            payload = &payload[next.len()..];
        }
        // What the other undoes.
        let (mut ours, mut sequence) = (Vec::new(), 0);
        Compressor::new(Algorithm::Zlib, 6).unwrap().write(&plain, &mut sequence, &mut ours).unwrap();
        let mut codec = PacketCodec::default();
        codec.compress(mysql_common::proto::codec::Compression::default());
        let mut source = BytesMut::from(&ours[..]);
        for expected in &payloads {
            let mut payload = Vec::new();
            prop_assert!(codec.decode(&mut source, &mut payload).unwrap());
            prop_assert_eq!(&payload, expected);
        }
    }
}

#[test]
fn payloads_of_16_mib() {
    let codec = || {
        let mut codec = PacketCodec::default();
        codec.max_allowed_packet = 1 << 30;
        codec
    };
    assert_eq!(packet::FULL, MAX_PAYLOAD_LEN);
    for length in [packet::FULL - 1, packet::FULL, packet::FULL + 1] {
        let payload = vec![7; length];
        let mut theirs = BytesMut::new();
        codec().encode(&mut &payload[..], &mut theirs).unwrap();
        let (mut joiner, mut rest) = (Joiner::new(), &theirs[..]);
        loop {
            let next = packet::next(rest).expect("the other codec wrote whole packets");
            rest = &rest[next.len()..];
            if let Some(joined) = joiner.push(next).unwrap() {
                assert!(joined == payload && rest.is_empty());
                break;
            }
        }
        let (mut ours, mut sequence) = (Vec::new(), 0);
        packet::write(&mut ours, &mut sequence, &payload);
        assert!(ours == theirs, "{length} bytes");
        let mut undone = Vec::new();
        let mut source = BytesMut::new();
        source.put(&ours[..]);
        assert!(codec().decode(&mut source, &mut undone).unwrap() && undone == payload);
    }
}
