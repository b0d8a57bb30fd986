//! A MySQL session: the two byte streams of one connection, turned into requests.

use super::{Close, Decoder, Shared, Start};
use crate::trace::{Loss, Losses, Sink};

/// The decoder of one connection. It does not read messages yet: every byte is counted as undecodable.
pub struct Session {
    losses: Losses,
}

impl Session {
    /// A connection without bytes so far. `session` is its number within the recording.
    pub fn new(_session: u64, _start: Start, _shared: &Shared) -> Self {
        Session { losses: Losses::default() }
    }
}

impl Decoder for Session {
    fn client(&mut self, _at_ns: i64, bytes: &[u8], _out: &mut dyn Sink) {
        self.losses.add(Loss::Undecodable, bytes.len() as u64);
    }

    fn server(&mut self, _at_ns: i64, bytes: &[u8], _out: &mut dyn Sink) {
        self.losses.add(Loss::Undecodable, bytes.len() as u64);
    }

    fn client_gap(&mut self, _at_ns: i64, missing: u64, _out: &mut dyn Sink) {
        self.losses.add(Loss::Gap, missing);
    }

    fn server_gap(&mut self, _at_ns: i64, missing: u64, _out: &mut dyn Sink) {
        self.losses.add(Loss::Gap, missing);
    }

    fn close(&mut self, _at_ns: i64, _how: Close, _out: &mut dyn Sink) {}

    fn losses(&self) -> &Losses {
        &self.losses
    }
}
