//! [Compressed packets], which hold a piece of the stream of [packets](super::packet): 3 bytes of length, a sequence number of
//! their own, 3 bytes of the length before compression (0 where the piece was too short to be worth it), and the piece.
//!
//! They begin behind the OK packet of authentication, in both directions, where `COMPRESS` (zlib) or `ZSTD` is agreed.
//! Pieces end anywhere: in one piece there may be several packets, or a part of one. The sequence numbers of the packets
//! inside tell nothing between payloads: a server sets them to that of the compressed packet from time to time.
//!
//! [Compressed packets]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html

use std::fmt;
use std::io;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use super::capabilities::Capabilities;
use super::error::Invalid;
use super::packet::FULL;

/// Bytes before the piece.
pub const HEADER: usize = 7;

/// Pieces shorter than this are sent as they are; `MIN_COMPRESS_LENGTH` in the servers.
const SHORTEST: usize = 50;

/// How pieces are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Deflate in a zlib stream.
    Zlib,
    /// A Zstandard frame.
    Zstd,
}

impl Algorithm {
    /// The algorithm that these agreed capabilities call for. The servers prefer zlib where both are agreed.
    pub fn agreed(capabilities: Capabilities) -> Option<Self> {
        if capabilities.contains(Capabilities::COMPRESS) {
            Some(Algorithm::Zlib)
        } else if capabilities.contains(Capabilities::ZSTD) {
            Some(Algorithm::Zstd)
        } else {
            None
        }
    }
}

/// One compressed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed<'a> {
    /// Sequence number: 0 in a command, then one more with each compressed packet of either side.
    pub sequence: u8,
    /// Length of the piece before compression; 0 where it is not compressed.
    pub original: usize,
    /// The piece as it was sent.
    pub piece: &'a [u8],
}

impl Compressed<'_> {
    /// Bytes of the packet with its header.
    pub fn len(&self) -> usize {
        HEADER + self.piece.len()
    }

    /// True when the piece is empty.
    pub fn is_empty(&self) -> bool {
        self.piece.is_empty()
    }
}

/// The compressed packet at the start of `buf`. `None` when it is not complete yet.
pub fn next(buf: &[u8]) -> Option<Compressed<'_>> {
    let (&[a, b, c, sequence, x, y, z], rest) = buf.split_first_chunk::<HEADER>()?;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    let original = u32::from_le_bytes([x, y, z, 0]) as usize;
    rest.get(..length).map(|piece| Compressed { sequence, original, piece })
}

/// The sequence number of the compressed packet that `buf` begins with; `None` when it is not there yet.
pub fn sequence(buf: &[u8]) -> Option<u8> {
    buf.get(3).copied()
}

/// Undoes compression, for one direction of a connection.
pub struct Decompressor(Decoder);

enum Decoder {
    Zlib(Decompress),
    Zstd(zstd::bulk::Decompressor<'static>),
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Decoder::Zlib(_) => "Decompressor(Zlib)",
            Decoder::Zstd(_) => "Decompressor(Zstd)",
        })
    }
}

impl Decompressor {
    /// For pieces that were compressed so. Fails where memory is short.
    pub fn new(algorithm: Algorithm) -> io::Result<Self> {
        Ok(Decompressor(match algorithm {
            Algorithm::Zlib => Decoder::Zlib(Decompress::new(true)),
            Algorithm::Zstd => Decoder::Zstd(zstd::bulk::Decompressor::new()?),
        }))
    }

