//! Follows the server's answers: whether it is ready, and what it wants of the client meanwhile.

use splitproof_capture::mysql::packet::{FULL, Packet};
use splitproof_capture::mysql::{Answer, Capabilities, Code, Command, Exchange, packet};

/// Where an exchange stands, from what was sent and from the server's packets.
#[derive(Debug, Default)]
pub struct Scan {
    capabilities: Capabilities,
    /// The answer that is awaited.
    exchange: Option<Exchange>,
    /// The start of a packet that came in pieces.
    held: Vec<u8>,
    /// The packet before is continued by the next.
    continued: bool,
    /// Sequence number of the next packet.
    sequence: u8,
    /// The server waits for the content of a file.
    wants_file: bool,
    /// Packets of an authentication that nobody has answered yet.
    authentication: Vec<(u8, Vec<u8>)>,
    /// The number that the server gave to a statement.
    prepared: Option<u32>,
    /// The server sent something that cannot be an answer.
    invalid: bool,
}

impl Scan {
    /// Between a client and a server that agreed on this.
    pub fn agreed(&mut self, capabilities: Capabilities) {
        self.capabilities = capabilities;
    }

    /// A command was sent.
    pub fn sent(&mut self, payload: &[u8]) {
        let Some(&code) = payload.first() else { return };
        let code = Code(code);
        let exchange = match Command::decode(payload, self.capabilities) {
            Ok(command) => Exchange::of(&command, self.capabilities),
            Err(_) => Exchange::new(code, self.capabilities),
        };
        if !exchange.is_complete() {
            self.exchange = Some(exchange);
        }
    }

    /// True when nothing is awaited.
    pub fn is_ready(&self) -> bool {
        self.exchange.is_none()
    }

    /// True when the server waits for the content of a file.
    pub fn wants_file(&self) -> bool {
        self.wants_file
    }

    /// The file is on its way. Gives the sequence number of its first packet.
    pub fn sends_file(&mut self) -> u8 {
        self.wants_file = false;
        self.sequence
    }

    /// True when the server waits for a step of an authentication.
    pub fn wants_proof(&self) -> bool {
        !self.authentication.is_empty()
    }

    /// The packets of an authentication that nobody has answered yet, with their sequence numbers.
    pub fn take_authentication(&mut self) -> Vec<(u8, Vec<u8>)> {
        std::mem::take(&mut self.authentication)
    }

    /// The number that the server gave to a statement since the last call.
    pub fn take_prepared(&mut self) -> Option<u32> {
        self.prepared.take()
    }

    /// True when the server's bytes are not answers.
    pub fn is_invalid(&self) -> bool {
        self.invalid
    }

    /// Follows the server's next bytes.
    pub fn received(&mut self, bytes: &[u8]) {
        let mut held = std::mem::take(&mut self.held);
        let used = if held.is_empty() {
            self.packets(bytes)
        } else {
            held.extend_from_slice(bytes);
            self.packets(&held)
        };
        if held.is_empty() {
            held.extend_from_slice(bytes.get(used..).unwrap_or_default());
        } else {
            held.drain(..used);
        }
        self.held = held;
    }

    /// Takes whole packets; returns how many bytes they have.
    fn packets(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Some(packet) = packet::next(bytes.get(used..).unwrap_or_default()) {
            used += packet.len();
            self.packet(packet);
            if self.invalid {
                break;
            }
        }
        used
    }

    fn packet(&mut self, packet: Packet<'_>) {
        self.sequence = packet.sequence.wrapping_add(1);
        let continues = packet.payload.len() == FULL;
        if std::mem::replace(&mut self.continued, continues) {
            // The exchange has seen the beginning, which decides.
            return;
        }
        // A server that ends the connection says why unasked; what comes of that is seen at the end of the connection.
        let Some(exchange) = &mut self.exchange else { return };
        match exchange.next(packet.payload) {
            Ok(Answer::PrepareOk(prepared)) => self.prepared = Some(prepared.statement),
            Ok(Answer::LocalInfile { .. }) => self.wants_file = true,
            Ok(Answer::AuthSwitch(_) | Answer::AuthMore(_) | Answer::AuthNextFactor(_)) => {
                self.authentication.push((packet.sequence, packet.payload.to_vec()));
            }
            Ok(_) => {}
            Err(_) => self.invalid = true,
        }
        if exchange.is_complete() {
            self.exchange = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(command: &[u8]) -> Scan {
        let mut scan = Scan::default();
        scan.agreed(Capabilities::ASSUMED);
        scan.sent(command);
        scan
    }

    /// Two columns, one row, as MariaDB 10.11 answers `SELECT 1, 'a'`, with EOF packets.
    fn result(status: u8) -> Vec<u8> {
        let column = b"\x17\0\0\x02\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x03\x81\0\0\0\0";
        let rest = b"\x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0";
        [b"\x01\0\0\x01\x01".as_slice(), column, rest, &[status, 0]].concat()
    }

    #[test]
    fn ready_after_the_last_result_whatever_the_pieces() {
        let answer = [result(0x0a), result(0x02)].concat();
        for at in 0..answer.len() {
            let mut scan = scan(b"\x03SELECT 1; SELECT 1");
            scan.received(&answer[..at]);
            assert!(!scan.is_ready(), "{at}");
            scan.received(&answer[at..]);
            assert!(scan.is_ready() && !scan.is_invalid(), "{at}");
        }
    }

    #[test]
    fn commands_without_an_answer_leave_it_ready() {
        assert!(scan(b"\x19\x01\0\0\0").is_ready());
        assert!(scan(b"\x18\x01\0\0\0\0\0data").is_ready());
        assert!(!scan(b"\x0e").is_ready());
    }

    #[test]
    fn a_prepared_statement_has_its_number() {
        let mut scan = scan(b"\x16SELECT 1");
        scan.received(b"\x0c\0\0\x01\0\x09\0\0\0\0\0\0\0\0\0\0");
        assert!(scan.is_ready());
        assert_eq!(scan.take_prepared(), Some(9));
        assert_eq!(scan.take_prepared(), None);
    }

    #[test]
    fn a_file_is_wanted_once() {
        let mut scan = scan(b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
        scan.received(b"\x02\0\0\x01\xfbf");
        assert!(scan.wants_file() && !scan.is_ready());
        assert_eq!(scan.sends_file(), 2);
        assert!(!scan.wants_file());
        scan.received(b"\x07\0\0\x04\0\x02\0\x02\0\0\0");
        assert!(scan.is_ready());
    }

    #[test]
    fn what_is_no_answer_is_invalid() {
        let mut scan = scan(b"\x0e");
        scan.received(b"\x01\0\0\x01\x05");
        assert!(scan.is_invalid());
    }
}
