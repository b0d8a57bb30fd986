//! A session that does not become part of the recording.

use super::{Close, Decoder};
use crate::trace::{Loss, Losses, Sink};

/// Counts itself, and reads nothing.
pub(super) struct LeftOut(Losses);

impl LeftOut {
    pub fn new(why: Loss) -> Self {
        let mut losses = Losses::default();
        losses.add(why, 1);
        LeftOut(losses)
    }
}

impl Decoder for LeftOut {
    fn client(&mut self, _at_ns: i64, _bytes: &[u8], _out: &mut dyn Sink) {}
    fn server(&mut self, _at_ns: i64, _bytes: &[u8], _out: &mut dyn Sink) {}
    fn client_gap(&mut self, _at_ns: i64, _missing: u64, _out: &mut dyn Sink) {}
    fn server_gap(&mut self, _at_ns: i64, _missing: u64, _out: &mut dyn Sink) {}
    fn close(&mut self, _at_ns: i64, _how: Close, _out: &mut dyn Sink) {}

    fn next_seq(&self) -> u32 {
        0
    }

    fn losses(&self) -> &Losses {
        &self.0
    }
}