    /// Appends the piece as it was before compression to `out`. Fails, and appends nothing, where the piece is not what its
    /// header says.
    pub fn push(&mut self, packet: Compressed<'_>, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let Compressed { original, piece, .. } = packet;
        if original == 0 {
            out.extend_from_slice(piece);
            return Ok(());
        }
        let start = out.len();
        out.resize(start + original, 0);
        let (_, space) = out.split_at_mut(start);
        let whole = match &mut self.0 {
            Decoder::Zlib(decoder) => {
                decoder.reset(true);
                let end = decoder.decompress(piece, space, FlushDecompress::Finish);
                matches!(end, Ok(Status::StreamEnd)) && decoder.total_out() == original as u64
            }
            Decoder::Zstd(decoder) => decoder.decompress_to_buffer(piece, space).is_ok_and(|length| length == original),
        };
        if whole {
            return Ok(());
        }
        out.truncate(start);
        let what = "the piece cannot be decompressed to the length that its header gives";
        Err(Invalid { message: "compressed packet", offset: HEADER, what })
    }
}

/// Compresses, for one direction of a connection.
pub struct Compressor(Encoder);

enum Encoder {
    Zlib(Compress),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Encoder::Zlib(_) => "Compressor(Zlib)",
            Encoder::Zstd(_) => "Compressor(Zstd)",
        })
    }
}

