//! Keys of one direction, and the records that they open.
//!
//! TLS 1.2: RFC 5246 (keys), RFC 5288 (AES-GCM), RFC 7905 (ChaCha20). TLS 1.3: RFC 8446, sections 5.2, 5.3 and 7.

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;

use super::key_log::Random;
use super::record::HEADER;
use super::suite::{Cipher, Hash, Suite};

/// Length of the part of a nonce that AES-GCM sends with each record in TLS 1.2.
const EXPLICIT: usize = 8;

/// Length of what authenticates a record.
pub(super) const TAG: usize = 16;

/// The keys of one direction, and the number of its next record.
pub(super) struct Opener {
    key: LessSafeKey,
    iv: [u8; 12],
    suite: Suite,
    how: How,
    /// Number of the next record.
    pub seq: u64,
}

/// What differs between versions.
enum How {
    /// The nonce is computed; what the keys come from is kept, because later keys come from it.
    New { secret: Vec<u8> },
    /// The nonce is computed, too.
    Computed,
    /// A part of the nonce is sent with each record.
    Explicit,
}

/// A record that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Its type.
    pub kind: u8,
    /// Length of its content, which stands at the start of the buffer.
    pub len: usize,
}

impl Opener {
    /// For TLS 1.3, from the secret of one direction.
    pub fn new(suite: Suite, secret: &[u8]) -> Option<Self> {
        let key = expand_label(suite.hash, secret, "key", key_length(suite.cipher));
        let iv = expand_label(suite.hash, secret, "iv", 12).first_chunk().copied()?;
        let how = How::New { secret: secret.to_vec() };
        Some(Opener { key: unbound(suite.cipher, &key)?, iv, suite, how, seq: 0 })
    }

    /// For TLS 1.2, from the master secret: the client's and the server's.
    pub fn pair(suite: Suite, master: &[u8], client: &Random, server: &Random) -> Option<[Self; 2]> {
        let (key, iv) = match suite.cipher {
            Cipher::ChaCha20Poly1305 => (key_length(suite.cipher), 12),
            cipher => (key_length(cipher), 4),
        };
        let block = pseudorandom(suite.hash, master, "key expansion", &[server, client], 2 * (key + iv));
        let part = |at: usize, len: usize| block.get(at..at + len);
        let opener = |key_at: usize, iv_at: usize| {
            let mut whole = [0; 12];
            whole.get_mut(..iv)?.copy_from_slice(part(iv_at, iv)?);
            let how = if iv == 4 { How::Explicit } else { How::Computed };
            Some(Opener { key: unbound(suite.cipher, part(key_at, key)?)?, iv: whole, suite, how, seq: 0 })
        };
        Some([opener(0, 2 * key)?, opener(key, 2 * key + iv)?])
    }

    /// The keys after an update; only in TLS 1.3.
    pub fn updated(&self) -> Option<Self> {
        let How::New { secret } = &self.how else { return None };
        let length = self.suite.hash.algorithm().digest_algorithm().output_len();
        Opener::new(self.suite, &expand_label(self.suite.hash, secret, "traffic upd", length))
    }

    /// Length of the shortest record.
    pub fn shortest(&self) -> usize {
        match self.how {
            // its type, at least
            How::New { .. } => TAG + 1,
            How::Computed => TAG,
            How::Explicit => EXPLICIT + TAG,
        }
    }

    /// Opens a record as the one of this number. Its content goes to `out`, at the start.
    pub fn open(&self, seq: u64, header: [u8; HEADER], body: &[u8], out: &mut Vec<u8>) -> Option<Opened> {
        let sealed = match self.how {
            How::Explicit => body.get(EXPLICIT..)?,
            _ => body,
        };
        let len = sealed.len().checked_sub(TAG)?;
        let mut nonce = self.iv;
        match self.how {
            How::Explicit => nonce.iter_mut().skip(4).zip(body).for_each(|(to, from)| *to = *from),
            _ => nonce.iter_mut().skip(4).zip(seq.to_be_bytes()).for_each(|(to, from)| *to ^= from),
        }
        out.clear();
        out.extend_from_slice(sealed);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = match self.how {
            How::New { .. } => self.key.open_in_place(nonce, Aad::from(header), out),
            _ => {
                let mut aad = [0; 13];
                let [kind, major, minor, ..] = header;
                let [high, low] = u16::try_from(len).ok()?.to_be_bytes();
                let fields = seq.to_be_bytes().into_iter().chain([kind, major, minor, high, low]);
                aad.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
                self.key.open_in_place(nonce, Aad::from(aad), out)
            }
        };
        let content = opened.ok()?;
        match self.how {
            // The type stands behind the content, and zeros may stand behind that.
            How::New { .. } => {
                let at = content.iter().rposition(|&byte| byte != 0)?;
                Some(Opened { kind: content[at], len: at })
            }
            _ => Some(Opened { kind: header[0], len }),
        }
    }
}

impl Hash {
    fn algorithm(self) -> hmac::Algorithm {
        match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha384 => hmac::HMAC_SHA384,
        }
    }
}

fn key_length(cipher: Cipher) -> usize {
    match cipher {
        Cipher::Aes128Gcm => 16,
        Cipher::Aes256Gcm | Cipher::ChaCha20Poly1305 => 32,
    }
}

fn unbound(cipher: Cipher, key: &[u8]) -> Option<LessSafeKey> {
    let algorithm = match cipher {
        Cipher::Aes128Gcm => &aead::AES_128_GCM,
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    UnboundKey::new(algorithm, key).ok().map(LessSafeKey::new)
}

/// HKDF-Expand-Label without a context (RFC 8446, section 7.1). What is asked for is never longer than the hash, so that
/// one block suffices.
fn expand_label(hash: Hash, secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hash.algorithm(), secret));
    let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    context.update(&[high, low, u8::try_from(label.len() + 6).unwrap_or(u8::MAX)]);
    context.update(b"tls13 ");
    context.update(label.as_bytes());
    context.update(&[0, 1]);
    context.sign().as_ref().iter().copied().take(length).collect()
}

/// The pseudorandom function of TLS 1.2 (RFC 5246, section 5).
fn pseudorandom(hash: Hash, secret: &[u8], label: &str, seeds: &[&[u8]], length: usize) -> Vec<u8> {
    let key = hmac::Key::new(hash.algorithm(), secret);
    let seed = [&[label.as_bytes()], seeds].concat().concat();
    let mut a = hmac::sign(&key, &seed);
    let mut out = Vec::new();
    while out.len() < length {
        out.extend_from_slice(hmac::sign(&key, &[a.as_ref(), &seed].concat()).as_ref());
        a = hmac::sign(&key, a.as_ref());
    }
    out.truncate(length);
    out
}
