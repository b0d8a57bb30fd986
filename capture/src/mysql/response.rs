//! What a client answers to the handshake: [HandshakeResponse41] (or the [form before MySQL 4.1]), or [SSLRequest] and that
//! again under TLS.
//!
//! [HandshakeResponse41]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html
//! [form before MySQL 4.1]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html#sect_protocol_connection_phase_packets_protocol_handshake_response320
//! [SSLRequest]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_ssl_request.html

use super::attributes::Attributes;
use super::auth::Secret;
use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::read::Reader;
use super::write;

/// Bytes of an SSLRequest, and of the fields that a HandshakeResponse41 begins with.
const FIXED: usize = 32;
/// The same before MySQL 4.1.
const FIXED_BEFORE_4_1: usize = 5;

/// The first message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening<'a> {
    /// TLS begins with the next byte.
    Ssl(SslRequest),
    /// Who the client is and what it can do.
    Response(HandshakeResponse<'a>),
}

impl<'a> Opening<'a> {
    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let low = payload.first_chunk().map_or(0, |low| u16::from_le_bytes(*low));
        let capabilities = Capabilities(low.into());
        let fixed = if capabilities.contains(Capabilities::PROTOCOL_41) { FIXED } else { FIXED_BEFORE_4_1 };
        // The same message follows under TLS with the same capability set, but with a user.
        match capabilities.contains(Capabilities::SSL) && payload.len() <= fixed {
            true => SslRequest::decode(payload).map(Opening::Ssl),
            false => HandshakeResponse::decode(payload).map(Opening::Response),
        }
    }
}

/// The client wants TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client can do.
    pub capabilities: Capabilities,
    /// Longest packet that the client sends.
    pub max_packet: u32,
    /// Collation of what the client sends.
    pub collation: u8,
}

impl SslRequest {
    /// Reads the payload. Before MySQL 4.1 it has only capabilities and the longest packet.
    pub fn decode(payload: &[u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("SSLRequest", payload);
        let (capabilities, max_packet, collation) = fixed(&mut read)?;
        read.end(SslRequest { capabilities, max_packet, collation })
    }

    /// Appends the payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_fixed(out, self.capabilities, self.max_packet, self.collation);
    }
}

/// Who the client is, and what it can do of what the server offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client can do. Without `PROTOCOL_41` this is the message from before MySQL 4.1.
    pub capabilities: Capabilities,
    /// Longest packet that the client sends.
    pub max_packet: u32,
    /// Collation of what the client sends.
    pub collation: u8,
    /// Name of the user.
    pub user: &'a [u8],
    /// The proof by the method that the client expects.
    pub proof: Secret<'a>,
    /// Database to begin with; `None` where the capability `CONNECT_WITH_DB` is not set.
    pub database: Option<&'a [u8]>,
    /// Name of the method of the proof; `None` where the capability `PLUGIN_AUTH` is not set.
    pub plugin: Option<&'a [u8]>,
    /// What the client tells of itself; `None` where the capability `CONNECT_ATTRS` is not set.
    pub attributes: Option<Attributes<'a>>,
    /// Level of zstd compression; `None` where the capability `ZSTD` is not set.
    pub zstd_level: Option<u8>,
}

