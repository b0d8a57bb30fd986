//! One direction of a TCP connection: segments as they arrive, in any order, to bytes in order.
//!
//! Sequence numbers are compared by their distance, so they may wrap. The first arrival of a byte wins over a later
//! one with other contents, as it does in the receiving kernel for data that it has already taken.
//!
//! A *hole* is a range that is missing while later data waits. It becomes a *gap*, told to the receiver, when the
//! peer acknowledges it (the peer has it; the capture never will), when too much data waits behind it, when it is
//! too old, or when the connection ends. A late arrival of bytes inside a declared gap is dropped like a
//! retransmission.

use std::collections::VecDeque;

/// Where a stream's bytes go.
pub trait Receiver {
    /// The next bytes, with the time at which they arrived. Data that had to wait for a hole to be filled is not
    /// older than the data that filled it, because no one could have read it earlier.
    fn bytes(&mut self, at_ns: i64, bytes: &[u8]);

    /// `missing` bytes of the stream were not captured.
    fn gap(&mut self, at_ns: i64, missing: u64);
}

/// What a stream met so far. Every byte of its segments is there once: `delivered`, `cut`, `repeated`, or still waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes handed over.
    pub delivered: u64,
    /// Bytes that the snap length cut off, which are in gaps.
    pub cut: u64,
    /// Bytes that had arrived before, or that arrived too late.
    pub repeated: u64,
    /// Segments that arrived before an earlier one.
    pub early: u64,
    /// Gaps.
    pub gaps: u64,
    /// Bytes in gaps: those that were cut off, and those that were in no segment.
    pub gap_bytes: u64,
}

impl Counts {
    /// Adds those of another stream.
    pub fn merge(&mut self, other: Counts) {
        self.delivered += other.delivered;
        self.cut += other.cut;
        self.repeated += other.repeated;
        self.early += other.early;
        self.gaps += other.gaps;
        self.gap_bytes += other.gap_bytes;
    }
}

/// Data that waits for a hole before it to be filled.
struct Waiting {
    seq: u32,
    at_ns: i64,
    data: Box<[u8]>,
    /// Bytes after `data` that the snap length cut off.
    missing: u32,
}

impl Waiting {
    fn len(&self) -> u32 {
        self.data.len() as u32 + self.missing
    }

    /// Bytes of memory; with its own size, so that a flood of tiny segments is bounded too.
    fn cost(&self) -> usize {
        self.data.len() + size_of::<Waiting>()
    }
}

/// The reassembly of one direction.
#[derive(Default)]
pub struct Stream {
    /// Sequence number of the first byte, where the SYN was seen.
    began: Option<u32>,
    /// Sequence number of the next byte to hand over; `None` before the first segment.
    next: Option<u32>,
    /// How far the peer has acknowledged.
    acked: Option<u32>,
    /// Sequence number of the FIN.
    fin: Option<u32>,
    /// In order, disjoint, all after `next`.
    waiting: VecDeque<Waiting>,
    /// Memory that `waiting` takes, bytes.
    buffered: usize,
    /// Arrival of what was handed over last.
    last_ns: i64,
    counts: Counts,
}

