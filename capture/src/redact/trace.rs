//! A trace that was recorded without redaction.

use std::path::{Path, PathBuf};

use super::{Key, Redactor};
use crate::trace::{self, Existing, Manifest, Options, Reader, Shape, Sink, Writer};

/// Why a trace was not redacted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read, or the other one cannot be written.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// It is a run.
    #[error(
        "{}: this is a run, with traces of nodes and a catalogue: redact the recording that it repeats",
        dir.display()
    )]
    Run {
        /// The directory.
        dir: PathBuf,
    },
    /// It is to replace itself.
    #[error("{}: give another directory for the redacted trace: this one is being read", dir.display())]
    Same {
        /// The directory.
        dir: PathBuf,
    },
}

/// Writes a redacted copy of a trace. Memory does not grow with it.
///
/// # Errors
/// A trace that cannot be read, that is a run, or that would be overwritten; a directory that cannot be written.
pub fn redact(from: &Path, to: &Path, existing: Existing, key: Key) -> Result<Manifest, Error> {
    let reader = Reader::open(from)?;
    let manifest = reader.manifest();
    if manifest.run.is_some() || !manifest.nodes.is_empty() {
        return Err(Error::Run { dir: from.into() });
    }
    let real = |path: &Path| path.canonicalize().ok();
    if real(to).is_some_and(|to| Some(to) == real(from)) {
        return Err(Error::Same { dir: to.into() });
    }
    let options =
        Options { inputs: manifest.inputs.clone(), existing, ..Options::new(manifest.engine, &*manifest.source) };
    let mut redactor = Redactor::new(key, manifest.engine);
    let mut writer = Writer::create(to, options)?;
    for request in reader.requests() {
        let mut request = request?;
        redactor.request(&mut request);
        writer.request(request);
        if writer.failed() {
            break;
        }
    }
    if manifest.shapes.is_some() {
        let shapes: Vec<Shape> = reader.shapes()?.into_iter().filter_map(|shape| redactor.shape(shape)).collect();
        writer.shapes(shapes)?;
    }
    writer.encrypted(manifest.encrypted.clone());
    if manifest.stopped {
        writer.stopped();
    }
    let mut losses = manifest.table.losses.clone();
    losses.merge(redactor.losses());
    Ok(writer.finish_like(&losses, manifest.complete, manifest.rebuilt)?)
}
