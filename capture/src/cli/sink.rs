//! The sink of a recording that ends itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use splitproof_capture::redact::{Key, Redactor};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Error, Losses, Manifest, Request, Shape, Sink, Writer};

/// A writer that tells the source to stop when the trace can no longer be written, as on a full disk, and that takes the
/// values out of what it writes where it is told to.
pub struct Watched {
    writer: Writer,
    stop: Arc<AtomicBool>,
    redactor: Option<Redactor>,
}

impl Watched {
    pub fn new(writer: Writer, stop: Arc<AtomicBool>, redact: Option<Key>, engine: Engine) -> Self {
        Watched { writer, stop, redactor: redact.map(|key| Redactor::new(key, engine)) }
    }

    /// The server's kind, where it is learnt from the traffic.
    fn engine(&mut self, engine: Engine) {
        self.writer.engine(engine);
        if let Some(redactor) = &mut self.redactor {
            redactor.engine(engine);
        }
    }

    /// Writes the shapes, if a session began, and ends the trace.
    pub fn finish(mut self, shared: Option<&Shared>, losses: &Losses) -> Result<Manifest, Error> {
        match (shared, &mut self.redactor) {
            (None, _) => self.writer.shapes([])?,
            (Some(shared), None) => self.writer.shapes(Shape::collected(shared.shapes().iter()))?,
            (Some(shared), Some(redactor)) => {
                let shapes = redactor.shapes(shared.shapes().iter());
                self.writer.shapes(Shape::collected(&shapes))?;
            }
        }
        let losses = self.with_own(losses);
        self.writer.finish(&losses)
    }

    /// What the source lost and what redaction left out.
    fn with_own(&self, losses: &Losses) -> Losses {
        let mut losses = losses.clone();
        if let Some(redactor) = &self.redactor {
            losses.merge(redactor.losses());
        }
        losses
    }
}

impl Sink for Watched {
    fn request(&mut self, mut request: Request) {
        if let Some(redactor) = &mut self.redactor {
            redactor.request(&mut request);
        }
        self.writer.request(request);
        if self.writer.failed() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn losses(&mut self, losses: &Losses) {
        let losses = self.with_own(losses);
        self.writer.losses(&losses);
    }
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
            self.watched.engine(shared.engine());
            self.told = true;
        }
        self.watched.request(request);
    }

    fn losses(&mut self, losses: &Losses) {
        self.watched.losses(losses);
    }
}
