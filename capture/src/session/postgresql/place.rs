//! Finding the place in the byte streams: for sessions joined midway, and after a gap.
//!
//! The protocol has no marker between messages. But a server that is ready waits, so what the client sends next begins
//! with a message, and what the server answers does, too. So the place is found at a client's segment that reads as a
//! run of messages, after a server's segment that ended with ReadyForQuery.

use crate::postgresql::Direction;
use crate::postgresql::chain::plausible;

/// ReadyForQuery without its last byte.
const READY: &[u8] = b"Z\0\0\0\x05";

/// Whether the server waits for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quiet {
    /// Neither side was heard: a server that is about to be asked sends nothing.
    Unknown,
    Yes,
    No,
}

/// What was seen since the place was lost.
#[derive(Debug)]
pub(super) struct Search {
    quiet: Quiet,
    /// The last bytes of the server.
    tail: Vec<u8>,
    /// True while the messages of the client can still be told apart: only the server's are lost.
    pub client_known: bool,
    tls_client: Option<bool>,
    tls_server: Option<bool>,
}

impl Search {
    /// For a session that is older than the recording.
    pub fn midway() -> Self {
        Search { quiet: Quiet::Unknown, tail: Vec::new(), client_known: false, tls_client: None, tls_server: None }
    }

    /// For a session in which bytes are missing or not understood.
    pub fn after_loss(client_known: bool) -> Self {
        Search { quiet: Quiet::No, client_known, tls_client: Some(false), tls_server: Some(false), ..Search::midway() }
    }

    /// Looks at bytes of the server, which are passed over.
    pub fn server(&mut self, bytes: &[u8]) {
        self.tls_server.get_or_insert_with(|| is_tls_record(bytes));
        let fresh = bytes.get(bytes.len().saturating_sub(READY.len() + 1)..).unwrap_or_default();
        self.tail.extend_from_slice(fresh);
        self.tail.drain(..self.tail.len().saturating_sub(READY.len() + 1));
        let ready = matches!(self.tail.split_last(), Some((b'I' | b'T' | b'E', READY)));
        self.quiet = if ready { Quiet::Yes } else { Quiet::No };
    }

    /// Looks at bytes of the client. True when a message begins with them, and the server's next bytes answer it.
    pub fn client(&mut self, bytes: &[u8], at_boundary: bool) -> bool {
        self.tls_client.get_or_insert_with(|| is_tls_record(bytes));
        let found = self.quiet != Quiet::No && if self.client_known { at_boundary } else { begins_request(bytes) };
        if !found {
            // The server is going to answer this.
            self.quiet = Quiet::No;
        }
        found
    }

    /// True when both sides began with TLS records, so that there is no place to find.
    pub fn encrypted(&self) -> bool {
        self.tls_client == Some(true) && self.tls_server == Some(true)
    }
}

fn begins_request(bytes: &[u8]) -> bool {
    // Within a COPY or an authentication any bytes may come, so these messages prove nothing.
    let starts = matches!(bytes.first(), Some(b'Q' | b'P' | b'B' | b'D' | b'E' | b'C' | b'S' | b'H' | b'F' | b'X'));
    starts && plausible(Direction::Client, bytes).is_ok_and(|chain| chain.messages > 0)
}

/// True when the bytes begin like a TLS record that carries data: type, version 3.x, a length that is allowed.
fn is_tls_record(bytes: &[u8]) -> bool {
    match bytes {
        [0x14..=0x17, 3, 0..=4, high, low, ..] => u16::from_be_bytes([*high, *low]) <= (1 << 14) + 2048,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_for_query_is_seen_however_it_is_cut() {
        for cut in 0..=6 {
            let mut search = Search::after_loss(false);
            let (head, tail) = b"Z\0\0\0\x05T".split_at(cut);
            search.server(b"rest of an answer");
            search.server(head);
            search.server(tail);
            assert!(search.client(b"Q\0\0\0\x06a\0", false), "cut at {cut}");
        }
    }

    #[test]
    fn a_request_is_not_believed_while_the_server_speaks() {
        let mut search = Search::after_loss(false);
        assert!(!search.client(b"Q\0\0\0\x06a\0", false));
        search.server(b"Z\0\0\0\x05I and more");
        assert!(!search.client(b"Q\0\0\0\x06a\0", false));
    }

    #[test]
    fn copy_data_and_passwords_prove_nothing() {
        for bytes in [&b"d\0\0\0\x06ab"[..], b"p\0\0\0\x06ab", b"c\0\0\0\x04", b"ab", b"", b"Q\0\0\0\xffcut"] {
            assert!(!Search::midway().client(bytes, false), "{bytes:?}");
        }
        assert!(Search::midway().client(b"S\0\0\0\x04", false));
    }

    #[test]
    fn tls_needs_both_sides() {
        let record = b"\x17\x03\x03\0\x20 ciphertext";
        let mut search = Search::midway();
        search.client(record, false);
        assert!(!search.encrypted());
        search.server(record);
        assert!(search.encrypted());
    }
}
