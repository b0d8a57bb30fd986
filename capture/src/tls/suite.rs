//! Cipher suites, by the numbers that IANA gave them (<https://www.iana.org/assignments/tls-parameters>).

/// How the data of a session is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

/// How keys are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
}

/// A cipher suite that can be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suite {
    pub cipher: Cipher,
    pub hash: Hash,
}

use Cipher::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305};
use Hash::{Sha256, Sha384};

/// Number, name, and what it takes to decrypt it; `None` for suites that are only named.
type Entry = (u16, &'static str, Option<(Cipher, Hash)>);

const SUITES: &[Entry] = &[
    (0x1301, "TLS_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0x1302, "TLS_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256", Some((ChaCha20Poly1305, Sha256))),
    (0x1304, "TLS_AES_128_CCM_SHA256", None),
    (0x1305, "TLS_AES_128_CCM_8_SHA256", None),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0x00a8, "TLS_PSK_WITH_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0x00a9, "TLS_PSK_WITH_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Some((Aes128Gcm, Sha256))),
    (0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", Some((Aes256Gcm, Sha384))),
    (0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", Some((ChaCha20Poly1305, Sha256))),
    (0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", Some((ChaCha20Poly1305, Sha256))),
    (0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", Some((ChaCha20Poly1305, Sha256))),
    (0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA", None),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA", None),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", None),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA", None),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", None),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256", None),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256", None),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", None),
    (0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", None),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", None),
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", None),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", None),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", None),
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", None),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", None),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", None),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", None),
];

fn entry(number: u16) -> Option<&'static Entry> {
    SUITES.iter().find(|(known, ..)| *known == number)
}

impl Suite {
    /// The suite of this number, when it can be decrypted.
    pub fn of(number: u16) -> Option<Self> {
        let &(_, _, how) = entry(number)?;
        how.map(|(cipher, hash)| Suite { cipher, hash })
    }
}

/// The name of a suite, or its number.
pub(super) fn name(number: u16) -> String {
    entry(number).map_or_else(|| format!("cipher suite 0x{number:04x}"), |(_, name, _)| (*name).to_owned())
}

/// The name of a version, or its number.
pub(super) fn version(number: u16) -> String {
    match number {
        0x0300 => "SSL 3.0".to_owned(),
        0x0301..=0x0304 => format!("TLS 1.{}", number - 0x0301),
        other => format!("TLS version 0x{other:04x}"),
    }
}
