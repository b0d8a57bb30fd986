//! Proving who the client is, by the server's method.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods.html>,
//! <https://mariadb.com/kb/en/authentication-plugin-ed25519/>

use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};
use splitproof_capture::mysql::auth::{caching_sha2, plugin};

use super::handshake::Refused;
use super::public_key;

/// Bytes of the scramble that methods other than ed25519 use.
const SCRAMBLE: usize = 20;
/// Bytes of ed25519's scramble.
const NONCE: usize = 32;

/// A method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
}

impl Method {
    /// The method of this name.
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            plugin::NATIVE_PASSWORD => Method::Native,
            plugin::CACHING_SHA2_PASSWORD => Method::CachingSha2,
            plugin::SHA256_PASSWORD => Method::Sha256,
            plugin::ED25519 => Method::Ed25519,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static [u8] {
        match self {
            Method::Native => plugin::NATIVE_PASSWORD,
            Method::CachingSha2 => plugin::CACHING_SHA2_PASSWORD,
            Method::Sha256 => plugin::SHA256_PASSWORD,
            Method::Ed25519 => plugin::ED25519,
        }
    }

    /// What is sent first. `data` is what the server sent to start from.
    pub fn proof(self, password: &[u8], data: &[u8]) -> Vec<u8> {
        let scramble = data.get(..SCRAMBLE).unwrap_or(data);
        match self {
            Method::Native => scramble_native(scramble, password).map(Vec::from).unwrap_or_default(),
            Method::CachingSha2 => scramble_sha256(scramble, password).map(Vec::from).unwrap_or_default(),
            // An empty password is a single NUL; any other is only sent encrypted, for which this asks for the key.
            Method::Sha256 => vec![u8::from(!password.is_empty())],
            Method::Ed25519 => create_response_for_ed25519(password, data.get(..NONCE).unwrap_or(data)).to_vec(),
        }
    }

    /// The answer to more data of the server; `None` where it wants none.
    pub fn more(self, password: &[u8], scramble: &[u8], data: &[u8]) -> Result<Option<Vec<u8>>, Refused> {
        let scramble = scramble.get(..SCRAMBLE).unwrap_or(scramble);
        match (self, data) {
            (Method::CachingSha2, [caching_sha2::FAST_AUTH_SUCCESS]) => Ok(None),
            (Method::CachingSha2, [caching_sha2::FULL_AUTHENTICATION]) => {
                Ok(Some(vec![caching_sha2::REQUEST_PUBLIC_KEY]))
            }
            (Method::CachingSha2 | Method::Sha256, key) => {
                public_key::encrypt(password, scramble, key).map(Some).ok_or(Refused::PublicKey)
            }
            _ => Err(Refused::Protocol("it went on with an authentication that was complete".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_proves_nothing() {
        let scramble = b"01234567890123456789\0";
        assert_eq!(Method::Native.proof(b"", scramble), b"");
        assert_eq!(Method::CachingSha2.proof(b"", scramble), b"");
        assert_eq!(Method::Sha256.proof(b"", scramble), b"\0");
        assert_eq!(Method::Sha256.proof(b"x", scramble), b"\x01");
        assert_eq!(Method::Ed25519.proof(b"", &[7; NONCE]).len(), 64);
    }

    #[test]
    fn the_scramble_ends_before_its_nul() {
        let with = Method::Native.proof(b"secret", b"01234567890123456789\0");
        assert_eq!(with, Method::Native.proof(b"secret", b"01234567890123456789"));
        assert_eq!(with.len(), 20);
        assert_eq!(Method::Native.proof(b"secret", b"short").len(), 20);
    }

    #[test]
    fn the_full_way_asks_for_the_key() {
        let more = |data| Method::CachingSha2.more(b"secret", &[1; SCRAMBLE], data);
        assert_eq!(more(b"\x03"), Ok(None));
        assert_eq!(more(b"\x04"), Ok(Some(vec![2])));
        assert_eq!(more(b"no key"), Err(Refused::PublicKey));
        assert!(Method::Native.more(b"secret", &[1; SCRAMBLE], b"\x03").is_err());
    }
}
