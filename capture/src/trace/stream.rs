//! One series of Parquet files, filled by a thread of its own.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::age::{Ages, Key};
use super::column::{CHUNK, Row};
use super::directory;
use super::error::Error;
use super::file::{Label, NewFile, Seal};
use super::loss::{Loss, Losses};
use super::manifest::{File, Group, Manifest, Table, Window};
use super::request::{Request, RequestBuilders};
use super::writer::Options;

/// Rows that travel to the thread together.
const BATCH: usize = 256;
/// Bytes of their unbounded parts after which rows travel though they are fewer.
const BATCH_BYTES: usize = 1 << 18;
/// Batches that may wait before the source has to: as many rows as a fast source brings while the thread writes a file.
const QUEUE: usize = 256;
/// The rows that are left when the source has ended are written into so many files at the same time: its processor is free then.
const LAST_FILES: usize = 2;
/// The fewest rows for which such a file is worth it.
const LEAST_ROWS: usize = 8192;
/// Data of one request beyond this is not kept: a column of a file is limited to 2 GiB.
const MAX_REQUEST_BYTES: usize = 512 << 20;

/// What the writers of one trace share.
pub(crate) struct Shared {
    pub(crate) dir: PathBuf,
    manifest: Mutex<Manifest>,
    failure: Mutex<Option<Error>>,
    failed: AtomicBool,
}

/// A panic elsewhere does not spoil these values: every change to them is complete in itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(dir: PathBuf, manifest: Manifest) -> Self {
        Shared { dir, manifest: Mutex::new(manifest), failure: Mutex::new(None), failed: AtomicBool::new(false) }
    }

    /// Changes the manifest, in memory and on disk.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Manifest)) -> Result<Manifest, Error> {
        let mut manifest = lock(&self.manifest);
        change(&mut manifest);
        directory::write_manifest(&self.dir, &manifest)?;
        Ok(manifest.clone())
    }

    /// Changes the manifest in memory; the next flush writes it.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Manifest)) {
        change(&mut lock(&self.manifest));
    }

    pub(crate) fn manifest(&self) -> Manifest {
        lock(&self.manifest).clone()
    }

    fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match lock(&self.failure).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Requests that travel together, and the bytes of their unbounded parts.
#[derive(Default)]
struct Batch {
    rows: Vec<Request>,
    bytes: usize,
}

/// The sending side: takes requests, in the order in which they finish.
pub(crate) struct Stream {
    node: Option<String>,
    shared: Arc<Shared>,
    /// Requests that wait for their batch to fill; the thread empties it when a flush is due by time.
    waiting: Arc<Mutex<Batch>>,
    batches: Option<SyncSender<Vec<Request>>>,
    /// Memory of batches that were written.
    spare: Receiver<Vec<Request>>,
    thread: Option<JoinHandle<()>>,
    oversized: u64,
}

impl Stream {
    pub(crate) fn start(shared: &Arc<Shared>, node: Option<String>, options: &Options) -> Result<Self, Error> {
        let stem = match &node {
            Some(name) => directory::node_stem(name)?,
            None => directory::REQUESTS.to_string(),
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let (written, spare) = sync_channel(QUEUE);
        let waiting = Arc::new(Mutex::new(Batch::default()));
        let filler = Filler {
            shared: shared.clone(),
            waiting: waiting.clone(),
            node: node.clone(),
            stem,
            flush_rows: options.flush_rows.max(1),
            flush_bytes: options.flush_bytes.min(MAX_REQUEST_BYTES),
            flush_every: options.flush_every,
            builders: Request::builders(),
            batches: Vec::new(),
            written,
            order: Vec::new(),
            bytes: 0,
            window: None,
            ages: Ages::default(),
            files: 0,
            sessions: HashSet::new(),
            told: Losses::default(),
        };
        let thread = std::thread::Builder::new()
            .name("trace-writer".into())
            .spawn(move || filler.run(receiver))
            .map_err(Error::io(&shared.dir, "start the writer thread for"))?;
        Ok(Stream {
            node,
            shared: shared.clone(),
            waiting,
            batches: Some(sender),
            spare,
            thread: Some(thread),
            oversized: 0,
        })
    }

    pub(crate) fn push(&mut self, mut request: Request) {
        let mut bytes = weight(&request);
        if bytes > MAX_REQUEST_BYTES {
            // Only COPY data, or a text or parameter that no server accepts, can get here.
            (request.copy_data, request.copy_lengths) = (Vec::new(), Vec::new());
            (request.params, request.param_names) = (Vec::new(), Vec::new());
            if weight(&request) > MAX_REQUEST_BYTES {
                (request.sql, request.sql_raw) = (None, None);
            }
            request.truncated = true;
            let kept = weight(&request);
            self.oversized += (bytes - kept) as u64;
            bytes = kept;
        }
        let mut waiting = lock(&self.waiting);
        if waiting.rows.capacity() == 0 {
            waiting.rows = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        }
        waiting.rows.push(request);
        waiting.bytes += bytes;
        if waiting.rows.len() >= BATCH || waiting.bytes >= BATCH_BYTES {
            let batch = std::mem::take(&mut *waiting);
            drop(waiting);
            self.send(batch.rows);
        }
    }

    fn send(&self, batch: Vec<Request>) {
        let sent = self.batches.as_ref().map(|batches| batches.send(batch));
        // The thread takes batches until this side hangs up, even after a failure.
        if !matches!(sent, Some(Ok(()))) {
            self.shared.fail(Error::WriterDied { dir: self.shared.dir.clone() });
        }
    }

    /// Tells what the source has lost so far; the next flush writes it down.
    pub(crate) fn losses(&self, losses: &Losses) {
        let mut losses = losses.clone();
        losses.add(Loss::Oversized, self.oversized);
        self.shared.note(|manifest| table(manifest, self.node.as_deref()).losses = losses);
    }

    /// Writes everything that is left.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut *lock(&self.waiting));
        if !batch.rows.is_empty() {
            self.send(batch.rows);
        }
        self.batches = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            self.shared.fail(Error::WriterDied { dir: self.shared.dir.clone() });
        }
        self.shared.check()
    }
}

