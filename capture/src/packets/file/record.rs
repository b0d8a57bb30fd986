//! What a record of a capture file is, whatever the format.

/// One record, or why there is none.
pub(super) enum Record<'a> {
    /// A packet.
    Packet {
        /// Its link type, as files number it; -1 where the file does not tell.
        link: i32,
        /// Nanoseconds since 1970 UTC.
        at_ns: i64,
        /// The bytes that were captured.
        data: &'a [u8],
        /// How many there were.
        wire: u32,
    },
    /// Packets that the recording machine dropped since this was told last.
    Dropped(u64),
    /// Secrets for TLS, in the form of a key log.
    Secrets(&'a [u8]),
    /// Something that is of no interest.
    Other,
    /// The file ends before it.
    End,
    /// The file ends within it.
    Cut,
    /// It contradicts itself.
    Broken(&'static str),
}

/// The longest packet. libpcap writes none that is longer.
pub(super) const MAX_PACKET: u32 = 262_144;

/// Numbers of four bytes, in either byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub big: bool,
}

impl Order {
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        if self.big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}
