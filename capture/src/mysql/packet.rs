//! Where a [packet] ends: three bytes of length, a sequence number, the payload.
//!
//! A payload of 16 MiB − 1 bytes or more is sent as several packets: one that is full is continued by the next, so that a
//! payload of exactly a multiple ends with an empty packet. Any four bytes are a possible header. Only the sequence
//! numbers, and the message inside, tell whether a reader has lost its place.
//!
//! [packet]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html

use super::error::{Invalid, Unencodable};

/// Bytes before the payload.
pub const HEADER: usize = 4;

/// Payload of a packet that is continued by the next.
pub const FULL: usize = 0xff_ffff;

/// Longest payload that is joined: the largest `max_allowed_packet` of a server is 1 GiB.
pub const LONGEST: usize = 1 << 30;

/// One packet, which holds a whole payload unless it [continues](Packet::continues) or continues one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Sequence number: 0 in a command, then one more with each packet of either side.
    pub sequence: u8,
    /// The bytes behind the header.
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// Bytes of the packet with its header.
    #[inline]
    pub fn len(&self) -> usize {
        HEADER + self.payload.len()
    }

    /// True when the payload is empty.
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }

    /// True when the payload goes on in the next packet.
    #[inline]
    pub fn continues(&self) -> bool {
        self.payload.len() == FULL
    }
}

/// What the header at the start of `buf` says: length of the payload, and sequence number. `None` when it is not complete.
#[inline]
pub fn header(buf: &[u8]) -> Option<(usize, u8)> {
    let &[a, b, c, sequence] = buf.first_chunk::<HEADER>()?;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// The packet at the start of `buf`. `None` when it is not complete yet.
#[inline]
pub fn next(buf: &[u8]) -> Option<Packet<'_>> {
    let (length, sequence) = header(buf)?;
    let payload = buf.get(HEADER..HEADER + length)?;
    Some(Packet { sequence, payload })
}

/// Joins packets to payloads. A payload that fits one packet is passed on as it is, without a copy.
#[derive(Clone, Debug, Default)]
pub struct Joiner {
    joined: Vec<u8>,
    /// Sequence number that the continuation must have.
    awaited: Option<u8>,
}

impl Joiner {
    /// Nothing joined yet.
    pub fn new() -> Self {
        Joiner::default()
    }

    /// True when a payload has begun and goes on.
    pub fn is_joining(&self) -> bool {
        self.awaited.is_some()
    }

    /// Takes the next packet, and gives the payload that it completes.
    ///
    /// Fails where a payload is continued by a packet with another sequence number than the next, or grows beyond
    /// [`LONGEST`]; what was joined is then forgotten.
    #[inline]
    pub fn push<'p>(&'p mut self, packet: Packet<'p>) -> Result<Option<&'p [u8]>, Invalid> {
        if self.awaited.is_none() && !packet.continues() {
            return Ok(Some(packet.payload));
        }
        self.join(packet)
    }

    #[cold]
    fn join<'p>(&'p mut self, packet: Packet<'p>) -> Result<Option<&'p [u8]>, Invalid> {
        let what = match self.awaited.take() {
            None => {
                self.joined.clear();
                None
            }
            Some(awaited) if awaited != packet.sequence => {
                Some("a packet that should continue a payload has another sequence number than the next")
            }
            Some(_) => None,
        };
        let what = what.or_else(|| {
            (self.joined.len() + packet.payload.len() > LONGEST).then_some("a payload is longer than 1 GiB")
        });
        if let Some(what) = what {
            let offset = self.joined.len();
            self.joined = Vec::new();
            return Err(Invalid { message: "packet", offset, what });
        }
        self.joined.extend_from_slice(packet.payload);
        if packet.continues() {
            self.awaited = Some(packet.sequence.wrapping_add(1));
            return Ok(None);
        }
        Ok(Some(&self.joined))
    }
}

/// Appends `payload` to `out` as packets, from the sequence number `sequence` on, which is moved to the next.
pub fn write(out: &mut Vec<u8>, sequence: &mut u8, payload: &[u8]) {
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(FULL));
        out.extend(next_header(part.len(), sequence));
        out.extend_from_slice(part);
        if part.len() < FULL {
            return;
        }
        rest = after;
    }
}

