//! Finding the place in the byte streams: for sessions joined midway, and after a gap.
//!
//! The protocol has no marker between packets. But a client waits for the whole answer before it asks again, so what it
//! sends after the server has spoken begins with a packet, and that has sequence number 0. So the place is found at such
//! a segment that reads as commands from its first byte to its last; what the server sends next answers it. A segment
//! that ends within a command is believed only after the server has spoken. The same segment tells whether the session
//! is compressed.

use super::framing::{Begun, Framing, begins_command};
use crate::postgresql::Direction;

/// Who was heard last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Neither side: a client that is about to ask sends nothing.
    Nobody,
    Server,
    Client,
}

/// What was seen since the place was lost.
#[derive(Debug)]
pub(super) struct Search {
    heard: Heard,
    /// How packets are framed, where that is known.
    framing: Option<Framing>,
    /// True when the packets of the client can still be told apart: only the server's are lost.
    pub client_known: bool,
    tls_client: Option<bool>,
    tls_server: Option<bool>,
}

impl Search {
    /// For a session that is older than the recording.
    pub fn midway() -> Self {
        Search { heard: Heard::Nobody, framing: None, client_known: false, tls_client: None, tls_server: None }
    }

    /// For a session in which bytes of one side are missing or not understood. After those of the client, what it sends
    /// next may be the rest of a command; after those of the server it begins with one.
    pub fn after_loss(side: Direction, client_known: bool, framing: Option<Framing>) -> Self {
        let heard = if side == Direction::Client { Heard::Client } else { Heard::Server };
        Search { heard, framing, client_known, tls_client: Some(false), tls_server: Some(false) }
    }

    /// True when nothing was seen: the recording may have missed only the first packets of TCP.
    pub fn is_fresh(&self) -> bool {
        self.heard == Heard::Nobody
    }

    /// How packets are framed, where that is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Looks at bytes of the server, which are passed over.
    pub fn server(&mut self, bytes: &[u8]) {
        self.tls_server.get_or_insert_with(|| is_tls_record(bytes));
        self.heard = Heard::Server;
    }

    /// Looks at bytes of the client. Tells the framing when a command begins with them, and the server's next bytes
    /// answer it.
    pub fn client(&mut self, bytes: &[u8]) -> Option<Framing> {
        self.tls_client.get_or_insert_with(|| is_tls_record(bytes));
        let heard = std::mem::replace(&mut self.heard, Heard::Client);
        if self.client_known {
            return None;
        }
        let Begun { framing, whole } = begins_command(bytes)?;
        let believed = whole || heard != Heard::Client;
        (believed && self.framing.is_none_or(|known| known == framing)).then_some(framing)
    }

    /// True when both sides began with TLS records, so that there is no place to find.
    pub fn encrypted(&self) -> bool {
        self.tls_client == Some(true) && self.tls_server == Some(true)
    }
}

/// True when the bytes begin like a TLS record that carries data: type, version 3.x, a length that is allowed.
pub(super) fn is_tls_record(bytes: &[u8]) -> bool {
    match bytes {
        [0x14..=0x17, 3, 0..=4, high, low, ..] => u16::from_be_bytes([*high, *low]) <= (1 << 14) + 2048,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &[u8] = b"\x01\0\0\0\x0e";

    /// A text that goes on in the next segment.
    fn cut() -> Vec<u8> {
        [&b"\xff\0\x01\0\x03"[..], &b"INSERT INTO t ".repeat(50)].concat()
    }

    #[test]
    fn a_command_is_believed_whole_or_where_the_client_has_its_turn() {
        assert_eq!(Search::midway().client(PING), Some(Framing::Plain));
        assert_eq!(Search::midway().client(&cut()), Some(Framing::Plain));
        let mut search = Search::after_loss(Direction::Client, false, None);
        assert_eq!(search.client(&cut()), None, "it may be the rest of a command");
        search.server(b"the rest of an answer");
        assert_eq!(search.client(&cut()), Some(Framing::Plain));
        let mut search = Search::midway();
        assert_eq!(search.client(b"rest of a text"), None);
        assert_eq!(search.client(&cut()), None, "nothing was answered in between");
        assert_eq!(search.client(PING), Some(Framing::Plain));
    }

    #[test]
    fn a_framing_that_is_known_is_kept() {
        let mut search = Search::after_loss(Direction::Client, false, Some(Framing::Zlib));
        search.server(b"x");
        assert_eq!(search.client(PING), None);
    }

    #[test]
    fn tls_needs_both_sides() {
        let record = b"\x17\x03\x03\0\x20 ciphertext";
        let mut search = Search::midway();
        search.client(record);
        assert!(!search.encrypted());
        search.server(record);
        assert!(search.encrypted());
    }
}