impl Drop for Stream {
    /// A recording that ends by an error keeps what it has.
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.finish();
        }
    }
}

/// The table of the manifest that belongs to a node, or the trace's own.
fn table<'a>(manifest: &'a mut Manifest, node: Option<&str>) -> &'a mut Table {
    match node {
        None => &mut manifest.table,
        Some(name) => manifest.nodes.entry(name.to_string()).or_default(),
    }
}

/// Bytes of the parts of a request that have no bound.
fn weight(request: &Request) -> usize {
    let text = request.sql.as_ref().map_or(0, |sql| sql.len()) + request.sql_raw.as_ref().map_or(0, |sql| sql.len());
    let params = request.params.iter().map(|param| 8 + param.value.as_ref().map_or(0, |value| value.len()));
    let names = request.param_names.iter().map(|name| 4 + name.len());
    let copied = request.copy_data.iter().map(|data| 4 + data.len());
    text + params.chain(names).chain(copied).sum::<usize>()
}

/// The thread's side: collects rows, and writes a file when there are enough.
struct Filler {
    shared: Arc<Shared>,
    waiting: Arc<Mutex<Batch>>,
    node: Option<String>,
    stem: String,
    flush_rows: usize,
    flush_bytes: usize,
    flush_every: Option<Duration>,
    builders: RequestBuilders,
    /// Rows as they came; those of `order` are not written yet.
    batches: Vec<Vec<Request>>,
    /// Takes back the memory of those that are written.
    written: SyncSender<Vec<Request>>,
    order: Vec<Place>,
    bytes: usize,
    window: Option<Window>,
    ages: Ages,
    files: usize,
    sessions: HashSet<u64>,
    /// The losses that the manifest on disk tells.
    told: Losses,
}

/// Where a row waits: its batch, and its place there.
type Place = (Key, u32, u32);

