//! IPv4 and IPv6 headers, down to the TCP header.

use etherparse::{IpNumber, Ipv6ExtensionsSlice};

use super::link::Frame;
use crate::trace::Loss;

const TCP: u8 = 6;

/// An IPv6 extension header that can stand before TCP: hop-by-hop, routing, fragment, authentication, destination.
const EXTENSIONS: [u8; 5] = [0, 43, 44, 51, 60];

/// A packet's addresses and what it carries. IPv4 addresses are in their IPv6-mapped form.
pub(super) struct Carried<'a> {
    pub source: u128,
    pub destination: u128,
    /// The TCP header and payload, without link-layer padding.
    pub tcp: Frame<'a>,
}

/// Reads the IP header at the start of `frame`.
#[inline]
pub(super) fn read(frame: Frame<'_>) -> Result<Carried<'_>, Loss> {
    match frame.data.first().map(|first| first >> 4) {
        Some(4) => v4(frame),
        Some(6) => v6(frame),
        Some(_) => Err(Loss::MalformedPacket),
        None => Err(frame.too_short()),
    }
}

#[inline]
fn v4(frame: Frame<'_>) -> Result<Carried<'_>, Loss> {
    let Some(fixed) = frame.data.first_chunk::<20>() else { return Err(frame.too_short()) };
    let header = usize::from(fixed[0] & 15) * 4;
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff;
    if fixed[9] != TCP {
        return Err(Loss::OtherTraffic);
    }
    if fragment != 0 {
        return Err(Loss::IpFragment);
    }
    let total = length(u16::from_be_bytes([fixed[2], fixed[3]]).into(), frame)?;
    if header < fixed.len() || total < header {
        return Err(Loss::MalformedPacket);
    }
    Ok(Carried {
        source: mapped([fixed[12], fixed[13], fixed[14], fixed[15]]),
        destination: mapped([fixed[16], fixed[17], fixed[18], fixed[19]]),
        tcp: cut(frame, total).skip(header)?,
    })
}

#[inline]
fn v6(frame: Frame<'_>) -> Result<Carried<'_>, Loss> {
    let Some(fixed) = frame.data.first_chunk::<40>() else { return Err(frame.too_short()) };
    let [first, second] = [8, 24].map(|at| fixed[at..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes)));
    let payload = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let total = length(if payload == 0 { 0 } else { payload + fixed.len() }, frame)?;
    let mut tcp = cut(frame, total).skip(fixed.len())?;
    match fixed[6] {
        TCP => {}
        next if EXTENSIONS.contains(&next) => tcp = extensions(next, tcp)?,
        _ => return Err(Loss::OtherTraffic),
    }
    Ok(Carried { source: first, destination: second, tcp })
}

/// Passes over the IPv6 extension headers.
#[cold]
fn extensions(next: u8, frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    let (headers, protocol, _) = Ipv6ExtensionsSlice::from_slice(IpNumber(next), frame.data).map_err(|error| {
        use etherparse::err::ipv6_exts::HeaderSliceError;
        match error {
            HeaderSliceError::Len(_) => frame.too_short(),
            HeaderSliceError::Content(_) => Loss::MalformedPacket,
        }
    })?;
    match protocol {
        IpNumber::TCP if headers.is_fragmenting_payload() => Err(Loss::IpFragment),
        IpNumber::TCP => frame.skip(headers.slice().len()),
        _ => Err(Loss::OtherTraffic),
    }
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
