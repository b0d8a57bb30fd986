//! Packets in compressed packets, once that was agreed.

use splitproof_capture::mysql::compressed::{self, Algorithm, Compressor, Decompressor};

/// The level of each algorithm that its clients use by default.
fn level(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::Zlib => 6,
        Algorithm::Zstd => 3,
    }
}

/// Both directions of a connection.
#[derive(Debug)]
pub(super) struct Compression {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Sequence number of the next compressed packet of either side.
    sequence: u8,
    /// Received bytes that are no whole compressed packet yet.
    held: Vec<u8>,
}

impl Compression {
    pub fn new(algorithm: Algorithm) -> std::io::Result<Self> {
        Ok(Compression {
            compressor: Compressor::new(algorithm, level(algorithm))?,
            decompressor: Decompressor::new(algorithm)?,
            sequence: 0,
            held: Vec::new(),
        })
    }

    /// A command begins: its sequence numbers count from 0.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// The compressed packets of these packets.
    pub fn compress(&mut self, packets: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(packets.len());
        self.compressor.write(packets, &mut self.sequence, &mut out)?;
        Ok(out)
    }

    /// Appends the packets in what was received to `plain`; `None` when it is no compressed packet.
    pub fn received(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        self.held.extend_from_slice(bytes);
        let mut used = 0;
        while let Some(packet) = compressed::next(self.held.get(used..).unwrap_or_default()) {
            used += packet.len();
            self.sequence = packet.sequence.wrapping_add(1);
            self.decompressor.push(packet, plain).ok()?;
        }
        self.held.drain(..used);
        Some(())
    }
}
