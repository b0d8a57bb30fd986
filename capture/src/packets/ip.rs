//! IPv4 and IPv6 headers, down to what they carry.

use super::{
    link::Frame,
    tunnel::{self, Innermost},
};
use crate::trace::Loss;

/// Protocol number of TCP.
pub(super) const TCP: u8 = 6;

/// A packet's addresses and what it carries. IPv4 addresses are in their IPv6-mapped form.
pub(super) struct Carried<'a> {
    pub source: u128,
    pub destination: u128,
    /// The TCP header and payload, without link-layer padding.
    pub tcp: Frame<'a>,
}

/// An IP packet, whatever it carries. IPv4 addresses are in their IPv6-mapped form.
pub(super) struct Packet<'a> {
    pub source: u128,
    pub destination: u128,
    /// What it carries, as IP numbers protocols.
    pub protocol: u8,
    /// Which part of a packet this is, when it is not a whole one.
    pub part: Option<Part>,
    /// What it carries, without link-layer padding.
    pub payload: Frame<'a>,
}

/// Which part of a packet a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The number of the packet.
    pub id: u32,
    /// Where in the packet's payload it begins, bytes.
    pub offset: usize,
    /// False for the last.
    pub more: bool,
}

/// Reads the IP header at the start of `frame`, and those of tunnels behind it.
#[inline]
pub(super) fn read(frame: Frame<'_>) -> Result<Carried<'_>, Loss> {
    let packet = open(frame)?;
    if packet.protocol == TCP && packet.part.is_none() {
        let Packet { source, destination, payload: tcp, .. } = packet;
        return Ok(Carried { source, destination, tcp });
    }
    match tunnel::follow(packet)? {
        Innermost::Tcp(carried) => Ok(carried),
        Innermost::Fragment(_) => Err(Loss::IpFragment),
    }
}

/// Reads the IP header at the start of `frame`.
#[inline]
pub(super) fn open(frame: Frame<'_>) -> Result<Packet<'_>, Loss> {
    match frame.data.first().map(|first| first >> 4) {
        Some(4) => v4(frame),
        Some(6) => v6(frame),
        Some(_) => Err(Loss::MalformedPacket),
        None => Err(frame.too_short()),
    }
}

#[inline]
fn v4(frame: Frame<'_>) -> Result<Packet<'_>, Loss> {
    let Some(fixed) = frame.data.first_chunk::<20>() else { return Err(frame.too_short()) };
    let header = usize::from(fixed[0] & 15) * 4;
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff;
    let total = length(u16::from_be_bytes([fixed[2], fixed[3]]).into(), frame)?;
    if header < fixed.len() || total < header {
        return Err(Loss::MalformedPacket);
    }
    let part = (fragment != 0).then(|| Part {
        id: u16::from_be_bytes([fixed[4], fixed[5]]).into(),
        offset: usize::from(fragment & 0x1fff) * 8,
        more: fragment & 0x2000 != 0,
    });
    Ok(Packet {
        source: mapped([fixed[12], fixed[13], fixed[14], fixed[15]]),
        destination: mapped([fixed[16], fixed[17], fixed[18], fixed[19]]),
        protocol: fixed[9],
        part,
        payload: cut(frame, total).skip(header)?,
    })
}

#[inline]
fn v6(frame: Frame<'_>) -> Result<Packet<'_>, Loss> {
    let Some(fixed) = frame.data.first_chunk::<40>() else { return Err(frame.too_short()) };
    let [source, destination] =
        [8, 24].map(|at| fixed[at..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes)));
    let payload = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let total = length(if payload == 0 { 0 } else { payload + fixed.len() }, frame)?;
    let payload = cut(frame, total).skip(fixed.len())?;
    let (protocol, part, payload) = match fixed[6] {
        TCP => (TCP, None, payload),
        next => extensions(next, payload)?,
    };
    Ok(Packet { source, destination, protocol, part, payload })
}

/// Passes over the IPv6 extension headers that can stand before TCP, up to a fragment's.
#[cold]
pub(super) fn extensions(mut next: u8, mut frame: Frame<'_>) -> Result<(u8, Option<Part>, Frame<'_>), Loss> {
    loop {
        let Some(&[following, len]) = frame.data.first_chunk() else {
            return if is_extension(next) { Err(frame.too_short()) } else { Ok((next, None, frame)) };
        };
        match next {
            // hop-by-hop, routing, destination: in units of eight bytes, without the first
            0 | 43 | 60 => frame = frame.skip((usize::from(len) + 1) * 8)?,
            // authentication: in units of four bytes, without the first two
            51 => frame = frame.skip((usize::from(len) + 2) * 4)?,
            44 => {
                let (place, id) = (frame.u16(2)?, u32::from(frame.u16(4)?) << 16 | u32::from(frame.u16(6)?));
                frame = frame.skip(8)?;
                let part = Part { id, offset: usize::from(place & !7), more: place & 1 != 0 };
                // A packet may say that it is a fragment and be whole.
                if part.offset > 0 || part.more {
                    return Ok((following, Some(part), frame));
                }
            }
            _ => return Ok((next, None, frame)),
        }
        next = following;
    }
}

fn is_extension(next: u8) -> bool {
    matches!(next, 0 | 43 | 44 | 51 | 60)
}

/// The packet's length. A length of zero stands in packets that were captured before the network card cut them
/// into segments, and in jumbograms: the length is then that of the frame.
fn length(told: usize, frame: Frame<'_>) -> Result<usize, Loss> {
    match told {
        0 => Ok(frame.wire),
        _ if told <= frame.wire => Ok(told),
        _ => Err(Loss::MalformedPacket),
    }
}

/// The frame without the padding after the IP packet.
fn cut(frame: Frame<'_>, total: usize) -> Frame<'_> {
    Frame { data: frame.data.get(..total).unwrap_or(frame.data), wire: total }
}

fn mapped(address: [u8; 4]) -> u128 {
    0xffff_0000_0000 | u128::from(u32::from_be_bytes(address))
}