impl<'a> HandshakeResponse<'a> {
    /// Reads the payload.
    ///
    /// Fields at the end that a capability announces may be missing: clients exist that leave them out, and servers take it.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Invalid> {
        let mut read = Reader::new("HandshakeResponse", payload);
        let (capabilities, max_packet, collation) = fixed(&mut read)?;
        let has = |flag| capabilities.contains(flag);
        let mut response = HandshakeResponse {
            capabilities,
            max_packet,
            collation,
            user: b"",
            proof: Secret(b""),
            database: None,
            plugin: None,
            attributes: None,
            zstd_level: None,
        };
        if !has(Capabilities::PROTOCOL_41) {
            response.user = read.nul_string()?;
            if has(Capabilities::CONNECT_WITH_DB) {
                response.proof = Secret(read.nul_string()?);
                response.database = Some(read.nul_string_or_rest());
            } else {
                response.proof = Secret(read.nul_string_or_rest());
            }
            return Ok(response);
        }
        response.user = read.nul_string()?;
        response.proof = Secret(if has(Capabilities::PLUGIN_AUTH_LENENC) {
            read.string()?
        } else if has(Capabilities::SECURE_CONNECTION) {
            let length = read.u8()?;
            read.bytes(length.into())?
        } else {
            read.nul_string_or_rest()
        });
        if has(Capabilities::CONNECT_WITH_DB) && !read.is_empty() {
            response.database = Some(read.nul_string_or_rest());
        }
        if has(Capabilities::PLUGIN_AUTH) && !read.is_empty() {
            response.plugin = Some(read.nul_string_or_rest());
        }
        if has(Capabilities::CONNECT_ATTRS) && !read.is_empty() {
            response.attributes = Some(Attributes::decode(&mut read)?);
        }
        if has(Capabilities::ZSTD) && !read.is_empty() {
            response.zstd_level = Some(read.u8()?);
        }
        Ok(response)
    }

    /// Appends the payload to `out`. A field that a capability announces and that is `None` is written empty.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let has = |flag| self.capabilities.contains(flag);
        write::message(out, "HandshakeResponse", |out| {
            put_fixed(out, self.capabilities, self.max_packet, self.collation);
            write::nul_string(out, self.user)?;
            let proof = self.proof.0;
            if !has(Capabilities::PROTOCOL_41) {
                write::nul_string(out, proof)?;
                return match has(Capabilities::CONNECT_WITH_DB) {
                    true => write::nul_string(out, self.database.unwrap_or_default()),
                    false => Ok(()),
                };
            }
            if has(Capabilities::PLUGIN_AUTH_LENENC) {
                write::string(out, proof);
            } else if has(Capabilities::SECURE_CONNECTION) {
                write::short_string(out, proof)?;
            } else {
                write::nul_string(out, proof)?;
            }
            if has(Capabilities::CONNECT_WITH_DB) {
                write::nul_string(out, self.database.unwrap_or_default())?;
            }
            if has(Capabilities::PLUGIN_AUTH) {
                write::nul_string(out, self.plugin.unwrap_or_default())?;
            }
            if has(Capabilities::CONNECT_ATTRS) {
                self.attributes.unwrap_or_default().write(out);
            }
            if has(Capabilities::ZSTD) {
                out.push(self.zstd_level.unwrap_or(3));
            }
            Ok(())
        })
    }
}

/// Capabilities, longest packet and collation, which stand before the user.
fn fixed(read: &mut Reader<'_>) -> Result<(Capabilities, u32, u8), Invalid> {
    let low = read.u16()?;
    if !Capabilities(low.into()).contains(Capabilities::PROTOCOL_41) {
        return Ok((Capabilities(low.into()), read.u24()?, 0));
    }
    let base = u32::from(low) | u32::from(read.u16()?) << 16;
    let (max_packet, collation) = (read.u32()?, read.u8()?);
    read.bytes(19)?;
    let extended = read.u32()?;
    // A MySQL client fills these bytes with zero. MariaDB's clients say that they are none by leaving bit 0 unset.
    let capabilities = match Capabilities::from_halves(base, 0).contains(Capabilities::LONG_PASSWORD) {
        true => Capabilities::from_halves(base, 0),
        false => Capabilities::from_halves(base, extended),
    };
    Ok((capabilities, max_packet, collation))
}

