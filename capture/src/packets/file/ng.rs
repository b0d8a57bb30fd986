//! The pcapng format (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>): blocks, in sections.

use super::buffer::Buffer;
use super::record::{Order, Record};

/// Block types.
mod kind {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const NAMES: u32 = 4;
    pub const STATISTICS: u32 = 5;
    pub const ENHANCED_PACKET: u32 = 6;
    pub const SECRETS: u32 = 10;
}

/// The longest block that is read.
const MAX_BLOCK: u32 = 16 << 20;

/// Type and length before a block's body, and the length again after it.
const FRAME: usize = 12;

/// Secrets of this type are a key log of TLS.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// What is looked at when the place of the blocks was lost; twice this is more than any block.
const WINDOW: usize = MAX_BLOCK as usize + FRAME;

/// A pcapng file.
#[derive(Debug)]
pub(super) struct Ng {
    order: Order,
    /// Those of the section, in the order in which they are described.
    interfaces: Vec<Interface>,
    last_ns: i64,
}

/// What the file says of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    link: i32,
    snap: u32,
    unit: Unit,
    /// Seconds to add to every time.
    offset_s: i64,
    /// Packets that it dropped, as told last.
    dropped: u64,
}

/// How long one unit of a time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// So many nanoseconds.
    Nanoseconds(u64),
    /// So many make a nanosecond.
    PerNanosecond(u64),
    /// 2 to the power of this make a second.
    PowerOfTwo(u32),
}

impl Unit {
    /// From the option `if_tsresol`.
    fn of(resolution: u8) -> Unit {
        let power = u32::from(resolution & 0x7f);
        match resolution {
            0x80.. => Unit::PowerOfTwo(power),
            0..=9 => Unit::Nanoseconds(10_u64.pow(9 - power)),
            _ => Unit::PerNanosecond(10_u64.checked_pow(power - 9).unwrap_or(u64::MAX)),
        }
    }

    #[inline]
    fn ns(self, time: u64) -> i64 {
        let ns = match self {
            Unit::Nanoseconds(factor) => time.saturating_mul(factor),
            Unit::PerNanosecond(divisor) => time / divisor,
            Unit::PowerOfTwo(power) => {
                let ns = (u128::from(time) * 1_000_000_000).checked_shr(power).unwrap_or(0);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

impl Ng {
    /// Finds out whether the file is of this format. The first block is left to be read.
    pub fn open(input: &mut Buffer) -> Option<Self> {
        let start: [u8; FRAME] = input.header()?;
        let order = section_order(&start)?;
        Some(Ng { order, interfaces: Vec::new(), last_ns: 0 })
    }

    /// The next block.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a mut Buffer) -> Record<'a> {
        let Some(head) = input.header::<FRAME>() else {
            return if input.peek(1).is_empty() { Record::End } else { Record::Cut };
        };
        let mut order = self.order;
        let kind = order.u32(&head, 0);
        if kind == kind::SECTION {
            match section_order(&head) {
                Some(told) => order = told,
                None => return Record::Broken("a section without a byte order"),
            }
        }
        let len = order.u32(&head, 4);
        if !len.is_multiple_of(4) || len < FRAME as u32 {
            return Record::Broken("a block's length is none");
        }
        if len > MAX_BLOCK {
            return Record::Broken("a block is longer than 16 MiB");
        }
        let len = len as usize;
        if input.peek(len).get(len - 4..len).is_some_and(|end| order.u32(end, 0) as usize != len) {
            return Record::Broken("a block's two lengths differ");
        }
        let Some(body) = input.take(len).and_then(|block| block.get(8..len - 4)) else { return Record::Cut };
        match kind {
            kind::ENHANCED_PACKET => self.packet(body, order.u32(body, 0)),
            // The number of the interface was shorter, and the rest of it a number of dropped packets.
            kind::PACKET => self.packet(body, order.u16(body, 0).into()),
            kind::SIMPLE_PACKET => self.simple_packet(body),
            kind::SECTION => {
                self.order = order;
                self.interfaces.clear();
                if order.u16(body, 4) == 1 { Record::Other } else { Record::Broken("a section of an unknown version") }
            }
            kind::INTERFACE => {
                self.interfaces.push(interface(order, body));
                Record::Other
            }
            kind::STATISTICS => self.statistics(body),
            kind::SECRETS if order.u32(body, 0) == TLS_KEY_LOG => {
                let secrets = body.get(8..).unwrap_or_default();
                Record::Secrets(secrets.get(..order.u32(body, 4) as usize).unwrap_or(secrets))
            }
            _ => Record::Other,
        }
    }

    #[inline]
    fn packet<'a>(&mut self, body: &'a [u8], interface: u32) -> Record<'a> {
        let order = self.order;
        let (high, low) = (order.u32(body, 4), order.u32(body, 8));
        let (captured, wire) = (order.u32(body, 12) as usize, order.u32(body, 16));
        let Some(data) = body.get(20..).and_then(|data| data.get(..captured)) else {
            return Record::Broken("a packet is longer than its block");
        };
        let time = u64::from(high) << 32 | u64::from(low);
        let (link, at_ns) = match self.interfaces.get(interface as usize) {
            Some(interface) => {
                let offset_ns = interface.offset_s.saturating_mul(1_000_000_000);
                (interface.link, interface.unit.ns(time).saturating_add(offset_ns))
            }
            // Its link type and its time are not known.
            None => (-1, self.last_ns),
        };
        self.last_ns = at_ns;
        Record::Packet { link, at_ns, data, wire }
    }

    /// A packet of the first interface, and without a time: it is given that of the packet before.
    fn simple_packet<'a>(&mut self, body: &'a [u8]) -> Record<'a> {
        let wire = self.order.u32(body, 0);
        let Some(interface) = self.interfaces.first() else {
            return Record::Packet { link: -1, at_ns: self.last_ns, data: body, wire };
        };
        let limit = if interface.snap == 0 { wire } else { wire.min(interface.snap) };
        let data = body.get(4..).unwrap_or_default();
        match data.get(..limit as usize) {
            Some(data) => Record::Packet { link: interface.link, at_ns: self.last_ns, data, wire },
            None => Record::Broken("a packet is longer than its block"),
        }
    }

    fn statistics(&mut self, body: &[u8]) -> Record<'static> {
        let number = self.order.u32(body, 0) as usize;
        let Some(interface) = self.interfaces.get_mut(number) else { return Record::Other };
        let (mut by_interface, mut by_system) = (0, 0);
        for (code, value) in options(self.order, body.get(12..).unwrap_or_default()) {
            match code {
                5 if value.len() == 8 => by_interface = self.order.u64(value, 0),
                7 if value.len() == 8 => by_system = self.order.u64(value, 0),
                _ => {}
            }
        }
        let dropped: u64 = by_interface.saturating_add(by_system);
        let more = dropped.saturating_sub(interface.dropped);
        interface.dropped = dropped.max(interface.dropped);
        Record::Dropped(more)
    }

    /// Passes over bytes that are no block, up to the next that is: of a known type, and with its length at both ends.
    pub fn resume(&self, input: &mut Buffer) {
        input.take(4);
        loop {
            let window = input.peek(2 * WINDOW);
            let (len, ended) = (window.len(), window.len() < 2 * WINDOW);
            let found = (0..len).step_by(4).find(|&at| self.begins(window.get(at..).unwrap_or_default()));
            let passed = found.unwrap_or(if ended { len } else { WINDOW });
            input.take(passed);
            if found.is_some() || ended {
                return;
            }
        }
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        let mut order = self.order;
        let known = match order.u32(bytes, 0) {
            kind::SECTION => section_order(bytes).map(|told| order = told).is_some(),
            kind => matches!(kind, kind::INTERFACE..=kind::ENHANCED_PACKET | kind::SECRETS) && kind != kind::NAMES,
        };
        let len = order.u32(bytes, 4) as usize;
        let sound = known && len.is_multiple_of(4) && (FRAME + 4..=MAX_BLOCK as usize).contains(&len);
        sound && bytes.get(len - 4..len).is_some_and(|end| order.u32(end, 0) as usize == len)
    }
}

