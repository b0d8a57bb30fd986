//! The sink of a recording that ends itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use splitproof_capture::trace::{Losses, Request, Sink, Writer};

/// A writer that tells the source to stop when the trace can no longer be written, as on a full disk.
pub struct Watched {
    pub writer: Writer,
    pub stop: Arc<AtomicBool>,
}

impl Sink for Watched {
    fn request(&mut self, request: Request) {
        self.writer.request(request);
        if self.writer.failed() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn losses(&mut self, losses: &Losses) {
        self.writer.losses(losses);
    }
}
