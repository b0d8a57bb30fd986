//! Sessions that are encrypted from some point on.
//!
//! A decoder begins a [`Channel`] where its protocol says that TLS begins. From then on what arrives goes through it, and its
//! content comes back to the decoder as if it had arrived so.

use crate::postgresql::Direction;
use crate::tls::{Connection, KeyLog, Piece, Plain, Refusal};
use crate::trace::Sink;

/// The encryption of one connection.
pub(super) struct Channel {
    tls: Connection,
    plain: Plain,
    /// The client went ahead: bytes of the server's consent that come before its records.
    consent: usize,
}

impl Channel {
    /// TLS begins with the next byte of either side. `consent`: except for so many bytes of the server.
    pub fn new(keys: &KeyLog, consent: usize) -> Box<Self> {
        Box::new(Channel { tls: Connection::new(keys), plain: Plain::default(), consent })
    }
}

/// A decoder that can go on within TLS.
pub(super) trait Upgrade {
    /// The channel, once TLS has begun.
    fn channel(&mut self) -> &mut Option<Box<Channel>>;

    /// Takes content.
    fn plain(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut dyn Sink);

    /// Content of one side is missing; `missing` encrypted bytes of it.
    fn missing(&mut self, side: Direction, missing: u64, out: &mut dyn Sink);

    /// Encrypted bytes were passed over.
    fn passed(&mut self, bytes: u64);

    /// The session cannot be read.
    fn encrypted(&mut self, how: String, why: String);

    /// Takes what arrived from one side, encrypted or not.
    #[inline]
    fn arrived(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut dyn Sink) {
        match self.channel() {
            None => self.plain(side, at_ns, bytes, out),
            Some(_) => self.decrypt(side, at_ns, bytes, out),
        }
    }

    /// Bytes of one side are missing, encrypted or not.
    fn lacking(&mut self, side: Direction, at_ns: i64, missing: u64, out: &mut dyn Sink) {
        match self.channel() {
            None => self.missing(side, missing, out),
            Some(_) => self.decrypt_gap(side, at_ns, missing, out),
        }
    }

    /// Takes bytes that arrived since TLS began.
    fn decrypt(&mut self, side: Direction, at_ns: i64, mut bytes: &[u8], out: &mut dyn Sink) {
        let Some(mut channel) = self.channel().take() else { return };
        if side == Direction::Server && channel.consent > 0 {
            let consent = channel.consent.min(bytes.len());
            channel.consent -= consent;
            bytes = bytes.get(consent..).unwrap_or_default();
        }
        let outcome = channel.tls.push(side, at_ns, bytes, &mut channel.plain);
        self.hand_over(channel, outcome, at_ns, out);
    }

    /// Bytes are missing since TLS began.
    fn decrypt_gap(&mut self, side: Direction, at_ns: i64, missing: u64, out: &mut dyn Sink) {
        let Some(mut channel) = self.channel().take() else { return };
        let outcome = channel.tls.gap(side, missing, &mut channel.plain);
        let refused = outcome.is_err();
        self.hand_over(channel, outcome, at_ns, out);
        if refused {
            // Nothing is read of the session any more, but the gap counts.
            self.missing(side, missing, out);
        }
    }

    /// The connection ends.
    fn decrypt_end(&mut self) {
        let Some(channel) = self.channel().take() else { return };
        match channel.tls.is_open() {
            true => self.passed(channel.tls.held()),
            false => self.encrypted(channel.tls.describe(), channel.tls.end().to_string()),
        }
    }

    /// Gives the content to the decoder.
    fn hand_over(&mut self, mut channel: Box<Channel>, outcome: Result<(), Refusal>, at_ns: i64, out: &mut dyn Sink) {
        let Plain { bytes, pieces } = &mut channel.plain;
        for piece in pieces.drain(..) {
            match piece {
                // A request begins with its first byte, and an answer ends with its last.
                Piece::Data { side: Direction::Client, first_ns, range } => {
                    self.plain(Direction::Client, first_ns, bytes.get(range).unwrap_or_default(), out);
                }
                Piece::Data { side, range, .. } => self.plain(side, at_ns, bytes.get(range).unwrap_or_default(), out),
                Piece::Passed(bytes) => self.passed(bytes),
                Piece::Gap { side, missing } => self.missing(side, missing, out),
            }
        }
        channel.plain.clear();
        match outcome {
            Ok(()) => *self.channel() = Some(channel),
            Err(why) => self.encrypted(channel.tls.describe(), why.to_string()),
        }
    }
}

/// A session that was joined midway is encrypted, so that its keys cannot be told.
pub(super) fn joined_midway(session: &mut impl Upgrade) {
    let why = "it began before the capture, so that its secrets cannot be told";
    session.encrypted("TLS".to_owned(), why.to_owned());
}
