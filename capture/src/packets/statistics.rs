//! The figures of the closing summary.

use super::stream::Counts;

/// What a capture read. Together with [`Losses`](crate::trace::Losses) every packet is accounted for:
/// `packets` = `used` + the losses that are counted in packets, except those that the kernel dropped, which were
/// never read. So is every byte of payload: `payload_bytes` = `streams.delivered` + `streams.cut` + `streams.repeated` +
/// `after_close_bytes` once all connections have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets read.
    pub packets: u64,
    /// Bytes of them, as captured.
    pub bytes: u64,
    /// Packets of the connections asked for, decoded whole.
    pub used: u64,
    /// Connections that carried data.
    pub sessions: u64,
    /// Of these, connections that began before the capture.
    pub midway: u64,
    /// Connections given up because nothing was heard of them for too long, or because too many were open.
    pub abandoned: u64,
    /// Payload bytes of the connections asked for, as they were on the wire: those that the snap length cut off, too.
    pub payload_bytes: u64,
    /// Of these, bytes after the end of their connection or direction, and those of resets.
    pub after_close_bytes: u64,
    /// What reassembly met.
    pub streams: Counts,
    /// Time of the earliest packet, nanoseconds since 1970 UTC.
    pub first_ns: Option<i64>,
    /// Time of the latest packet, nanoseconds since 1970 UTC.
    pub last_ns: Option<i64>,
}

impl Statistics {
    /// What is wrong with the payload's bytes; `None` when each is accounted for. All connections must have ended.
    pub fn contradiction(&self) -> Option<String> {
        let Counts { delivered, cut, repeated, gap_bytes, .. } = self.streams;
        let (payload, after_close) = (self.payload_bytes, self.after_close_bytes);
        if payload != delivered + cut + repeated + after_close {
            let told = format!("{delivered} delivered, {cut} cut, {repeated} repeated, {after_close} after the end");
            return Some(format!("{payload} bytes of payload: {told}"));
        }
        (cut > gap_bytes).then(|| format!("{cut} bytes were cut, and only {gap_bytes} are in gaps"))
    }

    #[inline]
    pub(super) fn packet(&mut self, at_ns: i64, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
        self.first_ns = Some(self.first_ns.map_or(at_ns, |first| first.min(at_ns)));
        self.last_ns = Some(self.last_ns.map_or(at_ns, |last| last.max(at_ns)));
    }
}
