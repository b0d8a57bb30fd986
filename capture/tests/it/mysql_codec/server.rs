//! What a server sends.

use mysql_common::constants::{ColumnType, MariadbCapabilities, StatusFlags};
use mysql_common::packets::session_state_change::SessionStateChange;
use mysql_common::packets::{
    AuthMoreData, AuthSwitchRequest, Column as OtherColumn, CommonOkPacket, ErrPacket as OtherErr, HandshakePacket,
    LocalInfilePacket, OkPacketDeserializer, OldEofPacket, ProgressReport, ResultSetTerminator, ServerError, SqlState,
    StmtPacket,
};
use proptest::option;
use proptest::prelude::*;
use splitproof_capture::mysql::session_state::Change;
use splitproof_capture::mysql::{
    Answer, AuthMore, AuthSwitch, Capabilities, Code, Column, ErrPacket, Exchange, Handshake, Kind, OkPacket,
    PrepareOk, Progress, SessionState, Status,
};

use super::*;

/// A type that both codecs know.
fn kind() -> impl Strategy<Value = u8> {
    any::<u8>().prop_filter("a type", |kind| ColumnType::try_from(*kind).is_ok())
}

/// Status flags that both codecs know: all but one.
fn status() -> impl Strategy<Value = u16> {
    any::<u16>().prop_map(|status| status & StatusFlags::all().bits())
}

