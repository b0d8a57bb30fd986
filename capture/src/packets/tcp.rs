//! The TCP header.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{
    ip,
    link::{self, Frame},
};
use crate::trace::Loss;

/// The flag bits that matter here.
pub(super) mod flags {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const ACK: u8 = 0x10;
}

/// One end of a connection. IPv4 addresses are in their IPv6-mapped form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Endpoint {
    pub address: u128,
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = IpAddr::V6(Ipv6Addr::from_bits(self.address)).to_canonical();
        SocketAddr::new(address, self.port).fmt(f)
    }
}

/// One TCP segment.
pub(super) struct Segment<'a> {
    pub source: Endpoint,
    pub destination: Endpoint,
    pub seq: u32,
    /// Only of meaning with [`flags::ACK`].
    pub ack: u32,
    pub flags: u8,
    /// The payload as captured.
    pub payload: &'a [u8],
    /// Payload bytes after `payload` that the snap length cut off.
    pub missing: u32,
}

impl Segment<'_> {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Payload bytes on the wire.
    pub fn len(&self) -> u32 {
        (self.payload.len() as u32).wrapping_add(self.missing)
    }
}

/// Decodes a packet down to its TCP segment, or says why it has none that can be used.
#[inline]
pub(super) fn read(link: i32, data: &[u8], wire: u32) -> Result<Segment<'_>, Loss> {
    let wire = (wire as usize).max(data.len());
    segment(ip::read(link::strip(link, Frame { data, wire })?)?)
}

/// Decodes a TCP segment.
#[inline]
pub(super) fn segment(carried: ip::Carried<'_>) -> Result<Segment<'_>, Loss> {
    let ip::Carried { source, destination, tcp } = carried;
    let Some(fixed) = tcp.data.first_chunk::<20>() else { return Err(tcp.too_short()) };
    let header = usize::from(fixed[12] >> 4) * 4;
    if header < fixed.len() || header > tcp.wire {
        return Err(Loss::MalformedPacket);
    }
    let payload = tcp.data.get(header..).unwrap_or_default();
    Ok(Segment {
        source: Endpoint { address: source, port: u16::from_be_bytes([fixed[0], fixed[1]]) },
        destination: Endpoint { address: destination, port: u16::from_be_bytes([fixed[2], fixed[3]]) },
        seq: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        ack: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
        flags: fixed[13],
        payload,
        missing: (tcp.wire - header - payload.len()) as u32,
    })
}
