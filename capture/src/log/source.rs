//! The files of a log in order, and when to stop.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::input::{Input, Reached};
use super::records::Records;
use super::unread::{Places, Unread};
use super::{Error, Format, Settings, Statistics};
use crate::session::Shared;
use crate::trace::{Loss, Losses, Sink};
use crate::twice;

/// How often the sink hears of the losses.
const TELL_LOSSES_EVERY: Duration = Duration::from_secs(1);
/// How often the progress is told.
const TELL_PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// Entries of several processes may be written in a slightly different order than they are stamped.
const OVERLAP_NS: i64 = 1_000_000_000;

/// The files of one log, one after another as given.
#[derive(Clone, Debug)]
pub struct Source {
    /// What kind of log it is.
    pub format: Format,
    /// What the log itself does not tell.
    pub settings: Settings,
    /// The files, in the order in which they were written; `-` is standard input.
    pub files: Vec<PathBuf>,
}

/// How far a source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What was read.
    pub statistics: &'a Statistics,
    /// Bytes of all files; `None` where the end is not known.
    pub total_bytes: Option<u64>,
}

/// Hears how far a source has come.
pub type Observer = dyn FnMut(Progress<'_>);

/// How to stop a source and to watch it.
#[derive(Default)]
pub struct Control {
    /// Stops the source when it becomes true.
    pub stop: Option<Arc<AtomicBool>>,
    /// Called a few times a second at most.
    pub progress: Option<Box<Observer>>,
}

/// How a source ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// What was read.
    pub statistics: Statistics,
    /// What could not be used.
    pub losses: Losses,
    /// Files that could not be read to their end, and what the user must know of the contents.
    pub damaged: Vec<Error>,
    /// Files that begin before the one before them ends.
    pub overlapping: Vec<Overlap>,
    /// Where the entries are that could not be read, file by file.
    pub unread: Vec<Unread>,
    /// It was told to stop before the end of the last file.
    pub stopped: bool,
}

/// A file that begins before an earlier one ends: given in the wrong order, or logs of several servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The file.
    pub path: PathBuf,
    /// Time of its first entry, nanoseconds since 1970 UTC.
    pub first_ns: i64,
    /// Time of the latest entry of the files before.
    pub before_ns: i64,
}

impl Source {
    /// Finds out, before anything is read, whether the files can be used. Returns the bytes of all files, where they are
    /// known.
    ///
    /// # Errors
    ///
    /// The first file that cannot be used.
    pub fn check(&self) -> Result<Option<u64>, Error> {
        let mut total = Some(0);
        let mut regular = Vec::new();
        for path in &self.files {
            let bytes = Input::check(path)?;
            regular.extend(bytes.is_some().then(|| path.clone()));
            total = total.zip(bytes).map(|(total, bytes)| total + bytes);
        }
        match twice::find(&regular) {
            Ok(None) => Ok(total),
            Ok(Some((first, second))) => Err(Error::Twice { first, second }),
            Err((path, source)) => Err(Error::Unreadable { path, source }),
        }
    }

    /// Reads every file to its end, or until told to stop.
    ///
    /// # Errors
    ///
    /// A file that cannot be used: found before any file is read.
    pub fn run(&self, shared: &Shared, out: &mut dyn Sink, control: Control) -> Result<Ended, Error> {
        let total_bytes = self.check()?;
        let stop = control.stop.clone();
        let inputs = self.files.iter().map(|path| Input::open(path, stop.clone()));
        Ok(run(self.format, &self.settings, inputs, shared, out, Pace::new(control, total_bytes)))
    }
}