/// How far `a` is ahead of `b`; negative when behind.
fn ahead(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

impl Stream {
    /// Sets the sequence number of the first byte: one after the SYN.
    pub fn start(&mut self, seq: u32) {
        self.began = Some(seq);
        self.next = Some(seq);
    }

    /// Sequence number of the first byte, where the SYN was seen.
    pub fn began(&self) -> Option<u32> {
        self.began
    }

    /// Sequence number of the next byte to hand over; `None` before the stream began.
    pub fn next(&self) -> Option<u32> {
        self.next
    }

    /// What the stream met so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Memory taken by data that waits behind a hole, bytes.
    pub fn buffered(&self) -> usize {
        self.buffered
    }

    /// True when all up to the FIN was handed over.
    pub fn finished(&self) -> bool {
        self.fin.is_some() && self.fin == self.next
    }

    /// Takes the payload of one segment. `missing` bytes after `payload` were cut off by the snap length.
    #[inline]
    pub fn segment(&mut self, at_ns: i64, seq: u32, payload: &[u8], missing: u32, to: &mut impl Receiver) {
        if payload.is_empty() && missing == 0 {
            return;
        }
        let next = *self.next.get_or_insert(seq);
        if seq == next && self.waiting.is_empty() {
            self.deliver(at_ns, next, payload, missing, to);
        } else {
            self.out_of_order(at_ns, seq, next, payload, missing, to);
        }
    }

    /// Notes the FIN, which stands at `seq`: after the payload of its segment.
    pub fn fin(&mut self, at_ns: i64, seq: u32, to: &mut impl Receiver) {
        let next = *self.next.get_or_insert(seq);
        if self.fin.is_none() && ahead(seq, next) >= 0 {
            self.fin = Some(seq);
            self.give_up_acknowledged(at_ns, to);
        }
    }

    /// Notes that the peer has everything before `ack`.
    #[inline]
    pub fn acknowledged(&mut self, at_ns: i64, ack: u32, to: &mut impl Receiver) {
        if self.acked.is_none_or(|acked| ahead(ack, acked) > 0) {
            self.acked = Some(ack);
            if !self.waiting.is_empty() || self.fin.is_some() {
                self.give_up_acknowledged(at_ns, to);
            }
        }
    }

    /// Gives up the oldest holes until what waits is within the bounds. `oldest_ns`: the earliest arrival that may
    /// still be waiting.
    pub fn bound(&mut self, at_ns: i64, bytes: usize, oldest_ns: i64, to: &mut impl Receiver) {
        while self.buffered > bytes || self.waiting.iter().any(|waiting| waiting.at_ns < oldest_ns) {
            let Some(first) = self.waiting.front() else { return };
            self.give_up(at_ns, first.seq, to);
        }
    }

    /// Hands over all that waits: nothing more will come.
    pub fn flush(&mut self, at_ns: i64, to: &mut impl Receiver) {
        while let Some(first) = self.waiting.front() {
            self.give_up(at_ns, first.seq, to);
        }
        if let Some(fin) = self.fin {
            self.give_up(at_ns, fin, to);
        }
    }

    fn deliver(&mut self, at_ns: i64, seq: u32, payload: &[u8], missing: u32, to: &mut impl Receiver) {
        self.last_ns = at_ns;
        self.next = Some(seq.wrapping_add(payload.len() as u32).wrapping_add(missing));
        self.counts.delivered += payload.len() as u64;
        self.counts.cut += u64::from(missing);
        if !payload.is_empty() {
            to.bytes(at_ns, payload);
        }
        if missing > 0 {
            self.gap(at_ns, missing, to);
        }
    }

    fn gap(&mut self, at_ns: i64, missing: u32, to: &mut impl Receiver) {
        self.counts.gaps += 1;
        self.counts.gap_bytes += u64::from(missing);
        to.gap(at_ns, missing.into());
    }

    #[cold]
    fn out_of_order(&mut self, at_ns: i64, seq: u32, next: u32, payload: &[u8], missing: u32, to: &mut impl Receiver) {
        let len = (payload.len() as u32).saturating_add(missing);
        // A keep-alive or a probe of a closed window repeats the last byte, and its content may be garbage.
        let probe = len == 1 && seq != next && self.acked == Some(seq.wrapping_add(1));
        // Half of all numbers away is behind as much as ahead. What is not clearly ahead is taken for a repetition: nobody has such
        // a window, and it would wait forever.
        let end = u64::from(seq.wrapping_sub(next)) + u64::from(len);
        let is_ahead = ahead(seq, next) >= 0 && end < 1 << 31;
        let behind = if is_ahead { 0 } else { next.wrapping_sub(seq) };
        if probe || behind >= len {
            self.counts.repeated += u64::from(len);
            return;
        }
        self.counts.repeated += u64::from(behind);
        if is_ahead && seq != next {
            self.counts.early += 1;
        }
        self.keep(at_ns, seq, behind, payload, missing);
        self.drain(to);
        self.give_up_acknowledged(at_ns, to);
    }

    /// Stores what of a segment, from its byte `start`, is not already waiting.
    fn keep(&mut self, at_ns: i64, seq: u32, mut start: u32, payload: &[u8], missing: u32) {
        let len = (payload.len() as u32).saturating_add(missing);
        // the first that ends after the segment's first byte
        let mut i = self.waiting.partition_point(|w| ahead(w.seq.wrapping_add(w.len()), seq) <= 0);
        while start < len {
            let (from, to) = match self.waiting.get(i) {
                Some(w) => {
                    let from = i64::from(ahead(w.seq, seq));
                    (from.clamp(0, len.into()) as u32, (from + i64::from(w.len())).clamp(0, len.into()) as u32)
                }
                None => (len, len),
            };
            if from > start {
                let data: Box<[u8]> = (payload.get(start as usize..).unwrap_or_default().iter())
                    .take((from - start) as usize)
                    .copied()
                    .collect();
                let missing = from - start - data.len() as u32;
                let piece = Waiting { seq: seq.wrapping_add(start), at_ns, data, missing };
                self.buffered += piece.cost();
                self.waiting.insert(i, piece);
                i += 1;
            }
            self.counts.repeated += u64::from(to.max(start) - from.max(start));
            start = to.max(start);
            i += 1;
        }
    }

    /// Hands over what waits and is next.
    fn drain(&mut self, to: &mut impl Receiver) {
        while let Some(first) = self.waiting.pop_front_if(|first| Some(first.seq) == self.next) {
            self.buffered -= first.cost();
            self.deliver(first.at_ns.max(self.last_ns), first.seq, &first.data, first.missing, to);
        }
    }

    /// Declares all up to `seq` a gap.
    fn give_up(&mut self, at_ns: i64, seq: u32, to: &mut impl Receiver) {
        let missing = self.next.map_or(0, |next| ahead(seq, next));
        if missing > 0 {
            self.next = Some(seq);
            self.gap(at_ns.max(self.last_ns), missing.unsigned_abs(), to);
        }
        self.drain(to);
    }

    fn give_up_acknowledged(&mut self, at_ns: i64, to: &mut impl Receiver) {
        let Some(acked) = self.acked else { return };
        while let Some(first) = self.waiting.front() {
            if ahead(acked, first.seq) < 0 {
                return;
            }
            self.give_up(at_ns, first.seq, to);
        }
        // the FIN has a number of its own, so it is acknowledged by one more
        if let Some(fin) = self.fin.filter(|&fin| ahead(acked, fin) > 0) {
            self.give_up(at_ns, fin, to);
        }
    }
}

#[cfg(test)]
mod tests;
