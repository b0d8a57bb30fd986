//! Who the client is: the steps between the [handshake](super::handshake) and the final OK or ERR packet. COM_CHANGE_USER
//! goes through the same steps.
//!
//! What the client answers in these steps has no form of its own: it is whatever its [method](plugin) computes. Proofs are
//! computed elsewhere (`mysql_common::scramble` has them); here they are passed on, as [`Secret`]s.
//!
//! Documentation: [AuthSwitchRequest], [AuthMoreData], [AuthNextFactor], [caching_sha2_password].
//!
//! [AuthSwitchRequest]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_switch_request.html
//! [AuthMoreData]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_more_data.html
//! [AuthNextFactor]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_next_factor_request.html
//! [caching_sha2_password]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html

use std::fmt;

use super::error::{Invalid, Unencodable};
use super::read::Reader;
use super::write;

/// Names of authentication methods.
pub mod plugin {
    /// SHA-1 over a scramble of 20 bytes: the method of MySQL 4.1 to 5.7 and of MariaDB.
    pub const NATIVE_PASSWORD: &[u8] = b"mysql_native_password";
    /// The method before MySQL 4.1. An AuthSwitchRequest of one byte asks for it.
    pub const OLD_PASSWORD: &[u8] = b"mysql_old_password";
    /// SHA-256 with a cache in the server: the method of MySQL 8.
    pub const CACHING_SHA2_PASSWORD: &[u8] = b"caching_sha2_password";
    /// SHA-256 without a cache.
    pub const SHA256_PASSWORD: &[u8] = b"sha256_password";
    /// MariaDB's Ed25519.
    pub const ED25519: &[u8] = b"client_ed25519";
    /// The password in clear text.
    pub const CLEAR_PASSWORD: &[u8] = b"mysql_clear_password";
    /// MariaDB's conversation, as with PAM.
    pub const DIALOG: &[u8] = b"dialog";
}

/// The one byte of an AuthMoreData of `caching_sha2_password`, or that a client sends to ask for the public key.
pub mod caching_sha2 {
    /// From the client: send the public key of the server. `sha256_password` has 1 for this.
    pub const REQUEST_PUBLIC_KEY: u8 = 2;
    /// From the server: the proof is right, an OK packet follows.
    pub const FAST_AUTH_SUCCESS: u8 = 3;
    /// From the server: send the password, in clear over TLS or a socket, or else encrypted with the public key.
    pub const FULL_AUTHENTICATION: u8 = 4;
}

/// Bytes that prove who the client is. They are not shown when printed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Secret<'a>(pub &'a [u8]);

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} secret bytes)", self.0.len())
    }
}

/// The server wants another method of authentication than the client began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    /// Name of the method; see [`plugin`].
    pub plugin: &'a [u8],
    /// What the method starts from, such as a scramble of 20 bytes and a NUL.
    pub data: &'a [u8],
}

impl<'a> AuthSwitch<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 0xfe;

    /// Reads the payload. A single byte asks for [`plugin::OLD_PASSWORD`].
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("AuthSwitchRequest", payload);
        if read.u8()? != Self::HEADER {
            return Err(read.invalid(0, "the first byte is not 0xfe"));
        }
        if read.is_empty() {
            return Ok(AuthSwitch { plugin: plugin::OLD_PASSWORD, data: b"" });
        }
        Ok(AuthSwitch { plugin: read.nul_string()?, data: read.rest() })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, "AuthSwitchRequest", |out| {
            out.push(Self::HEADER);
            if self.plugin == plugin::OLD_PASSWORD && self.data.is_empty() {
                return Ok(());
            }
            write::nul_string(out, self.plugin)?;
            out.extend_from_slice(self.data);
            Ok(())
        })
    }
}

/// The server goes on with the method. What the data means depends on it; see [`caching_sha2`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthMore<'a>(pub &'a [u8]);

impl<'a> AuthMore<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 0x01;

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        match payload.split_first() {
            Some((&Self::HEADER, data)) => Ok(AuthMore(data)),
            _ => Err(Invalid { message: "AuthMoreData", offset: 0, what: "the first byte is not 0x01" }),
        }
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(self.0);
    }
}

/// The server wants a further proof, by another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthNextFactor<'a> {
    /// Name of the method; see [`plugin`].
    pub plugin: &'a [u8],
    /// What the method starts from.
    pub data: &'a [u8],
}

impl<'a> AuthNextFactor<'a> {
    /// First byte of the payload.
    pub const HEADER: u8 = 0x02;

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("AuthNextFactor", payload);
        if read.u8()? != Self::HEADER {
            return Err(read.invalid(0, "the first byte is not 0x02"));
        }
        Ok(AuthNextFactor { plugin: read.nul_string()?, data: read.rest() })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        write::message(out, "AuthNextFactor", |out| {
            out.push(Self::HEADER);
            write::nul_string(out, self.plugin)?;
            out.extend_from_slice(self.data);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_all, unwritten, written};

    #[test]
    fn switch() {
        // The example of the manual's page on AuthSwitchRequest.
        let payload =
            hex("fe 6d7973716c5f6e61746976655f70617373776f7264 00 7a516734 69366f4e 79363d72 484e2f3e 2d622941 00");
        let switch = AuthSwitch::decode(&payload).unwrap();
        assert_eq!(switch.plugin, plugin::NATIVE_PASSWORD);
        assert_eq!(switch.data.len(), 21);
        assert_eq!(written(|out| switch.encode(out)), payload);
        needs_all(&payload[..23], 2, |payload| AuthSwitch::decode(payload).err());
    }

    #[test]
    fn switch_to_the_oldest_method() {
        let switch = AuthSwitch::decode(b"\xfe").unwrap();
        assert_eq!(switch, AuthSwitch { plugin: plugin::OLD_PASSWORD, data: b"" });
        assert_eq!(written(|out| switch.encode(out)), b"\xfe");
    }

    #[test]
    fn more_data() {
        let more = AuthMore::decode(b"\x01\x04").unwrap();
        assert_eq!(more.0, [caching_sha2::FULL_AUTHENTICATION]);
        let mut out = Vec::new();
        more.encode(&mut out);
        assert_eq!(out, b"\x01\x04");
        assert!(AuthMore::decode(b"").is_err() && AuthMore::decode(b"\0").is_err());
    }

    #[test]
    fn next_factor() {
        let payload = b"\x02authentication_webauthn_client\0challenge";
        let factor = AuthNextFactor::decode(payload).unwrap();
        assert_eq!(factor, AuthNextFactor { plugin: b"authentication_webauthn_client", data: b"challenge" });
        assert_eq!(written(|out| factor.encode(out)), payload);
        needs_all(&payload[..32], 0, |payload| AuthNextFactor::decode(payload).err());
        unwritten(|out| AuthNextFactor { plugin: b"a\0b", data: b"" }.encode(out));
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(format!("{:?}", Secret(b"hunter2")), "(7 secret bytes)");
    }
}