/// The byte order that the beginning of a section tells.
fn section_order(block: &[u8]) -> Option<Order> {
    match (block.first_chunk::<4>()?, block.get(8..12)?) {
        ([0x0a, 0x0d, 0x0d, 0x0a], [0x1a, 0x2b, 0x3c, 0x4d]) => Some(Order { big: true }),
        ([0x0a, 0x0d, 0x0d, 0x0a], [0x4d, 0x3c, 0x2b, 0x1a]) => Some(Order { big: false }),
        _ => None,
    }
}

fn interface(order: Order, body: &[u8]) -> Interface {
    let link = order.u16(body, 0).into();
    let mut interface = Interface { link, snap: order.u32(body, 4), unit: Unit::of(6), offset_s: 0, dropped: 0 };
    for (code, value) in options(order, body.get(8..).unwrap_or_default()) {
        match (code, value) {
            (9, &[resolution]) => interface.unit = Unit::of(resolution),
            (14, value) if value.len() == 8 => interface.offset_s = order.u64(value, 0).cast_signed(),
            _ => {}
        }
    }
    interface
}

/// The options of a block, up to their end.
fn options(order: Order, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (code, len) = (order.u16(bytes, 0), usize::from(order.u16(bytes, 2)));
        let value = bytes.get(4..)?.get(..len)?;
        bytes = bytes.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resolution_of_time() {
        assert_eq!(Unit::of(6).ns(1_700_000_000_123_456), 1_700_000_000_123_456_000);
        assert_eq!(Unit::of(0).ns(1_700_000_000), 1_700_000_000_000_000_000);
        assert_eq!(Unit::of(9).ns(7), 7);
        assert_eq!(Unit::of(12).ns(1_500_000), 1500);
        // 2^-20 s: half a second is 2^19
        assert_eq!(Unit::of(0x80 | 20).ns(1 << 19), 500_000_000);
        assert_eq!(Unit::of(0x80).ns(3), 3_000_000_000);
        assert_eq!(Unit::of(0xff).ns(u64::MAX), 0);
        assert_eq!(Unit::of(0x7f).ns(u64::MAX), 1);
        assert_eq!(Unit::of(0).ns(u64::MAX), i64::MAX);
    }

    #[test]
    fn options_end_where_they_say_or_where_the_block_does() {
        let order = Order { big: true };
        let bytes = [0, 9, 0, 1, 6, 0, 0, 0, 0, 1, 0, 2, b'h', b'i', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
        let all: Vec<_> = options(order, &bytes).collect();
        assert_eq!(all, [(9, &[6][..]), (1, b"hi")]);
        assert_eq!(options(order, &bytes[..14]).count(), 2);
        assert_eq!(options(order, &bytes[..13]).count(), 1);
        assert_eq!(options(order, &[]).count(), 0);
    }
}
