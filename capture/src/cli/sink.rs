//! The sink of a recording that ends itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use splitproof_capture::redact::{Key, Redactor};
use splitproof_capture::session::Shared;
use splitproof_capture::sql;
use splitproof_capture::trace::{Encrypted, Engine, Error, Losses, Manifest, Request, Sink};

use super::series::{Lost, Series};
use super::watch::Watch;

/// A writer that tells the source to stop when the trace can no longer be written, as on a full disk, and that takes the
/// values out of what it writes where it is told to.
pub struct Watched {
    series: Series,
    stop: Arc<AtomicBool>,
    redactor: Option<Redactor>,
    /// What the sessions have in common, once one began.
    decided: Arc<OnceLock<Shared>>,
    watch: Option<Watch>,
    /// Why no further trace of a series could be begun.
    failure: Option<Error>,
}

impl Watched {
    pub fn new(
        series: Series,
        stop: Arc<AtomicBool>,
        redact: Option<Key>,
        engine: Engine,
        decided: Arc<OnceLock<Shared>>,
    ) -> Self {
        let redactor = redact.map(|key| Redactor::new(key, engine));
        Watched { series, stop, redactor, decided, watch: None, failure: None }
    }

    /// Looks at the disk and the processor every second.
    pub fn watching(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// The server's kind, where it is learnt from the traffic.
    fn engine(&mut self, engine: Engine) {
        self.series.engine(engine);
        if let Some(redactor) = &mut self.redactor {
            redactor.engine(engine);
        }
    }

    /// Writes the shapes and ends the trace. Tells what it holds, or what all traces of a series hold together, and how many
    /// they are. `stopped`: there was more to read.
    pub fn finish(mut self, losses: &Losses, stopped: bool) -> Result<(Manifest, u64), Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let shapes = shapes(&self.decided, &mut self.redactor);
        let losses = with_own(losses, &self.redactor);
        self.series.finish(Lost { losses: &losses, encrypted: &encrypted(&self.decided) }, shapes, stopped)
    }
}

/// The shapes seen so far, without values where these are taken out.
fn shapes(decided: &OnceLock<Shared>, redactor: &mut Option<Redactor>) -> Vec<sql::Shape> {
    let Some(shared) = decided.get() else { return Vec::new() };
    let shapes: Vec<sql::Shape> = shared.shapes().iter().cloned().collect();
    match redactor {
        Some(redactor) => redactor.shapes(&shapes),
        None => shapes,
    }
}

/// The sessions so far that are encrypted.
fn encrypted(decided: &OnceLock<Shared>) -> Vec<Encrypted> {
    decided.get().map(Shared::encrypted).unwrap_or_default()
}

/// What the source lost and what redaction left out.
fn with_own(losses: &Losses, redactor: &Option<Redactor>) -> Losses {
    let mut losses = losses.clone();
    if let Some(redactor) = redactor {
        losses.merge(redactor.losses());
    }
    losses
}

impl Sink for Watched {
    fn request(&mut self, mut request: Request) {
        if let Some(redactor) = &mut self.redactor {
            redactor.request(&mut request);
        }
        self.series.request(request);
        if self.series.failed() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn losses(&mut self, losses: &Losses) {
        let losses = with_own(losses, &self.redactor);
        let (decided, redactor) = (&self.decided, &mut self.redactor);
        let lost = Lost { losses: &losses, encrypted: &encrypted(decided) };
        if let Err(failure) = self.series.tick(lost, || shapes(decided, redactor)) {
            self.failure.get_or_insert(failure);
            self.stop.store(true, Ordering::Relaxed);
        }
        if self.watch.as_mut().is_some_and(|watch| watch.tick(&losses)) {
            self.stop.store(true, Ordering::Relaxed);
        }
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
