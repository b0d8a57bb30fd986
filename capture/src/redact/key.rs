//! The key of a redaction, and the pseudo-random function that it makes.

use std::hash::Hasher;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use siphasher::sip128::{Hasher128, SipHasher24};

/// A 128-bit secret. Traces that are redacted with the same key have equal values in the same places.
#[derive(Clone)]
pub struct Key([u8; 16]);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error(
        "{}: holds no key: write 32 hexadecimal digits and nothing else; `openssl rand -hex 16` makes some",
        path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
    /// The system has no random numbers.
    #[error("/dev/urandom: {0}")]
    Random(io::Error),
}

/// What a hash is for: equal bytes of different uses have unrelated hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Round = 1,
    Rank,
    Number,
    Fraction,
    Digits,
    Pattern,
    Bytes,
    Bits,
    Uuid,
    Day,
    Minute,
    Second,
    Message,
    Checksum,
}

impl Key {
    /// A new key, which nobody knows.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = [0; 16];
        let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map(|()| Key(bytes)).map_err(KeyError::Random)
    }

    /// The key in a file: 32 hexadecimal digits.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read(path).map_err(|source| KeyError::Read { path: path.into(), source })?;
        let digits = std::str::from_utf8(&text).unwrap_or_default().trim();
        let exact = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = exact.then(|| u128::from_str_radix(digits, 16).ok()).flatten();
        number.map(|number| Key(number.to_be_bytes())).ok_or_else(|| KeyError::Form { path: path.into() })
    }

    /// For tests and for keys that come from elsewhere.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Key(bytes)
    }

    /// SipHash-2-4 of the parts, each with its length.
    pub(super) fn hash(&self, use_: Use, parts: &[&[u8]]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&[use_ as u8]);
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        hasher.finish128().as_u128()
    }

    /// The hash of two numbers.
    fn pair(&self, use_: Use, tweak: u128, first: u8, second: u64) -> u128 {
        let mut block = [0; 26];
        for (to, from) in
            block.iter_mut().zip([use_ as u8, first].into_iter().chain(tweak.to_le_bytes()).chain(second.to_le_bytes()))
        {
            *to = from;
        }
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&block);
        hasher.finish128().as_u128()
    }

    /// A number below `size` for each one below `size`, no two the same: so equal values stay equal, and different ones
    /// stay different. `size` is at most 2^120.
    pub(super) fn permute(&self, value: u128, size: u128, tweak: u128) -> u128 {
        /// Up to here each number's rank among the hashes of all is its image.
        const SMALL: u128 = 64;
        const ROUNDS: u8 = 10;
        if size <= 1 || value >= size {
            return value;
        }
        if size <= SMALL {
            let of = |number: u128| (self.pair(Use::Rank, tweak, 0, number as u64), number);
            let own = of(value);
            return (0..size).filter(|&other| of(other) < own).count() as u128;
        }
        // A Feistel network over the next even number of bits; what falls outside goes through it again.
        let half = (u128::BITS - (size - 1).leading_zeros()).div_ceil(2);
        let mask = (1_u128 << half) - 1;
        let mut image = value;
        loop {
            let (mut left, mut right) = (image >> half, image & mask);
            for round in 0..ROUNDS {
                let mixed = left ^ (self.pair(Use::Round, tweak, round, right as u64) & mask);
                (left, right) = (right, mixed);
            }
            image = (left << half) | right;
            if image < size {
                return image;
            }
        }
    }

    /// Endless pseudo-random numbers below 2^16, from a hash.
    pub(super) fn stream(&self, seed: u128) -> impl Iterator<Item = u16> + '_ {
        (0_u64..).flat_map(move |block| {
            let bytes = self.pair(Use::Rank, seed, 1, block).to_le_bytes();
            let mut pairs = [0_u16; 8];
            for (to, from) in pairs.iter_mut().zip(bytes.chunks_exact(2)) {
                *to = from.iter().rev().fold(0, |number, &byte| number << 8 | u16::from(byte));
            }
            pairs
        })
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(***)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_permutation_takes_every_place_once_and_depends_on_key_and_tweak() {
        let key = Key::from_bytes([7; 16]);
        for size in [1, 2, 8, 10, 64, 65, 100, 900, 1000, 4096] {
            let images: HashSet<u128> = (0..size).map(|value| key.permute(value, size, 5)).collect();
            assert_eq!(images.len() as u128, size);
            assert!(images.iter().all(|&image| image < size), "{size}");
        }
        let all = |key: &Key, tweak| (0..1000).map(|value| key.permute(value, 1000, tweak)).collect::<Vec<_>>();
        assert_ne!(all(&key, 1), all(&key, 2));
        assert_ne!(all(&key, 1), all(&Key::from_bytes([8; 16]), 1));
        let largest = 1 << 120;
        assert!(key.permute(largest - 1, largest, 0) < largest);
        assert_eq!(key.permute(12, 10, 0), 12, "not of the set");
    }

    #[test]
    fn a_key_file_holds_a_key_and_nothing_else() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("key");
        std::fs::write(&path, "000102030405060708090A0b0c0d0e0f\n").expect("writes");
        assert_eq!(Key::read(&path).expect("a key").0, std::array::from_fn(|at| at as u8));
        for wrong in ["", "secret", "000102030405060708090a0b0c0d0e", "+00102030405060708090a0b0c0d0e0f", "\u{e9}"] {
            std::fs::write(&path, wrong).expect("writes");
            let error = Key::read(&path).expect_err(wrong).to_string();
            assert!(error.contains("32 hexadecimal digits"), "{error}");
        }
        let error = Key::read(&dir.path().join("none")).expect_err("no file").to_string();
        assert!(error.contains("none"), "{error}");
        assert_ne!(Key::random().expect("random").0, Key::random().expect("random").0);
        assert_eq!(format!("{:?}", Key::from_bytes([1; 16])), "Key(***)");
    }
}