fn put_fixed(out: &mut Vec<u8>, capabilities: Capabilities, max_packet: u32, collation: u8) {
    if !capabilities.contains(Capabilities::PROTOCOL_41) {
        out.extend((capabilities.base() as u16).to_le_bytes());
        write::u24(out, max_packet);
        return;
    }
    out.extend(capabilities.base().to_le_bytes());
    out.extend(max_packet.to_le_bytes());
    out.push(collation);
    out.extend([0; 19]);
    out.extend(capabilities.extended().to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::{hex, needs_all, unwritten, written};

    fn decode(payload: &[u8]) -> HandshakeResponse<'_> {
        let Opening::Response(response) = Opening::decode(payload).unwrap() else { panic!("no response") };
        assert_eq!(written(|out| response.encode(out)), payload);
        response
    }

    const FILLER: &str = "0000000000000000000000000000000000000000000000";

    const EMPTY: HandshakeResponse<'static> = HandshakeResponse {
        capabilities: Capabilities::PROTOCOL_41,
        max_packet: 1 << 24,
        collation: 8,
        user: b"",
        proof: Secret(b""),
        database: None,
        plugin: None,
        attributes: None,
        zstd_level: None,
    };

    #[test]
    fn response() {
        let payload = hex(&format!(
            "8da60f00 00000001 08 {FILLER} 70616d00 14 ab09eef6bcb1323e6114 3865c0991d957d75d447 7465737400
            6d7973716c5f6e61746976655f70617373776f726400"
        ));
        let response = decode(&payload);
        assert_eq!((response.user, response.database), (&b"pam"[..], Some(&b"test"[..])));
        assert_eq!((response.max_packet, response.collation), (1 << 24, 8));
        assert_eq!(response.plugin, Some(&b"mysql_native_password"[..]));
        assert_eq!((response.proof.0.len(), response.proof.0[0]), (20, 0xab));
        assert_eq!((response.attributes, response.zstd_level), (None, None));
        // Behind the proof everything may be left out.
        needs_all(&payload[..57], 0, |payload| Opening::decode(payload).err());
    }

    #[test]
    fn attributes() {
        let payload = hex(&format!(
            "85a21e00 00000040 08 {FILLER} 726f6f7400 14 22507971a84bab80cd2dfeac74e6ce00b2ad1239
            6d7973716c5f6e61746976655f70617373776f726400
            13 035f6f73 056465626961 03616263 0464656667"
        ));
        let response = decode(&payload);
        assert_eq!(response.user, b"root");
        let attributes = response.attributes.unwrap();
        assert_eq!(attributes.get(b"_os"), Some(&b"debia"[..]));
        assert_eq!(attributes.iter().count(), 2);
        let end = payload.len() - 4;
        assert!(Opening::decode(&payload[..end]).is_err(), "a pair is cut");
    }

    /// The example of the manual for 4.0.
    #[test]
    fn before_4_1() {
        let payload = hex("8524 000000 6f6c6400 47445343 51595 25f");
        let Opening::Response(response) = Opening::decode(&payload).unwrap() else { panic!("no response") };
        assert_eq!((response.user, response.proof.0), (&b"old"[..], &b"GDSCQYR_"[..]));
        // The proof ends with the message or with NUL; it is written with NUL.
        assert_eq!(written(|out| response.encode(out)), [&payload[..], b"\0"].concat());
    }

    #[test]
    fn every_form_of_the_proof() {
        for (flags, proof) in [
            (Capabilities::PLUGIN_AUTH_LENENC, &[7; 300][..]),
            (Capabilities::SECURE_CONNECTION, &[7; 20]),
            (Capabilities::default(), b"abcdefgh"),
        ] {
            let response = HandshakeResponse {
                capabilities: Capabilities::PROTOCOL_41 | Capabilities::ZSTD | Capabilities::CONNECT_WITH_DB | flags,
                max_packet: 7,
                collation: 255,
                user: b"u",
                proof: Secret(proof),
                database: Some(b"shop"),
                plugin: None,
                attributes: None,
                zstd_level: Some(9),
            };
            let payload = written(|out| response.encode(out));
            assert_eq!(decode(&payload), response);
        }
    }

    #[test]
    fn a_long_proof_needs_its_capability() {
        let response = HandshakeResponse {
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION,
            proof: Secret(&[7; 300]),
            ..EMPTY
        };
        unwritten(|out| response.encode(out));
    }

    #[test]
    fn mariadb_says_what_it_can_in_the_filler() {
        let response = HandshakeResponse {
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::MARIADB_BULK | Capabilities::MARIADB_PROGRESS,
            ..EMPTY
        };
        let payload = written(|out| response.encode(out));
        assert_eq!(payload[28..32], [5, 0, 0, 0]);
        assert_eq!(decode(&payload).capabilities, response.capabilities);
    }

    #[test]
    fn ssl_request() {
        let payload = hex(&format!("05ae0300 00000001 08 {FILLER}"));
        let Opening::Ssl(request) = Opening::decode(&payload).unwrap() else { panic!("no SSLRequest") };
        assert!(request.capabilities.contains(Capabilities::SSL | Capabilities::PROTOCOL_41));
        let mut out = Vec::new();
        request.encode(&mut out);
        assert_eq!(out, payload);
        // The same under TLS goes on with a user, and is no request.
        let again = [&payload[..], b"u\0\0"].concat();
        assert!(matches!(Opening::decode(&again), Ok(Opening::Response(_))));
        needs_all(&payload, 0, |payload| SslRequest::decode(payload).err());
    }
}