fn run(
    format: Format,
    settings: &Settings,
    inputs: impl Iterator<Item = Result<Input, Error>>,
    shared: &Shared,
    out: &mut dyn Sink,
    mut pace: Pace,
) -> Ended {
    let mut ended = Ended::default();
    let mut reader = format.reader(settings);
    let mut unread = Places::default();
    let mut records = Records {
        sink: out,
        shared,
        statistics: &mut ended.statistics,
        losses: &mut ended.losses,
        damaged: &mut ended.damaged,
        pace: &mut pace,
        first_ns: None,
        unread: &mut unread,
        path: PathBuf::new(),
        reached: Reached::default(),
        unit: format.unit(),
        place: 0,
    };
    let mut stopped = false;
    for input in inputs {
        let mut input = match input {
            Ok(input) => input,
            Err(error) => {
                records.damaged.push(error);
                continue;
            }
        };
        let before_ns = records.statistics.last_ns;
        records.first_ns = None;
        records.path = input.path().to_owned();
        records.reached = input.reached();
        reader.read(&mut input, &mut records);
        let read = input.reached();
        records.statistics.lines += read.lines;
        records.pace.next_file(read.taken);
        stopped |= input.is_stopped();
        records.statistics.bytes = records.pace.done;
        records.damaged.extend(input.damage());
        records.unread.end_of_file();
        ended.overlapping.extend(overlap(input.path(), records.first_ns, before_ns));
    }
    reader.finish(&mut records);
    (ended.unread, ended.stopped) = (unread.into_all(), stopped);
    ended
}

impl Format {
    /// Reads logs that are opened already, in order, each with the name that messages give it.
    pub fn read(
        self,
        settings: &Settings,
        logs: Vec<(PathBuf, Box<dyn Read>)>,
        shared: &Shared,
        out: &mut dyn Sink,
    ) -> Ended {
        let inputs = logs.into_iter().map(|(name, log)| Input::over(&name, log, None));
        run(self, settings, inputs, shared, out, Pace::new(Control::default(), None))
    }
}

impl Ended {
    /// What is wrong with the counts; `None` when every entry is accounted for. `rows` is how many requests came out.
    pub fn contradiction(&self, rows: u64) -> Option<String> {
        let lost: u64 =
            self.losses.iter().filter(|(loss, _)| loss.unit() == Loss::ENTRIES).map(|(_, amount)| amount).sum();
        let Statistics { entries, opened, joined, made_up, .. } = self.statistics;
        if entries != opened + joined + lost {
            return Some(format!("{entries} entries: {opened} opened, {joined} joined, {lost} lost"));
        }
        (rows != opened + made_up).then(|| format!("{rows} rows: {opened} opened, {made_up} made up"))
    }
}

fn overlap(path: &Path, first_ns: Option<i64>, before_ns: Option<i64>) -> Option<Overlap> {
    let (first_ns, before_ns) = first_ns.zip(before_ns)?;
    let overlaps = first_ns < before_ns.saturating_sub(OVERLAP_NS);
    overlaps.then(|| Overlap { path: path.to_owned(), first_ns, before_ns })
}

/// Looks at the clock between batches of entries.
pub(super) struct Pace {
    control: Control,
    told: Instant,
    told_losses: Instant,
    total_bytes: Option<u64>,
    /// Bytes of the files before.
    done: u64,
}

impl Pace {
    fn new(control: Control, total_bytes: Option<u64>) -> Self {
        let now = Instant::now();
        Pace { control, told: now, told_losses: now, total_bytes, done: 0 }
    }

    fn next_file(&mut self, bytes: u64) {
        self.done += bytes;
    }

    /// Tells the progress and the losses, when that is due.
    pub fn look(&mut self, taken: u64, statistics: &mut Statistics, losses: &Losses, out: &mut dyn Sink) {
        statistics.bytes = self.done + taken;
        if self.told_losses.elapsed() >= TELL_LOSSES_EVERY {
            self.told_losses = Instant::now();
            out.losses(losses);
        }
        if let Some(progress) = self.control.progress.as_mut().filter(|_| self.told.elapsed() >= TELL_PROGRESS_EVERY) {
            self.told = Instant::now();
            progress(Progress { statistics, total_bytes: self.total_bytes });
        }
    }
}
