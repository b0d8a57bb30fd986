//! A session that does not belong into the recording.

use super::{Close, Decoder};
use crate::trace::{Loss, Losses, Sink};

/// Counts itself, and reads nothing: the session is of another engine than the trace.
pub(super) struct OtherEngine(Losses);

impl OtherEngine {
    pub fn new() -> Self {
        let mut losses = Losses::default();
        losses.add(Loss::OtherEngine, 1);
        OtherEngine(losses)
    }
}

impl Decoder for OtherEngine {
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
