//! Packets in packets: what mirrors of networks and clouds send, and tunnels.
//!
//! VXLAN (AWS, Azure), Geneve, GRE with Ethernet or IP, ERSPAN (switches; types I to III), and IP in IP. The addresses of a
//! connection are the innermost ones.

use super::{
    fragments::Whole,
    ip::{self, Carried, Packet, Part},
    link::{self, Frame},
};
use crate::trace::Loss;

/// How many tunnels may be in each other.
const DEPTH: usize = 8;

/// Protocol numbers.
mod protocol {
    pub const IPV4: u8 = 4;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const GRE: u8 = 47;
}

/// UDP ports: VXLAN as registered, and as Linux had it before.
pub(super) const VXLAN: [u16; 2] = [4789, 8472];
pub(super) const GENEVE: u16 = 6081;

/// What ERSPAN calls itself in GRE.
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;

/// What is inside of all tunnels.
pub(super) enum Innermost<'a> {
    Tcp(Carried<'a>),
    Fragment(Piece<'a>),
}

/// A fragment that may belong to a TCP segment, or to a tunnelled packet.
pub(super) struct Piece<'a> {
    pub source: u128,
    pub destination: u128,
    pub protocol: u8,
    pub part: Part,
    pub payload: Frame<'a>,
}

/// Follows tunnels to the innermost packet.
#[cold]
pub(super) fn follow(mut packet: Packet<'_>) -> Result<Innermost<'_>, Loss> {
    for _ in 0..DEPTH {
        let Packet { source, destination, protocol, part, payload } = packet;
        if !matches!(protocol, ip::TCP | protocol::UDP | protocol::GRE | protocol::IPV4 | protocol::IPV6) {
            return Err(Loss::OtherTraffic);
        }
        if let Some(part) = part {
            return Ok(Innermost::Fragment(Piece { source, destination, protocol, part, payload }));
        }
        packet = ip::open(match protocol {
            ip::TCP => return Ok(Innermost::Tcp(Carried { source, destination, tcp: payload })),
            protocol::UDP => udp(payload)?,
            protocol::GRE => gre(payload)?,
            _ => payload,
        })?;
    }
    Err(Loss::OtherTraffic)
}

/// The fragment in a frame, in which [`tcp::read`](super::tcp::read) found one.
pub(super) fn fragment(link: i32, data: &[u8], wire: u32) -> Result<Piece<'_>, Loss> {
    let wire = (wire as usize).max(data.len());
    match follow(ip::open(link::strip(link, Frame { data, wire })?)?)? {
        // What the snap length cut off is not going to come.
        Innermost::Fragment(piece) if piece.payload.data.len() < piece.payload.wire => Err(Loss::SnapLength),
        Innermost::Fragment(piece) => Ok(piece),
        Innermost::Tcp(_) => Err(Loss::IpFragment),
    }
}

/// The TCP segment in a packet that was put together. Fragments of a packet in fragments are not.
pub(super) fn whole(whole: &Whole) -> Result<Carried<'_>, Loss> {
    let frame = Frame { data: &whole.payload, wire: whole.payload.len() };
    let (protocol, part, payload) = ip::extensions(whole.protocol, frame)?;
    let (source, destination) = (whole.source, whole.destination);
    match follow(Packet { source, destination, protocol, part, payload })? {
        Innermost::Tcp(carried) => Ok(carried),
        Innermost::Fragment(_) => Err(Loss::IpFragment),
    }
}

/// What a tunnel over UDP carries; its IP header begins the result.
fn udp(frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    let port = frame.u16(2)?;
    if VXLAN.contains(&port) {
        let frame = frame.skip(8)?;
        // the flag that says that there is a network's number
        return if frame.u16(0)? & 0x0800 != 0 { link::ethernet(frame.skip(8)?) } else { Err(Loss::OtherTraffic) };
    }
    if port == GENEVE {
        let frame = frame.skip(8)?;
        let first = frame.u16(0)?;
        if first >> 14 != 0 {
            return Err(Loss::OtherTraffic);
        }
        let options = usize::from(first >> 8 & 0x3f) * 4;
        return link::ether_type(frame.u16(2)?, frame.skip(8 + options)?);
    }
    Err(Loss::OtherTraffic)
}

/// What GRE carries; its IP header begins the result.
fn gre(frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    let (flags, kind) = (frame.u16(0)?, frame.u16(2)?);
    // version 0, without source routing
    if flags & 0x4007 != 0 {
        return Err(Loss::OtherTraffic);
    }
    let sequence = flags & 0x1000 != 0;
    // checksum, key, sequence number
    let optional = [0x8000, 0x2000, 0x1000].into_iter().filter(|flag| flags & flag != 0).count() * 4;
    let frame = frame.skip(4 + optional)?;
    match kind {
        // type II has a header of its own, type I has not, and no sequence numbers either
        ERSPAN if sequence => link::ethernet(frame.skip(8)?),
        ERSPAN => link::ethernet(frame),
        ERSPAN_3 => {
            let more = frame.u16(10)? & 1 != 0;
            link::ethernet(frame.skip(if more { 20 } else { 12 })?)
        }
        kind => link::ether_type(kind, frame),
    }
}
