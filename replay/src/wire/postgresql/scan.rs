//! Follows the server's bytes just enough to know when it is ready again.
//!
//! Only message headers are looked at; bodies are passed over without being gathered, so that a result of any size costs
//! no memory.

/// Where an exchange stands, from what was sent and from the server's messages.
#[derive(Debug, Default)]
pub struct Scan {
    /// The start of a header that came in pieces.
    header: [u8; 5],
    have: usize,
    /// Bytes of the present message's body that are still to come.
    body: usize,
    /// ReadyForQuery messages that are still to come.
    awaited: u32,
    /// Executes that were sent and not yet answered.
    executes: u32,
    /// The server waits for COPY data.
    copy_in: bool,
    /// The server turned the connection into a replication stream.
    copy_both: bool,
    /// An error was reported; the server passes over everything up to the next Sync.
    failed: bool,
    /// The server sent something that cannot be a message.
    invalid: bool,
}

impl Scan {
    /// A message was sent that the server answers with ReadyForQuery.
    pub fn sent(&mut self, tag: u8) {
        match tag {
            b'Q' | b'S' | b'F' => self.awaited += 1,
            b'E' => self.executes += 1,
            b'c' | b'f' => self.copy_in = false,
            _ => {}
        }
    }

    /// True when nothing is awaited: the server has answered every group.
    pub fn is_ready(&self) -> bool {
        self.awaited == 0
    }

    /// True when the server waits for COPY data.
    pub fn wants_copy_data(&self) -> bool {
        self.copy_in
    }

    /// True when no CopyInResponse can come any more for what was sent.
    pub fn copy_is_decided(&self) -> bool {
        self.copy_in || self.copy_both || self.failed || (self.awaited == 0 && self.executes == 0)
    }

    /// True when the connection is a replication stream, which cannot be replayed.
    pub fn is_replication(&self) -> bool {
        self.copy_both
    }

    /// True when the server's bytes are not messages.
    pub fn is_invalid(&self) -> bool {
        self.invalid
    }

    /// Follows the server's next bytes.
    pub fn received(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.invalid {
            if self.body > 0 {
                let skip = self.body.min(bytes.len());
                self.body -= skip;
                bytes = &bytes[skip..];
                continue;
            }
            let take = (self.header.len() - self.have).min(bytes.len());
            self.header[self.have..self.have + take].copy_from_slice(&bytes[..take]);
            self.have += take;
            bytes = &bytes[take..];
            if self.have == self.header.len() {
                self.have = 0;
                let [tag, length @ ..] = self.header;
                match (u32::from_be_bytes(length) as usize).checked_sub(4) {
                    Some(body) => self.body = body,
                    None => self.invalid = true,
                }
                self.message(tag);
            }
        }
    }

    fn message(&mut self, tag: u8) {
        match tag {
            b'Z' => {
                self.awaited = self.awaited.saturating_sub(1);
                (self.failed, self.copy_in) = (false, false);
                if self.awaited == 0 {
                    self.executes = 0;
                }
            }
            b'C' | b's' | b'I' => self.executes = self.executes.saturating_sub(1),
            b'E' => (self.failed, self.copy_in) = (true, false),
            b'G' => {
                self.copy_in = true;
                // In the extended protocol the server passes over every Sync that it finds in its way while it waits for
                // COPY data, so these are not answered.
                if self.executes > 0 {
                    (self.awaited, self.executes) = (0, 0);
                }
            }
            b'W' => self.copy_both = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &[u8] = b"Z\0\0\0\x05I";

    #[test]
    fn ready_counts_the_groups_whatever_the_pieces() {
        let answer = [b"D\0\0\0\x09abcde".as_slice(), b"C\0\0\0\x0dSELECT 1\0", READY].concat();
        for at in 0..answer.len() {
            let mut scan = Scan::default();
            scan.sent(b'Q');
            scan.received(&answer[..at]);
            assert!(!scan.is_ready() || at > answer.len() - 2);
            scan.received(&answer[at..]);
            assert!(scan.is_ready());
        }
    }

    #[test]
    fn pipelined_groups_are_all_awaited() {
        let mut scan = Scan::default();
        for tag in b"PBESPBES" {
            scan.sent(*tag);
        }
        scan.received(READY);
        assert!(!scan.is_ready());
        scan.received(READY);
        assert!(scan.is_ready());
    }

    #[test]
    fn a_sync_in_the_way_of_copy_is_not_answered() {
        let mut scan = Scan::default();
        for tag in b"PBDES" {
            scan.sent(*tag);
        }
        assert!(!scan.copy_is_decided());
        scan.received(b"1\0\0\0\x042\0\0\0\x04n\0\0\0\x04G\0\0\0\x07\0\0\0");
        assert!(scan.wants_copy_data());
        for tag in b"dcS" {
            scan.sent(*tag);
        }
        assert!(!scan.is_ready());
        scan.received(b"C\0\0\0\x0bCOPY 1\0");
        scan.received(READY);
        assert!(scan.is_ready());
    }

    #[test]
    fn a_refused_copy_is_decided() {
        for (sent, answer) in [("Q", "E\0\0\0\x05\0"), ("BE", "E\0\0\0\x05\0"), ("BE", "C\0\0\0\x05\0")] {
            let mut scan = Scan::default();
            sent.bytes().for_each(|tag| scan.sent(tag));
            assert!(!scan.copy_is_decided());
            scan.received(answer.as_bytes());
            assert!(scan.copy_is_decided() && !scan.wants_copy_data() || sent == "Q", "{sent}");
        }
    }

    #[test]
    fn a_length_below_four_is_invalid() {
        let mut scan = Scan::default();
        scan.received(b"D\0\0\0\x03");
        assert!(scan.is_invalid());
    }
}
