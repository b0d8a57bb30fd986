//! Link-layer headers, by the link type of the capture (<https://www.tcpdump.org/linktypes.html>).
//!
//! Decoded by hand: it is a handful of bytes on the path of every packet, and no crate knows all of these.

use crate::trace::Loss;

/// BSD loopback: address family in the byte order of the machine that captured.
const NULL: i32 = 0;
/// Ethernet.
const ETHERNET: i32 = 1;
/// Raw IP, as libpcap reports it on Linux and on OpenBSD, and as files number it.
const RAW: [i32; 3] = [12, 14, 101];
/// OpenBSD loopback: address family in network byte order.
const LOOP: i32 = 108;
/// Linux cooked capture, version 1.
const LINUX_SLL: i32 = 113;
/// Raw IPv4, raw IPv6.
const RAW_V4_V6: [i32; 2] = [228, 229];
/// Linux cooked capture, version 2.
const LINUX_SLL2: i32 = 276;

/// VLAN tags: 802.1Q, 802.1ad (QinQ), and the two numbers used for QinQ before it.
const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

/// One link-layer frame as captured.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    /// The bytes that were captured.
    pub data: &'a [u8],
    /// How many bytes it had on the wire; more than `data` when the snap length cut it.
    pub wire: usize,
}

impl<'a> Frame<'a> {
    /// The frame without its first `n` bytes.
    pub fn skip(self, n: usize) -> Result<Frame<'a>, Loss> {
        match self.data.get(n..) {
            Some(data) => Ok(Frame { data, wire: self.wire.saturating_sub(n) }),
            None => Err(self.too_short()),
        }
    }

    /// The big-endian number at `at`.
    pub fn u16(self, at: usize) -> Result<u16, Loss> {
        match self.data.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(u16::from_be_bytes(*bytes)),
            None => Err(self.too_short()),
        }
    }

    /// Why a header does not fit: the capture cut the packet, or the packet itself is too short.
    pub fn too_short(self) -> Loss {
        if self.data.len() < self.wire { Loss::SnapLength } else { Loss::MalformedPacket }
    }
}

/// The link types above, in words.
pub(super) const KNOWN: &str = "Ethernet, Linux cooked (1 and 2), BSD loopback, raw IP";

/// True when packets of this link type can be decoded.
pub(super) fn is_known(link: i32) -> bool {
    matches!(link, NULL | ETHERNET | LOOP | LINUX_SLL | LINUX_SLL2) || RAW.contains(&link) || RAW_V4_V6.contains(&link)
}

/// Strips the link header; what remains begins with an IP header.
#[inline]
pub(super) fn strip(link: i32, frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    match link {
        ETHERNET => ethernet(frame),
        LINUX_SLL => ether_type(frame.u16(14)?, frame.skip(16)?),
        LINUX_SLL2 => ether_type(frame.u16(0)?, frame.skip(20)?),
        NULL | LOOP => family(frame),
        _ if RAW.contains(&link) || RAW_V4_V6.contains(&link) => Ok(frame),
        _ => Err(Loss::UnknownLink),
    }
}

/// Strips an Ethernet header.
#[inline]
pub(super) fn ethernet(frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    ether_type(frame.u16(12)?, frame.skip(14)?)
}

/// Follows VLAN tags, and the headers of MPLS and PPPoE, to IP. `frame` begins after the type field.
#[inline]
pub(super) fn ether_type(mut kind: u16, mut frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    loop {
        match kind {
            0x0800 | 0x86dd => return Ok(frame),
            _ if VLAN.contains(&kind) => (kind, frame) = (frame.u16(2)?, frame.skip(4)?),
            MPLS | MPLS_MULTICAST => return mpls(frame),
            PPPOE => (kind, frame) = (ppp(frame.u16(6)?), frame.skip(8)?),
            // Ethernet in Ethernet's numbers: what GRE and Geneve carry
            BRIDGED => (kind, frame) = (frame.u16(12)?, frame.skip(14)?),
            _ => return Err(Loss::OtherTraffic),
        }
    }
}

const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE: u16 = 0x8864;
const BRIDGED: u16 = 0x6558;

/// Passes over MPLS labels. They do not tell what they carry, but the first half byte of IP is its version, and that of a
/// control word before Ethernet is zero.
#[cold]
fn mpls(mut frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    loop {
        let last = frame.u16(2)? & 0x0100 != 0;
        frame = frame.skip(4)?;
        if last {
            break;
        }
    }
    match frame.data.first().map(|first| first >> 4) {
        Some(4 | 6) => Ok(frame),
        Some(0) => ethernet(frame.skip(4)?),
        Some(_) => Err(Loss::OtherTraffic),
        None => Err(frame.too_short()),
    }
}

/// What PPP carries, in Ethernet's numbers.
fn ppp(protocol: u16) -> u16 {
    match protocol {
        0x0021 => 0x0800,
        0x0057 => 0x86dd,
        other => other,
    }
}

/// The loopback header of the BSDs: four bytes of address family. In a NULL file they are in the byte order of the
/// machine that wrote it, which the file does not tell; a family is a small number, so its zeros do.
fn family(frame: Frame<'_>) -> Result<Frame<'_>, Loss> {
    let number = frame.data.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or(frame.too_short())?;
    let family = if number > 0xffff { number.swap_bytes() } else { number };
    match family {
        // AF_INET everywhere; AF_INET6 on Linux, NetBSD and OpenBSD, FreeBSD, macOS
        2 | 10 | 24 | 28 | 30 => frame.skip(4),
        _ => Err(Loss::OtherTraffic),
    }
}