/// Appends the payload that `message` writes to `out` as packets; nothing when it fails.
///
/// ```
/// use splitproof_capture::mysql::{Capabilities, Command, packet};
///
/// let (mut out, mut sequence) = (Vec::new(), 0);
/// packet::write_with(&mut out, &mut sequence, |out| Command::Ping.encode(Capabilities::default(), out)).unwrap();
/// assert_eq!((out, sequence), (b"\x01\0\0\0\x0e".to_vec(), 1));
/// ```
pub fn write_with(
    out: &mut Vec<u8>,
    sequence: &mut u8,
    message: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>,
) -> Result<(), Unencodable> {
    let start = out.len();
    out.extend([0; HEADER]);
    if let Err(error) = message(out) {
        out.truncate(start);
        return Err(error);
    }
    let length = out.len() - start - HEADER;
    if length >= FULL {
        // So long a payload is copied once more to make room for the headers between its parts.
        let payload = out.split_off(start + HEADER);
        out.truncate(start);
        write(out, sequence, &payload);
        return Ok(());
    }
    let header = next_header(length, sequence);
    if let Some(place) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *place = header;
    }
    Ok(())
}

/// The header of a packet whose payload is this long, at most [`FULL`].
fn next_header(length: usize, sequence: &mut u8) -> [u8; HEADER] {
    let [a, b, c, ..] = length.to_le_bytes();
    let header = [a, b, c, *sequence];
    *sequence = sequence.wrapping_add(1);
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::unwritten;

    #[test]
    fn a_packet_is_incomplete_until_its_last_byte() {
        // A COM_PING and what may follow it.
        let bytes = b"\x01\0\0\0\x0erest";
        for end in 0..5 {
            assert_eq!(next(&bytes[..end]), None, "{end} bytes");
        }
        let packet = next(bytes).unwrap();
        assert_eq!(packet, Packet { sequence: 0, payload: b"\x0e" });
        assert_eq!((packet.len(), packet.continues(), packet.is_empty()), (5, false, false));
        assert_eq!(next(b"\0\0\0\x07").unwrap(), Packet { sequence: 7, payload: b"" });
    }

    #[test]
    fn a_payload_in_one_packet_is_not_copied() {
        let payload = [7; 100];
        let mut joiner = Joiner::new();
        let whole = joiner.push(Packet { sequence: 3, payload: &payload }).unwrap().unwrap();
        assert_eq!(whole.as_ptr(), payload.as_ptr());
    }

    #[test]
    fn long_payloads_are_split_and_joined() {
        // A payload that fills its packets is ended by an empty one.
        for (length, packets) in [(FULL - 1, 1), (FULL, 2), (FULL + 1, 2), (2 * FULL, 3)] {
            let mut payload = vec![7; length];
            payload[length - 1] = 8;
            let (mut bytes, mut sequence) = (Vec::new(), 255);
            write(&mut bytes, &mut sequence, &payload);
            assert_eq!((bytes.len(), sequence), (length + 4 * packets, (255 + packets) as u8));

            let (mut joiner, mut rest, mut seen) = (Joiner::new(), &bytes[..], 0);
            let joined = loop {
                let packet = next(rest).unwrap();
                assert_eq!(packet.sequence, 255u8.wrapping_add(seen));
                (rest, seen) = (&rest[packet.len()..], seen + 1);
                assert_eq!(joiner.is_joining(), seen > 1);
                if let Some(payload) = joiner.push(packet).unwrap() {
                    break payload.to_vec();
                }
            };
            assert!(joined == payload && rest.is_empty() && usize::from(seen) == packets, "{length} bytes");

            let (mut with, mut sequence) = (b"before".to_vec(), 255);
            let message = |out: &mut Vec<u8>| {
                out.extend_from_slice(&payload);
                Ok(())
            };
            write_with(&mut with, &mut sequence, message).unwrap();
            assert!(with.strip_prefix(b"before").unwrap() == bytes && usize::from(sequence) == (255 + packets) % 256);
        }
    }

    #[test]
    fn a_gap_in_a_long_payload_is_invalid() {
        let full = vec![0; FULL];
        let mut joiner = Joiner::new();
        assert_eq!(joiner.push(Packet { sequence: 1, payload: &full }), Ok(None));
        let error = joiner.push(Packet { sequence: 3, payload: b"x" }).unwrap_err();
        assert_eq!(error.offset, FULL);
        assert!(!joiner.is_joining());
        assert_eq!(joiner.push(Packet { sequence: 3, payload: b"x" }), Ok(Some(&b"x"[..])));
    }

    #[test]
    fn nothing_is_written_of_a_message_that_fails() {
        let failed = Unencodable { message: "test", what: "it fails" };
        let mut sequence = 5;
        let error = unwritten(|out| {
            write_with(out, &mut sequence, |out| {
                out.push(1);
                Err(failed)
            })
        });
        assert_eq!((error, sequence), (failed, 5));
    }
}