impl Filler {
    fn run(mut self, batches: Receiver<Vec<Request>>) {
        let mut flushed = Instant::now();
        loop {
            let received = match self.flush_every {
                Some(every) => batches.recv_timeout((flushed + every).saturating_duration_since(Instant::now())),
                None => batches.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let batch = match received {
                Ok(batch) => batch,
                Err(RecvTimeoutError::Timeout) => std::mem::take(&mut *lock(&self.waiting)).rows,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.collect(batch);
            if self.flush_every.is_some_and(|every| flushed.elapsed() >= every) {
                self.flush(1);
                flushed = Instant::now();
            }
        }
        self.flush(LAST_FILES);
    }

    fn collect(&mut self, batch: Vec<Request>) {
        let places: Vec<(Key, i64, usize)> = (batch.iter())
            .map(|row| ((row.start_ns, row.session, row.seq), row.end_ns().unwrap_or(row.start_ns), weight(row)))
            .collect();
        self.batches.push(batch);
        for (row, (key, last_end_ns, bytes)) in places.into_iter().enumerate() {
            if self.order.len() >= self.flush_rows || self.bytes.saturating_add(bytes) > self.flush_bytes {
                self.flush(1);
            }
            self.bytes += bytes;
            self.order.push((key, self.batches.len() as u32 - 1, row as u32));
            self.sessions.insert(key.1);
            Window::cover(&mut self.window, Window { first_start_ns: key.0, last_end_ns });
        }
    }

    /// Writes what is there into so many files.
    fn flush(&mut self, files: usize) {
        if self.order.is_empty() {
            self.tell_losses();
            return;
        }
        self.order.sort_unstable();
        let order = std::mem::take(&mut self.order);
        self.bytes = 0;
        // After a failure the rest is taken and let go, so that the source does not block on a full queue.
        if !self.shared.failed()
            && let Err(error) = self.write(&order, files)
        {
            self.shared.fail(error);
        }
        // Rows of the last batch may still be to come.
        for mut batch in self.batches.drain(..self.batches.len() - 1) {
            batch.clear();
            // Where there is enough of it, it is freed.
            let _ = self.written.try_send(batch);
        }
    }

    /// Writes the manifest down when only the losses have grown since the last time.
    fn tell_losses(&mut self) {
        let losses = table(&mut self.shared.manifest(), self.node.as_deref()).losses.clone();
        if losses != self.told && !self.shared.failed() {
            if let Err(error) = self.shared.update(|_| ()) {
                self.shared.fail(error);
            }
            self.told = losses;
        }
    }

    /// Writes these rows into so many files, at the same time, or into fewer where they are few.
    fn write(&mut self, order: &[Place], files: usize) -> Result<(), Error> {
        let files = files.min(order.len() / LEAST_ROWS).max(1);
        let parts: Vec<Part<'_>> = order.chunks(order.len().div_ceil(files)).map(|order| self.part(order)).collect();
        let (builders, batches, shared) = (&mut self.builders, &self.batches, &*self.shared);
        let written: Vec<Result<File, Error>> = std::thread::scope(|scope| {
            let mut parts = parts.into_iter();
            let first = parts.next();
            let others: Vec<_> =
                parts.map(|part| scope.spawn(move || part.write(batches, &mut Request::builders(), shared))).collect();
            let first = first.map(|part| part.write(batches, builders, shared));
            let died = |_| Err(Error::WriterDied { dir: shared.dir.clone() });
            first.into_iter().chain(others.into_iter().map(|other| other.join().unwrap_or_else(died))).collect()
        });
        let node = self.node.clone();
        let mut failure = None;
        // What was written stays, also when another file could not be.
        let mut failed = |error| failure = failure.take().or(Some(error));
        let written: Vec<File> = written.into_iter().filter_map(|file| file.map_err(&mut failed).ok()).collect();
        if !written.is_empty() {
            let manifest = self.shared.update(|manifest| {
                let table = table(manifest, node.as_deref());
                table.requests += written.iter().flat_map(|file| &file.groups).map(|group| group.rows).sum::<u64>();
                table.files.extend(written);
                table.sessions = self.sessions.len() as u64;
                table.window = self.window;
            })?;
            self.told = manifest.table(self.node.as_deref()).map(|table| table.losses.clone()).unwrap_or_default();
        }
        failure.map_or(Ok(()), Err)
    }

    /// Takes the next file's name and the age of its rows.
    fn part<'a>(&mut self, order: &'a [Place]) -> Part<'a> {
        let name = directory::file_name(&self.stem, self.files);
        let keys: Vec<Key> = order.iter().map(|&(key, ..)| key).collect();
        let groups = self.ages.split(&keys);
        self.ages.push(&keys);
        self.files += 1;
        Part { name, order, groups }
    }
}

/// The rows of one file, in their order.
struct Part<'a> {
    name: String,
    order: &'a [Place],
    groups: Vec<Range<usize>>,
}

impl Part<'_> {
    fn write(self, batches: &[Vec<Request>], builders: &mut RequestBuilders, shared: &Shared) -> Result<File, Error> {
        let row = |&(_, batch, row): &Place| &batches[batch as usize][row as usize];
        let mut durations = self.order.iter().map(row).flat_map(|row| [row.first_row_ns, row.duration_ns]).flatten();
        let whole_micros = durations.all(|nanos| nanos % 1000 == 0);
        let label = Label::new::<Request>(&shared.manifest(), whole_micros);
        let mut file = NewFile::create::<Request>(&shared.dir.join(&self.name), &label)?;
        let mut groups = Vec::new();
        for group in self.groups {
            let (first, last) = (self.order[group.start].0, self.order[group.end - 1].0);
            groups.push(Group { rows: group.len() as u64, first_start_ns: first.0, last_start_ns: last.0 });
            for places in self.order[group].chunks(CHUNK) {
                for place in places {
                    row(place).append(builders);
                }
                file.rows::<Request>(Request::finish(builders))?;
            }
            file.end_group()?;
        }
        let Seal { bytes, digest } = file.finish()?;
        Ok(File { name: self.name, bytes, xxh3: digest, groups })
    }
}
