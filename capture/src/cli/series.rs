//! One trace, or a series of them.
//!
//! A rotation begins a new trace directory: each one that was closed is a whole trace with its shapes, its losses and its seal,
//! which can be shown, copied away, replayed or deleted while the recording goes on; and no manifest grows without end. Sessions
//! go on from one to the next: there they count as joined midway, and `merge` puts the series together again.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use splitproof_capture::sql;
use splitproof_capture::trace::{
    Encrypted, Engine, Error, Existing, Kind, Losses, Manifest, Options, Request, Shape, Sink, Table, Window, Writer,
};

/// When a new trace begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// After this time.
    pub every: Option<Duration>,
    /// When the files of the trace have so many bytes.
    pub bytes: Option<u64>,
}

impl Rotation {
    /// True when there is nothing to rotate.
    pub fn is_none(self) -> bool {
        self == Rotation::default()
    }

    fn is_due(self, age: Duration, bytes: u64) -> bool {
        /// It is looked at every second, so that up to half a second early is nearer than half a second late.
        const HALF: Duration = Duration::from_millis(500);
        self.every.is_some_and(|every| age + HALF >= every) || self.bytes.is_some_and(|limit| bytes >= limit)
    }
}

/// What could not be recorded so far.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// How much, by reason.
    pub losses: &'a Losses,
    /// The sessions that are encrypted.
    pub encrypted: &'a [Encrypted],
}

/// Writes one trace, or one after another.
pub struct Series {
    root: PathBuf,
    options: Options,
    rotation: Rotation,
    writer: Writer,
    began: Instant,
    number: u32,
    /// What was lost before the current trace.
    before: Losses,
    /// Sessions that were encrypted before it.
    encrypted_before: Vec<Encrypted>,
    /// Sessions that began in the current trace.
    here: HashSet<u64>,
    /// All sessions, where there are several traces.
    sessions: HashSet<u64>,
    /// Requests of the current trace by shape.
    counts: HashMap<u64, u64>,
    closing: Vec<JoinHandle<Result<Manifest, Error>>>,
    closed: Vec<Manifest>,
}

impl Series {
    /// Begins the first trace: the directory itself, or where there is a rotation a directory in it.
    pub fn create(root: PathBuf, options: Options, rotation: Rotation) -> Result<Self, Error> {
        let dir = if rotation.is_none() { root.clone() } else { root.join("00000") };
        if !rotation.is_none() {
            splitproof_capture::trace::check_directory(&root, options.existing)?;
        }
        let writer = Writer::create(dir, options.clone())?;
        Ok(Series {
            root,
            options,
            rotation,
            writer,
            began: Instant::now(),
            number: 0,
            before: Losses::default(),
            encrypted_before: Vec::new(),
            here: HashSet::new(),
            sessions: HashSet::new(),
            counts: HashMap::new(),
            closing: Vec::new(),
            closed: Vec::new(),
        })
    }

    /// The server's kind, where it is learnt from the traffic.
    pub fn engine(&mut self, engine: Engine) {
        self.options.engine = engine;
        self.writer.engine(engine);
    }

    /// True when a file could not be written.
    pub fn failed(&self) -> bool {
        self.writer.failed()
    }

    /// Takes a request.
    pub fn request(&mut self, mut request: Request) {
        if !self.rotation.is_none() {
            self.sessions.insert(request.session);
            if request.seq == 0 {
                self.here.insert(request.session);
            } else if self.number > 0 && !self.here.contains(&request.session) {
                request.joined_midway = true;
            }
            if request.kind == Kind::Disconnect {
                self.here.remove(&request.session);
            }
            if let Some(id) = request.shape_id {
                *self.counts.entry(id).or_default() += 1;
            }
        }
        self.writer.request(request);
    }

    /// Notes what was lost so far, and begins the next trace where it is time. `shapes` are those seen so far.
    pub fn tick(&mut self, lost: Lost<'_>, shapes: impl FnOnce() -> Vec<sql::Shape>) -> Result<(), Error> {
        let own = self.note(lost);
        self.writer.losses(&own);
        let due = !self.rotation.is_none() && self.rotation.is_due(self.began.elapsed(), self.writer.written());
        if due && !self.writer.failed() { self.rotate(lost, shapes()) } else { Ok(()) }
    }

    /// Notes what the current trace lost, and tells it.
    fn note(&self, lost: Lost<'_>) -> Losses {
        self.writer.encrypted(Encrypted::since(lost.encrypted, &self.encrypted_before));
        lost.losses.since(&self.before)
    }

    fn rotate(&mut self, lost: Lost<'_>, shapes: Vec<sql::Shape>) -> Result<(), Error> {
        self.number += 1;
        let dir = self.root.join(format!("{:05}", self.number));
        let options = Options { existing: Existing::Refuse, ..self.options.clone() };
        let writer = std::mem::replace(&mut self.writer, Writer::create(dir, options)?);
        let (own, shapes) = (lost.losses.since(&self.before), self.shapes_of(shapes));
        // Finding the facts of the shapes takes a while, in which the source must not wait.
        self.closing.push(std::thread::spawn(move || {
            writer.shapes(Shape::collected(&shapes))?;
            writer.finish(&own)
        }));
        (self.before, self.encrypted_before) = (lost.losses.clone(), lost.encrypted.to_vec());
        self.began = Instant::now();
        self.here.clear();
        self.collect(false)
    }

