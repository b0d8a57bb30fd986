//! One direction of a compressed connection: pieces in, plain packets out.

use crate::mysql::Invalid;
use crate::mysql::compressed::{self, Algorithm, Decompressor};

/// Capacity that is kept for the next pieces. Larger buffers are given back.
const KEPT: usize = 256 << 10;

/// Undoes the compression of one direction.
#[derive(Debug)]
pub(super) struct Inflate {
    decompressor: Decompressor,
    /// Bytes of a compressed packet whose end has not arrived.
    held: Vec<u8>,
    /// When the first of them arrived.
    since_ns: i64,
}

impl Inflate {
    /// `None` where memory is short.
    pub fn new(algorithm: Algorithm) -> Option<Self> {
        let decompressor = Decompressor::new(algorithm).ok()?;
        Some(Inflate { decompressor, held: Vec::new(), since_ns: 0 })
    }

    /// Takes what arrived, and appends to `plain` what the packets hold that are complete. Returns when the first byte of
    /// these arrived. What follows a packet that cannot be decompressed is lost.
    pub fn push(&mut self, at_ns: i64, bytes: &[u8], plain: &mut Vec<u8>) -> Result<i64, Invalid> {
        if self.held.is_empty() {
            self.since_ns = at_ns;
        }
        let since_ns = self.since_ns;
        self.held.extend_from_slice(bytes);
        let mut used = 0;
        while let Some(packet) = self.held.get(used..).and_then(compressed::next) {
            used += packet.len();
            self.decompressor.push(packet, plain)?;
        }
        if used > 0 {
            self.held.drain(..used);
            self.since_ns = at_ns;
            self.held.shrink_to(KEPT);
        }
        Ok(since_ns)
    }

    /// Forgets what is held, and returns how many bytes that were.
    pub fn clear(&mut self) -> u64 {
        let count = self.held.len() as u64;
        self.held = Vec::new();
        count
    }
}
