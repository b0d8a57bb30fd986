//! Writing a trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::column::Row;
use super::directory::{self, CATALOG, Existing};
use super::encrypted::Encrypted;
use super::error::Error;
use super::file::{Label, NewFile, Seal, digest};
use super::loss::Losses;
use super::manifest::{Engine, FORMAT, Manifest, Sealed, TOOL, Table};
use super::position::Position;
use super::request::{Request, Sink};
use super::shape::Shape;
use super::stream::{Shared, Stream};

/// How a trace is written.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's kind.
    pub engine: Engine,
    /// Where the traffic comes from: `packets`, `live`, `tap`, `log`, `merge` or `replay`.
    pub source: String,
    /// The files, interface or addresses that are recorded.
    pub inputs: Vec<String>,
    /// What to do with a trace that is already there.
    pub existing: Existing,
    /// Rows after which a file is written.
    pub flush_rows: usize,
    /// Bytes of SQL, parameters and COPY data after which a file is written.
    pub flush_bytes: usize,
    /// Time after which a file is written, for live sources; what a killed recording can lose.
    pub flush_every: Option<Duration>,
}

impl Options {
    /// The usual sizes: 65536 rows or 64 MiB in a file, and no limit by time.
    pub fn new(engine: Engine, source: impl Into<String>) -> Self {
        Options {
            engine,
            source: source.into(),
            inputs: Vec::new(),
            existing: Existing::Refuse,
            flush_rows: 65_536,
            flush_bytes: 64 << 20,
            flush_every: None,
        }
    }
}

/// Writes a trace directory. Requests may come in any order; readers get them by their start.
///
/// Encoding and compression happen on a thread of the writer's own. A [`Sink`] cannot fail, so a full disk shows in
/// [`failed`](Writer::failed) and in the result of [`finish`](Writer::finish). A writer that is dropped without
/// `finish` writes what it has and leaves the manifest marked incomplete.
pub struct Writer {
    shared: Arc<Shared>,
    options: Options,
    stream: Stream,
}

impl Writer {
    /// Starts a trace in a new or empty directory.
    pub fn create(dir: impl Into<PathBuf>, options: Options) -> Result<Self, Error> {
        let dir = dir.into();
        directory::prepare(&dir, options.existing)?;
        let manifest = Manifest {
            format: FORMAT,
            tool: TOOL.to_string(),
            engine: options.engine,
            source: options.source.clone(),
            inputs: options.inputs.clone(),
            complete: false,
            stopped: false,
            rebuilt: false,
            table: Table::default(),
            encrypted: Vec::new(),
            nodes: Default::default(),
            shapes: None,
            positions: None,
            sealed: Default::default(),
            run: None,
        };
        let shared = Arc::new(Shared::new(dir, manifest));
        shared.update(|_| ())?;
        let stream = Stream::start(&shared, None, &options)?;
        Ok(Writer { shared, options, stream })
    }

    /// The directory of the trace.
    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// Starts the trace of a node (`node-<name>-*.parquet`) beside this one.
    pub fn node(&self, name: &str) -> Result<NodeWriter, Error> {
        let stream = Stream::start(&self.shared, Some(name.to_string()), &self.options)?;
        self.shared.update(|manifest| drop(manifest.nodes.insert(name.to_string(), Table::default())))?;
        Ok(NodeWriter { stream })
    }

    /// Starts `positions.parquet`.
    pub fn positions(&self) -> Result<PositionWriter, Error> {
        let path = self.shared.dir.join(directory::POSITIONS);
        let file = NewFile::create::<Position>(&path, &Label::new::<Position>(&self.shared.manifest(), false))?;
        Ok(PositionWriter { shared: self.shared.clone(), file, builders: Position::builders(), waiting: 0, rows: 0 })
    }

    /// Writes `shapes.parquet`, in place of an earlier one.
    pub fn shapes(&self, shapes: impl IntoIterator<Item = Shape>) -> Result<(), Error> {
        let path = self.shared.dir.join(directory::SHAPES);
        let mut file = NewFile::create::<Shape>(&path, &Label::new::<Shape>(&self.shared.manifest(), false))?;
        let mut builders = Shape::builders();
        let mut rows = 0;
        for shape in shapes {
            shape.append(&mut builders);
            rows += 1;
        }
        if rows > 0 {
            file.rows::<Shape>(Shape::finish(&mut builders))?;
            file.end_group()?;
        }
        let seal = file.finish()?;
        self.shared.update(|manifest| {
            manifest.shapes = Some(rows as u64);
            keep(manifest, directory::SHAPES, seal);
        })?;
        Ok(())
    }