    /// The shapes of the current trace, with its own counts.
    fn shapes_of(&mut self, shapes: Vec<sql::Shape>) -> Vec<sql::Shape> {
        let counts = std::mem::take(&mut self.counts);
        if self.rotation.is_none() {
            return shapes;
        }
        let own = shapes.into_iter().filter_map(|shape| Some(sql::Shape { count: *counts.get(&shape.id)?, ..shape }));
        own.collect()
    }

    /// Looks at the traces that were being closed.
    fn collect(&mut self, wait: bool) -> Result<(), Error> {
        let (done, open) =
            std::mem::take(&mut self.closing).into_iter().partition(|thread| wait || thread.is_finished());
        self.closing = open;
        for thread in done {
            let died = |_| Error::WriterDied { dir: self.root.clone() };
            let manifest = thread.join().map_err(died)??;
            self.closed.push(manifest);
        }
        Ok(())
    }

    /// Ends the last trace. Tells what all of them hold together, and how many there are. `stopped`: there was more to read.
    pub fn finish(mut self, lost: Lost<'_>, shapes: Vec<sql::Shape>, stopped: bool) -> Result<(Manifest, u64), Error> {
        self.collect(true)?;
        let shapes = self.shapes_of(shapes);
        self.writer.shapes(Shape::collected(&shapes))?;
        if stopped {
            self.writer.stopped();
        }
        let own = self.note(lost);
        let mut manifest = self.writer.finish(&own)?;
        let traces = 1 + self.closed.len() as u64;
        manifest.table = self.closed.iter().map(|manifest| &manifest.table).fold(manifest.table, together);
        (manifest.table.losses, manifest.encrypted) = (lost.losses.clone(), lost.encrypted.to_vec());
        if traces > 1 {
            manifest.table.sessions = self.sessions.len() as u64;
        }
        Ok((manifest, traces))
    }
}

/// The requests and the window of two tables.
fn together(mut sum: Table, other: &Table) -> Table {
    sum.requests += other.requests;
    sum.window = match (sum.window, other.window) {
        (Some(one), Some(other)) => Some(Window {
            first_start_ns: one.first_start_ns.min(other.first_start_ns),
            last_end_ns: one.last_end_ns.max(other.last_end_ns),
        }),
        (one, other) => one.or(other),
    };
    sum
}

#[cfg(test)]
mod tests {
    use splitproof_capture::sql::{Dialect, Shapes};
    use splitproof_capture::trace::{Loss, Reader};

    use super::*;

    #[test]
    fn every_trace_of_a_series_is_whole() {
        let dir = tempfile::tempdir().expect("directory");
        let root = dir.path().join("series");
        let rotation = Rotation { every: Some(Duration::ZERO), bytes: None };
        let mut series =
            Series::create(root.clone(), Options::new(Engine::Postgresql, "live"), rotation).expect("creates");
        let mut shapes = Shapes::new(Dialect::Postgresql);
        let mut losses = Losses::default();
        let encrypted = |sessions: u32| {
            let (server, encryption, reason) = ("db:5432".into(), "TLS 1.3".into(), "there is no key log".into());
            vec![Encrypted { server, sessions: sessions.into(), encryption, reason }]
        };
        for part in 0..3_u32 {
            let sql = format!("SELECT column{part} FROM t");
            let row = Request {
                sql: Some(sql.as_str().into()),
                shape_id: Some(shapes.id(&sql)),
                ..Request::new(7, part, i64::from(part), Kind::Query)
            };
            series.request(row);
            losses.add(Loss::Gap, 10);
            if part < 2 {
                let lost = Lost { losses: &losses, encrypted: &encrypted(part + 1) };
                series.tick(lost, || shapes.iter().cloned().collect()).expect("rotates");
            }
        }
        let lost = Lost { losses: &losses, encrypted: &encrypted(3) };
        let (all, traces) = series.finish(lost, shapes.iter().cloned().collect(), false).expect("finishes");
        assert_eq!(all.encrypted, encrypted(3));
        assert_eq!((all.table.requests, all.table.sessions, traces, all.table.losses.get(Loss::Gap)), (3, 1, 3, 30));
        for part in 0..3 {
            let reader = Reader::open(root.join(format!("0000{part}"))).expect("opens");
            let rows: Vec<Request> = reader.requests().collect::<Result<_, _>>().expect("reads");
            let shapes = reader.shapes().expect("reads");
            assert!(reader.manifest().complete);
            assert_eq!(reader.manifest().table.losses.get(Loss::Gap), 10, "each trace has its own losses");
            assert_eq!(reader.manifest().encrypted, encrypted(1), "and its own encrypted sessions");
            assert_eq!((rows.len(), shapes.len(), shapes[0].count), (1, 1, 1));
            assert_eq!(rows[0].joined_midway, part > 0);
            assert!(shapes[0].sample.contains(&format!("column{part}")), "{shapes:?}");
        }
        assert!(Series::create(root, Options::new(Engine::Postgresql, "live"), rotation).is_err(), "it is not empty");
    }
}
