//! As whom a session goes to its servers, and the proof that they want.

use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};
use splitproof_capture::mysql::auth::{caching_sha2, plugin};
use splitproof_capture::mysql::{Attributes, Capabilities, ChangeUser, HandshakeResponse, Secret, Unencodable};

/// A session's user, and what it said when it connected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The database that it named.
    pub database: Option<Vec<u8>>,
    /// What it can do.
    pub capabilities: u64,
    /// The collation of what it sends.
    pub collation: u16,
    /// Its longest packet.
    pub max_packet: u32,
    /// What it told of itself.
    pub attributes: Vec<u8>,
}

impl Login {
    /// What the servers are told: the same, by methods that have names.
    pub fn capabilities(&self) -> Capabilities {
        let client = Capabilities(self.capabilities);
        let with_database = Capabilities::CONNECT_WITH_DB;
        let base = client | Capabilities::PLUGIN_AUTH | Capabilities::SECURE_CONNECTION;
        match self.database {
            Some(_) => base | with_database,
            None => base.without(with_database),
        }
    }

    /// The answer to a server's greeting.
    pub(super) fn response(&self, proof: &[u8], method: &[u8], out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let capabilities = self.capabilities();
        let attributes = Attributes::from_bytes(&self.attributes).unwrap_or_default();
        HandshakeResponse {
            capabilities,
            max_packet: self.max_packet,
            collation: self.collation.to_le_bytes()[0],
            user: self.user.as_bytes(),
            proof: Secret(proof),
            database: self.database.as_deref(),
            plugin: Some(method),
            attributes: capabilities.contains(Capabilities::CONNECT_ATTRS).then_some(attributes),
            zstd_level: None,
        }
        .encode(out)
    }

    /// The command that makes a connection this user's.
    pub(super) fn change_user(&self, proof: &[u8], method: &[u8], out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let attributes = Attributes::from_bytes(&self.attributes).unwrap_or_default();
        let change = ChangeUser {
            user: self.user.as_bytes(),
            proof: Secret(proof),
            database: self.database.as_deref().unwrap_or_default(),
            collation: Some(self.collation),
            plugin: Some(method),
            attributes: self.capabilities().contains(Capabilities::CONNECT_ATTRS).then_some(attributes),
        };
        splitproof_capture::mysql::Command::ChangeUser(change).encode(self.capabilities(), out)
    }
}

/// The proof of a password by a method. Empty without a password.
pub(super) fn proof(method: &[u8], scramble: &[u8], password: Option<&str>) -> Result<Vec<u8>, String> {
    let Some(password) = password.filter(|password| !password.is_empty()) else { return Ok(Vec::new()) };
    // Servers end the scramble with a NUL.
    let scramble = scramble.strip_suffix(b"\0").unwrap_or(scramble);
    let proof = match method {
        plugin::NATIVE_PASSWORD => scramble_native(scramble, password.as_bytes()).map(|proof| proof.to_vec()),
        plugin::CACHING_SHA2_PASSWORD => scramble_sha256(scramble, password.as_bytes()).map(|proof| proof.to_vec()),
        plugin::ED25519 => Some(create_response_for_ed25519(password.as_bytes(), scramble).to_vec()),
        _ => {
            return Err(format!(
                "it asks for authentication by {}, which this router cannot do",
                method.escape_ascii()
            ));
        }
    };
    proof.ok_or_else(|| "no proof can be made of the password".to_owned())
}

/// What to do when the server goes on with a method.
pub(super) fn more(data: &[u8]) -> Result<(), String> {
    match data {
        [caching_sha2::FAST_AUTH_SUCCESS] => Ok(()),
        [caching_sha2::FULL_AUTHENTICATION] => {
            Err("it does not have the password in its cache yet, and wants it in clear; log in once by other means"
                .into())
        }
        _ => Err("it goes on with a method in a way that this router does not know".into()),
    }
}