    /// Writes `catalog.json` of a run: what the pair's catalogue said, as its reader will get it back.
    pub fn catalog(&self, contents: &[u8]) -> Result<(), Error> {
        directory::write(&self.shared.dir.join(CATALOG), contents)?;
        self.shared.update(|manifest| keep(manifest, CATALOG, digest(contents)))?;
        Ok(())
    }

    /// Sets the `run` section of the manifest and writes it down at once.
    pub fn run(&self, run: &impl Serialize) -> Result<(), Error> {
        let path = self.shared.dir.join(directory::MANIFEST);
        let run = serde_json::to_value(run).map_err(|source| Error::Encode { path, source })?;
        self.shared.update(|manifest| manifest.run = Some(run))?;
        Ok(())
    }

    /// Sets the server's kind, where the source learns it only from the traffic: before the first request.
    pub fn engine(&mut self, engine: Engine) {
        self.options.engine = engine;
        self.shared.note(|manifest| manifest.engine = engine);
    }

    /// Notes which sessions could not be read, because they are encrypted; the next flush writes it down.
    pub fn encrypted(&self, sessions: Vec<Encrypted>) {
        self.shared.note(|manifest| manifest.encrypted = sessions);
    }

    /// Notes that it was told to stop before the end of its files, or of what was to be replayed.
    pub fn stopped(&self) {
        self.shared.note(|manifest| manifest.stopped = true);
    }

    /// Bytes of the files that were written.
    pub fn written(&self) -> u64 {
        self.shared.manifest().table.files.iter().map(|file| file.bytes).sum()
    }

    /// True when a file could not be written. Nothing more will be; `finish` tells why.
    pub fn failed(&self) -> bool {
        self.shared.failed()
    }

    /// Writes what is left and marks the trace complete. Finish the writers of nodes and positions before.
    pub fn finish(self, losses: &Losses) -> Result<Manifest, Error> {
        self.finish_like(losses, true, false)
    }

    /// The same for a trace that is made of others: complete only if they were, and with losses unknown where theirs are.
    pub fn finish_like(mut self, losses: &Losses, complete: bool, rebuilt: bool) -> Result<Manifest, Error> {
        self.stream.finish()?;
        self.stream.losses(losses);
        self.shared.update(|manifest| (manifest.complete, manifest.rebuilt) = (complete, rebuilt))
    }
}

impl Sink for Writer {
    fn request(&mut self, request: Request) {
        self.stream.push(request);
    }

    fn losses(&mut self, losses: &Losses) {
        self.stream.losses(losses);
    }
}

/// Notes what a file is that was just written.
fn keep(manifest: &mut Manifest, name: &str, seal: Seal) {
    manifest.sealed.insert(name.to_string(), Sealed { bytes: seal.bytes, xxh3: seal.digest });
}

/// Writes the trace of one node of a run.
pub struct NodeWriter {
    stream: Stream,
}

impl NodeWriter {
    /// Writes what is left.
    pub fn finish(mut self, losses: &Losses) -> Result<(), Error> {
        self.stream.finish()?;
        self.stream.losses(losses);
        Ok(())
    }
}

impl Sink for NodeWriter {
    fn request(&mut self, request: Request) {
        self.stream.push(request);
    }

    fn losses(&mut self, losses: &Losses) {
        self.stream.losses(losses);
    }
}

/// Writes `positions.parquet`, which gets its name when it is finished.
pub struct PositionWriter {
    shared: Arc<Shared>,
    file: NewFile,
    builders: <Position as Row>::Builders,
    waiting: usize,
    rows: u64,
}

impl PositionWriter {
    /// Rows that are encoded together.
    const GROUP: usize = 65_536;

    /// Takes one sample.
    pub fn push(&mut self, position: &Position) -> Result<(), Error> {
        position.append(&mut self.builders);
        self.waiting += 1;
        if self.waiting == Self::GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.waiting);
        self.rows += rows as u64;
        self.file.rows::<Position>(Position::finish(&mut self.builders))?;
        self.file.end_group()
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.waiting > 0 {
            self.flush()?;
        }
        let seal = self.file.finish()?;
        self.shared.update(|manifest| {
            manifest.positions = Some(self.rows);
            keep(manifest, directory::POSITIONS, seal);
        })?;
        Ok(())
    }
}
