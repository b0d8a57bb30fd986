//! The sink of a recording that ends itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Losses, Request, Sink, Writer};

/// A writer that tells the source to stop when the trace can no longer be written, as on a full disk.
pub struct Watched {
    pub writer: Writer,
    pub stop: Arc<AtomicBool>,
}

/// A writer that learns the server's kind from the first session.
pub struct Deciding {
    pub watched: Watched,
    pub decided: Arc<OnceLock<Shared>>,
    pub told: bool,
}

impl Sink for Deciding {
    fn request(&mut self, request: Request) {
        if !self.told
            && let Some(shared) = self.decided.get()
        {
            self.watched.writer.engine(shared.engine());
            self.told = true;
        }
        self.watched.request(request);
    }
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