impl Compressor {
    /// `level` is that of the algorithm: 6 is usual for zlib, 3 for zstd. Fails where there is no such level.
    pub fn new(algorithm: Algorithm, level: u8) -> io::Result<Self> {
        Ok(Compressor(match algorithm {
            Algorithm::Zlib if level > 9 => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "zlib has the levels 0 to 9"));
            }
            Algorithm::Zlib => Encoder::Zlib(Compress::new(flate2::Compression::new(level.into()), true)),
            Algorithm::Zstd => Encoder::Zstd(zstd::bulk::Compressor::new(level.into())?),
        }))
    }

    /// Appends `packets` to `out` as compressed packets, from the sequence number `sequence` on, which is moved to the next.
    ///
    /// Fails where the library does; what was appended is then taken back.
    pub fn write(&mut self, packets: &[u8], sequence: &mut u8, out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        let before = *sequence;
        for piece in packets.chunks(FULL) {
            if let Err(error) = self.piece(piece, *sequence, out) {
                out.truncate(start);
                *sequence = before;
                return Err(error);
            }
            *sequence = sequence.wrapping_add(1);
        }
        Ok(())
    }

    /// `piece` is at most [`FULL`] long.
    fn piece(&mut self, piece: &[u8], sequence: u8, out: &mut Vec<u8>) -> io::Result<()> {
        let compressed = if piece.len() < SHORTEST { None } else { self.compress(piece)? };
        let (content, original) = match &compressed {
            Some(compressed) => (&compressed[..], piece.len()),
            None => (piece, 0),
        };
        let [a, b, c, ..] = content.len().to_le_bytes();
        let [x, y, z, ..] = original.to_le_bytes();
        out.extend([a, b, c, sequence, x, y, z]);
        out.extend_from_slice(content);
        Ok(())
    }

    /// The piece compressed; `None` where that is not shorter.
    fn compress(&mut self, piece: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut compressed = Vec::with_capacity(piece.len());
        let whole = match &mut self.0 {
            Encoder::Zlib(encoder) => {
                encoder.reset();
                encoder.compress_vec(piece, &mut compressed, FlushCompress::Finish)? == Status::StreamEnd
            }
            // What does not fit the space is not shorter.
            Encoder::Zstd(encoder) => encoder.compress_to_buffer(piece, &mut compressed).is_ok(),
        };
        Ok((whole && compressed.len() < piece.len()).then_some(compressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::hex;

    fn undone(algorithm: Algorithm, packet: Compressed<'_>) -> Result<Vec<u8>, Invalid> {
        let mut out = b"before".to_vec();
        let result = Decompressor::new(algorithm).unwrap().push(packet, &mut out);
        let rest = out.strip_prefix(b"before").unwrap().to_vec();
        assert!(result.is_ok() || rest.is_empty());
        result.map(|()| rest)
    }

    #[test]
    fn example_of_the_manual() {
        let bytes = hex("220000 00 320000 789cd3636060602e4ecd494d2e51503230343236313533b7b0c4cd5202000cd10a6c");
        let packet = next(&bytes).unwrap();
        assert_eq!((packet.sequence, packet.original, packet.len()), (0, 50, bytes.len()));
        let query = b"\x2e\0\0\0\x03select \"012345678901234567890123456789012345\"";
        assert_eq!(undone(Algorithm::Zlib, packet).unwrap(), query);
    }

    #[test]
    fn pieces_survive_both_algorithms() {
        let packets: Vec<u8> = (0..100_000u32).map(|i| (i / 7 % 13) as u8).collect();
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let mut compressor = Compressor::new(algorithm, 3).unwrap();
            let (mut out, mut sequence) = (Vec::new(), 255);
            compressor.write(&packets, &mut sequence, &mut out).unwrap();
            compressor.write(b"short", &mut sequence, &mut out).unwrap();
            assert_eq!(sequence, 1);
            let first = next(&out).unwrap();
            assert!(first.original == packets.len() && first.len() < packets.len() / 2 && first.sequence == 255);
            assert_eq!(undone(algorithm, first).unwrap(), packets);
            let second = next(&out[first.len()..]).unwrap();
            assert_eq!(second, Compressed { sequence: 0, original: 0, piece: b"short" });
            assert_eq!(undone(algorithm, second).unwrap(), b"short");
        }
    }

    #[test]
    fn what_does_not_shrink_is_sent_as_it_is() {
        let noise: Vec<u8> = (0..1000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let (mut out, mut sequence) = (Vec::new(), 0);
            Compressor::new(algorithm, 3).unwrap().write(&noise, &mut sequence, &mut out).unwrap();
            let packet = next(&out).unwrap();
            assert_eq!(undone(algorithm, packet).unwrap(), noise);
            assert!(out.len() <= noise.len() + HEADER);
        }
    }

    #[test]
    fn long_streams_are_cut_into_pieces() {
        let packets = vec![7; FULL + 1000];
        let (mut out, mut sequence) = (Vec::new(), 0);
        Compressor::new(Algorithm::Zlib, 1).unwrap().write(&packets, &mut sequence, &mut out).unwrap();
        assert_eq!(sequence, 2);
        let first = next(&out).unwrap();
        assert_eq!((first.original, next(&out[first.len()..]).unwrap().original), (FULL, 1000));
        assert!(undone(Algorithm::Zlib, first).unwrap().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn a_length_that_is_not_that_of_the_piece_is_invalid() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let (mut out, mut sequence) = (Vec::new(), 0);
            Compressor::new(algorithm, 3).unwrap().write(&[0; 1000], &mut sequence, &mut out).unwrap();
            let packet = next(&out).unwrap();
            for original in [1, 999, 1001, FULL] {
                assert!(undone(algorithm, Compressed { original, ..packet }).is_err(), "{algorithm:?} {original}");
            }
            for end in 0..packet.piece.len() {
                let piece = &packet.piece[..end];
                assert!(undone(algorithm, Compressed { piece, ..packet }).is_err(), "{algorithm:?} {end} bytes");
            }
        }
    }

    #[test]
    fn a_header_is_needed_whole() {
        let bytes = hex("010000 00 000000 0e");
        assert!((0..bytes.len()).all(|end| next(&bytes[..end]).is_none()));
        assert_eq!(next(&bytes).unwrap().len(), 8);
    }

    #[test]
    fn zlib_is_preferred() {
        let both = Capabilities::COMPRESS | Capabilities::ZSTD;
        assert_eq!(Algorithm::agreed(both), Some(Algorithm::Zlib));
        assert_eq!(Algorithm::agreed(Capabilities::ZSTD), Some(Algorithm::Zstd));
        assert_eq!(Algorithm::agreed(Capabilities::ASSUMED), None);
        assert!(Compressor::new(Algorithm::Zlib, 10).is_err());
    }
}