proptest! {
    #[test]
    fn handshake(
        version in "[^\0]{1,20}",
        connection in any::<u32>(),
        start in any::<[u8; 8]>(),
        rest in vec(1u8.., 12),
        collation in any::<u8>(),
        status in status(),
        method in option::of("[a-z_]{1,20}"),
        extended in option::of(0u32..64),
    ) {
        let mut capabilities = since_4_1(Capabilities::default()).without(Capabilities::PLUGIN_AUTH);
        if method.is_some() {
            capabilities |= Capabilities::PLUGIN_AUTH;
        }
        match extended {
            Some(extended) => capabilities |= Capabilities::from_halves(0, extended),
            None => capabilities |= Capabilities::LONG_PASSWORD,
        }
        let handshake = Handshake {
            version: version.as_bytes(),
            connection,
            scramble_start: start,
            scramble_rest: &rest,
            capabilities,
            collation,
            status: Status(status),
            plugin: method.as_deref().unwrap_or_default().as_bytes(),
        };
        let payload = written(|out| handshake.encode(out));
        prop_assert_eq!(Handshake::decode(&payload), Ok(handshake));
        let read: HandshakePacket<'_> = read_by_other((), &payload);
        prop_assert_eq!(read.server_version_ref(), version.as_bytes());
        prop_assert_eq!((read.connection_id(), read.nonce()), (connection, handshake.scramble()));
        prop_assert_eq!(read.capabilities(), flags(capabilities));
        prop_assert_eq!(read.mariadb_ext_capabilities(), MariadbCapabilities::from_bits_truncate(extended.unwrap_or(0)));
        prop_assert_eq!((read.default_collation(), read.status_flags().bits()), (collation, status));
        prop_assert_eq!(read.auth_plugin_name_ref(), method.as_deref().map(str::as_bytes));
    }

    #[test]
    fn ok(affected in any::<u64>(), last_insert_id in any::<u64>(), status in status(), warnings in any::<u16>(),
          info in "[ -~]{0,30}", tracked in any::<bool>(), name in name(), value in blob()) {
        let capabilities = since_4_1(if tracked { Capabilities::SESSION_TRACK } else { Capabilities::default() });
        let status = Status(status).without(Status::SESSION_STATE_CHANGED);
        let status = if tracked { status | Status::SESSION_STATE_CHANGED } else { status };
        let changes = SessionState::bytes([
            Change::SystemVariable { name: name.as_bytes(), value: &value },
            Change::Schema(name.as_bytes()),
        ]);
        let session = SessionState::from_bytes(if tracked { &changes } else { b"" }).unwrap();
        let packet = OkPacket { affected, last_insert_id, status, warnings, info: info.as_bytes(), session };

        let payload = written(|out| packet.encode(capabilities, out));
        prop_assert_eq!(OkPacket::decode(&payload, capabilities), Ok(packet));
        let read: OkPacketDeserializer<'_, CommonOkPacket> = read_by_other(flags(capabilities), &payload);
        same(&packet, &read.into_inner());

        let deprecate = capabilities | Capabilities::DEPRECATE_EOF;
        let payload = written(|out| packet.encode_end(deprecate, out));
        prop_assert_eq!(OkPacket::decode(&payload, deprecate), Ok(packet));
        // The other codec passes over what follows the numbers.
        let mut rest = ParseBuf(&payload);
        let read = OkPacketDeserializer::<ResultSetTerminator>::deserialize(flags(deprecate), &mut rest).unwrap();
        prop_assert_eq!((read.into_inner().status_flags().bits(), payload[0]), (status.0, 0xfe));

        let payload = written(|out| packet.encode_end(capabilities, out));
        let read: OkPacketDeserializer<'_, OldEofPacket> = read_by_other(flags(capabilities), &payload);
        let eof = OkPacket { status, warnings, ..OkPacket::default() };
        same(&eof, &read.into_inner());
        prop_assert_eq!(OkPacket::decode(&payload, capabilities), Ok(eof));
    }

    #[test]
    fn err(code in 0u16..0xffff, state in option::of(any::<[u8; 5]>()), message in "[^#]{0,30}") {
        let error = ErrPacket { code, sqlstate: state, message: message.as_bytes() };
        let mut payload = Vec::new();
        error.encode(&mut payload);
        prop_assert_eq!(ErrPacket::decode(&payload), Ok(error));
        let capabilities = since_4_1(Capabilities::default());
        let same = ServerError::new(code, state.map(SqlState::new), message.as_bytes());
        prop_assert_eq!(other(&OtherErr::Error(same.clone())), &payload[..]);
        if state.is_some() {
            let read: OtherErr<'_> = read_by_other(flags(capabilities), &payload);
            prop_assert_eq!(read, OtherErr::Error(same));
        }
    }

    #[test]
    fn progress(stage in any::<u8>(), stages in any::<u8>(), done in 0u32..1 << 24, info in blob()) {
        let progress = Progress { stage, stages, done, info: &info };
        let mut payload = Vec::new();
        progress.encode(&mut payload);
        let same = ProgressReport::new(stage, stages, done, &info[..]);
        prop_assert_eq!(other(&same), &payload[3..]);
        prop_assert_eq!(Progress::decode(&payload), Ok(progress));
    }

    #[test]
    fn column(names in proptest::array::uniform5(blob()), kind in kind(), collation in any::<u16>(), length in any::<u32>(),
              bits in any::<u16>(), decimals in any::<u8>()) {
        let [schema, table, org_table, name, org_name] = &names;
        let column = Column {
            catalog: b"def", schema, table, org_table, name, org_name, extended: b"", collation, length,
            kind: Kind(kind), flags: bits, decimals, default: None,
        };
        let none = Capabilities::default();
        let payload = written(|out| column.encode(none, out));
        prop_assert_eq!(Column::decode(&payload, none), Ok(column));
        // The other codec writes collation and length in the wrong order, but reads them in the right one.
        let read: OtherColumn = read_by_other((), &payload);
        prop_assert_eq!([read.schema_ref(), read.table_ref(), read.org_table_ref()], [&schema[..], table, org_table]);
        prop_assert_eq!([read.name_ref(), read.org_name_ref()], [&name[..], org_name]);
        prop_assert_eq!((read.character_set(), read.column_length(), read.decimals()), (collation, length, decimals));
        prop_assert_eq!((read.column_type() as u8, read.flags().bits()), (kind, bits));
    }

    #[test]
    fn authentication(method in "[a-z_]{1,30}", data in blob(), key in blob()) {
        let payload = other(&AuthSwitchRequest::new(method.as_bytes(), &data[..]));
        let switch = AuthSwitch { plugin: method.as_bytes(), data: &data };
        prop_assert_eq!(AuthSwitch::decode(&payload), Ok(switch));
        prop_assert_eq!(written(|out| switch.encode(out)), payload);
        let payload = other(&AuthMoreData::new(&key[..]));
        prop_assert_eq!(AuthMore::decode(&payload), Ok(AuthMore(&key)));
    }

    #[test]
    fn prepared(statement in any::<u32>(), columns in any::<u16>(), parameters in any::<u16>(), warnings in any::<u16>()) {
        let answer = PrepareOk { statement, columns, parameters, warnings, described: true };
        let mut payload = Vec::new();
        answer.encode(Capabilities::default(), &mut payload);
        let read: StmtPacket = read_by_other((), &payload);
        prop_assert_eq!((read.statement_id(), read.num_columns()), (statement, columns));
        prop_assert_eq!((read.num_params(), read.warning_count()), (parameters, warnings));
    }

    #[test]
    fn local_infile(filename in blob()) {
        let payload = other(&LocalInfilePacket::new(&filename[..]));
        let mut exchange = Exchange::new(Code::QUERY, since_4_1(Capabilities::default()));
        prop_assert_eq!(exchange.next(&payload), Ok(Answer::LocalInfile { filename: &filename }));
    }
}

fn same(packet: &OkPacket<'_>, read: &mysql_common::packets::OkPacket<'_>) {
    assert_eq!((read.affected_rows(), read.warnings()), (packet.affected, packet.warnings));
    assert_eq!(read.last_insert_id().unwrap_or(0), packet.last_insert_id);
    assert_eq!(read.status_flags(), StatusFlags::from_bits_retain(packet.status.0));
    assert_eq!(read.info_ref().unwrap_or_default(), packet.info);
    let ours: Vec<_> = packet.session.iter().collect();
    let theirs = read.session_state_info().unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        match (ours, theirs.decode().unwrap()) {
            (Change::SystemVariable { name, value }, SessionStateChange::SystemVariables(set)) => {
                assert_eq!((set[0].name_bytes(), set[0].value_bytes()), (*name, *value));
            }
            (Change::Schema(name), SessionStateChange::Schema(schema)) => assert_eq!(schema.as_bytes(), *name),
            (ours, theirs) => panic!("{ours:?} is {theirs:?}"),
        }
    }
}
