//! The pcap format (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-06.html>): one header, then records.

use super::buffer::Buffer;
use super::record::{MAX_PACKET, Order, Record};

/// Length of the file header.
const HEADER: usize = 24;

/// A record's header in Kuznetzov's Linux format: with interface, protocol and direction.
const KUZNETZOV: usize = 24;

/// How far the times of two records after each other may be apart where the place of the records was lost, seconds.
const NEAR: i64 = 3600;

/// What is looked at when the place of the records was lost.
const WINDOW: usize = 1 << 20;

/// A pcap file, behind its header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Classic {
    order: Order,
    /// Nanoseconds of one unit of a record's fraction of a second: 1000 or 1.
    unit_ns: u32,
    /// Length of a record's header.
    header: usize,
    /// How a record tells its two lengths, which changed between versions of the format.
    lengths: Lengths,
    /// The link type, as files number it.
    pub link: i32,
    /// Second of the last record.
    second: Option<i64>,
}

/// The order in which a record tells its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// As captured, then on the wire.
    Captured,
    /// The other way round, as before version 2.3.
    Wire,
    /// Either, as in version 2.3: the shorter is what was captured.
    Either,
}

/// A record's header.
struct Head {
    second: i64,
    fraction: u32,
    captured: u32,
    wire: u32,
}

impl Classic {
    /// Reads the file header; `None` where the file is not of this format, or ends within it.
    pub fn open(input: &mut Buffer) -> Option<Self> {
        let start: [u8; HEADER] = input.header()?;
        let (order, unit_ns, header) = match start.first_chunk()? {
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order { big: true }, 1000, 16),
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order { big: false }, 1000, 16),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order { big: true }, 1, 16),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order { big: false }, 1, 16),
            [0xa1, 0xb2, 0xcd, 0x34] => (Order { big: true }, 1000, KUZNETZOV),
            [0x34, 0xcd, 0xb2, 0xa1] => (Order { big: false }, 1000, KUZNETZOV),
            _ => return None,
        };
        let lengths = match (order.u16(&start, 4), order.u16(&start, 6)) {
            (2, 3) => Lengths::Either,
            (2, 0..3) | (0..2, _) => Lengths::Wire,
            _ => Lengths::Captured,
        };
        // The upper bits tell whether frames end with a checksum, which the length in the IP header cuts off.
        let link = (order.u32(&start, 20) & 0x03ff_ffff).cast_signed();
        input.take(HEADER);
        Some(Classic { order, unit_ns, header, lengths, link, second: None })
    }

    fn head(&self, bytes: &[u8]) -> Head {
        let (first, second) = (self.order.u32(bytes, 8), self.order.u32(bytes, 12));
        let (captured, wire) = match self.lengths {
            Lengths::Captured => (first, second),
            Lengths::Wire => (second, first),
            Lengths::Either => (first.min(second), first.max(second)),
        };
        // Seconds beyond the year 2038 are taken as they are: they have no sign.
        Head { second: self.order.u32(bytes, 0).into(), fraction: self.order.u32(bytes, 4), captured, wire }
    }

    /// The next record.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a mut Buffer) -> Record<'a> {
        let Some(bytes) = input.header::<16>() else {
            return if input.peek(1).is_empty() { Record::End } else { Record::Cut };
        };
        let Head { second, fraction, captured, wire } = self.head(&bytes);
        if captured > MAX_PACKET {
            return Record::Broken("the record is longer than any packet");
        }
        let Some(record) = input.take(self.header + captured as usize) else { return Record::Cut };
        self.second = Some(second);
        let at_ns = second * 1_000_000_000 + i64::from(fraction) * i64::from(self.unit_ns);
        Record::Packet { link: self.link, at_ns, data: record.get(self.header..).unwrap_or_default(), wire }
    }

    /// Passes over bytes that are no record, up to the next that is: it and the one after it must be sound and of about
    /// the same time as what was read before.
    pub fn resume(&self, input: &mut Buffer) {
        input.take(1);
        loop {
            let window = input.peek(WINDOW);
            let (len, ended) = (window.len(), window.len() < WINDOW);
            let found = (0..len).find(|&at| self.begins(window.get(at..).unwrap_or_default(), ended));
            // What is near the end of the window is looked at again together with what follows.
            let passed = found.unwrap_or(if ended { len } else { WINDOW / 2 });
            input.take(passed);
            if found.is_some() || ended {
                return;
            }
        }
    }

    /// True when a sound record stands at the start of `bytes`, and another after it, or the end of the file.
    fn begins(&self, bytes: &[u8], ended: bool) -> bool {
        let Some(first) = self.sound(bytes, self.second) else { return false };
        let after = bytes.get(self.header + first.captured as usize..);
        match after {
            Some([]) => ended,
            Some(after) => self.sound(after, Some(first.second)).is_some(),
            None => false,
        }
    }

    fn sound(&self, bytes: &[u8], near: Option<i64>) -> Option<Head> {
        let head = self.head(bytes.first_chunk::<16>()?);
        let sound = (1..=MAX_PACKET).contains(&head.captured)
            && head.captured <= head.wire
            && head.wire <= MAX_PACKET
            && head.fraction < 1_000_000_000 / self.unit_ns
            && near.is_none_or(|near| head.second.abs_diff(near) <= NEAR.unsigned_abs());
        sound.then_some(head)
    }
}
