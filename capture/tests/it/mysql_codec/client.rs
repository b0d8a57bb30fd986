//! What a client sends.

use std::collections::HashMap;

use mysql_common::constants::MariadbCapabilities;
use mysql_common::packets::{
    AuthPlugin, ComChangeUser, ComChangeUserMoreData, ComStmtClose, ComStmtSendLongData, HandshakeResponse as Other,
    SslRequest as OtherSslRequest,
};
use proptest::option;
use proptest::prelude::*;
use splitproof_capture::mysql::auth::plugin;
use splitproof_capture::mysql::{
    Attributes, Capabilities, ChangeUser, Command, HandshakeResponse, LongData, Opening, Secret, SslRequest,
};

use super::*;

/// One pair at most: the other codec keeps them in no order.
fn attributes() -> impl Strategy<Value = Option<Vec<(String, String)>>> {
    option::of(vec((name(), name()), 0..=1))
}

fn bytes_of(pairs: &[(String, String)]) -> Vec<u8> {
    Attributes::bytes(pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

proptest! {
    #[test]
    fn handshake_response(
        user in name(),
        database in option::of(name()),
        proof in vec(1u8.., 0..200),
        pairs in attributes(),
        lenenc in any::<bool>(),
        named in any::<bool>(),
        mariadb in option::of(0u32..64),
        max_packet in any::<u32>(),
    ) {
        let mut capabilities = since_4_1(Capabilities::default()).without(Capabilities::PLUGIN_AUTH);
        if lenenc {
            capabilities |= Capabilities::PLUGIN_AUTH_LENENC;
        }
        let method = named.then(|| AuthPlugin::from_bytes(plugin::NATIVE_PASSWORD));
        let map = pairs.clone().map(HashMap::from_iter);
        let mut response = Other::new(
            Some(&proof[..]), (8, 0, 36), Some(user.as_bytes()), database.as_deref().map(str::as_bytes),
            method, flags(capabilities), map, max_packet,
        );
        // Only where bit 0 is unset the other family's capabilities are there.
        if let Some(extended) = mariadb {
            response = response.with_mariadb_ext_capabilities(MariadbCapabilities::from_bits_retain(extended));
        }
        let payload = other(&response);
        let Ok(Opening::Response(read)) = Opening::decode(&payload) else { panic!("{payload:?}") };
        prop_assert_eq!((read.user, read.proof.0), (user.as_bytes(), &proof[..]));
        prop_assert_eq!(read.database, database.as_deref().map(str::as_bytes));
        prop_assert_eq!(read.plugin, named.then_some(plugin::NATIVE_PASSWORD));
        prop_assert_eq!((read.max_packet, read.capabilities.extended()), (max_packet, mariadb.unwrap_or(0)));
        prop_assert_eq!(read.capabilities.base(), response.capabilities().bits());
        let bytes = pairs.as_deref().map(bytes_of);
        prop_assert_eq!(read.attributes, bytes.as_deref().map(|bytes| Attributes::from_bytes(bytes).unwrap()));
        prop_assert_eq!(written(|out| read.encode(out)), payload);
    }

    #[test]
    fn handshake_response_is_read(user in name(), database in name(), proof in vec(any::<u8>(), 0..250)) {
        let capabilities = since_4_1(Capabilities::CONNECT_WITH_DB | Capabilities::PLUGIN_AUTH_LENENC);
        let payload = written(|out| HandshakeResponse {
            capabilities,
            max_packet: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            proof: Secret(&proof),
            database: Some(database.as_bytes()),
            plugin: Some(plugin::CACHING_SHA2_PASSWORD),
            attributes: None,
            zstd_level: None,
        }.encode(out));
        let read: Other<'_> = read_by_other((), &payload);
        prop_assert_eq!((read.user(), read.db_name(), read.scramble_buf()), (user.as_bytes(), Some(database.as_bytes()), &proof[..]));
        prop_assert_eq!(read.auth_plugin().map(|method| method.as_bytes()), Some(plugin::CACHING_SHA2_PASSWORD));
    }

    #[test]
    fn ssl_request(max_packet in any::<u32>(), collation in any::<u8>(), extended in 0u32..64) {
        let capabilities = since_4_1(Capabilities::SSL) | Capabilities::from_halves(0, extended);
        let request = SslRequest { capabilities, max_packet, collation };
        let mut payload = Vec::new();
        request.encode(&mut payload);
        let same = OtherSslRequest::new(flags(capabilities), max_packet, collation)
            .with_mariadb_capabilities(MariadbCapabilities::from_bits_retain(extended));
        prop_assert_eq!(other(&same), &payload[..]);
        prop_assert_eq!(Opening::decode(&payload), Ok(Opening::Ssl(request)));
    }

    #[test]
    fn change_user(user in name(), database in name(), proof in vec(any::<u8>(), 0..250), collation in any::<u16>(), pairs in attributes()) {
        let capabilities = since_4_1(Capabilities::CONNECT_ATTRS);
        let more = ComChangeUserMoreData::new(collation)
            .with_auth_plugin(Some(AuthPlugin::from_bytes(plugin::NATIVE_PASSWORD)))
            .with_connect_attributes(pairs.clone().map(HashMap::from_iter));
        let change = ComChangeUser::new()
            .with_user(Some(user.as_bytes()))
            .with_database(Some(database.as_bytes()))
            .with_auth_plugin_data(Some(&proof[..]))
            .with_more_data(Some(more));
        let payload = other(&change);
        // The other codec writes an empty list for none.
        let bytes = bytes_of(&pairs.unwrap_or_default());
        let expected = Command::ChangeUser(ChangeUser {
            user: user.as_bytes(),
            proof: Secret(&proof),
            database: database.as_bytes(),
            collation: Some(collation),
            plugin: Some(plugin::NATIVE_PASSWORD),
            attributes: Some(Attributes::from_bytes(&bytes).unwrap()),
        });
        prop_assert_eq!(Command::decode(&payload, capabilities), Ok(expected));
        prop_assert_eq!(written(|out| expected.encode(capabilities, out)), payload);
    }

    #[test]
    fn long_data_and_close(statement in any::<u32>(), parameter in any::<u16>(), data in blob()) {
        let none = Capabilities::default();
        let payload = other(&ComStmtSendLongData::new(statement, parameter, &data[..]));
        let expected = Command::LongData(LongData { statement, parameter, data: &data });
        prop_assert_eq!(Command::decode(&payload, none), Ok(expected));
        prop_assert_eq!(written(|out| expected.encode(none, out)), payload);
        let payload = other(&ComStmtClose::new(statement));
        prop_assert_eq!(written(|out| Command::Close { statement }.encode(none, out)), payload);
    }
}
