//! Where packets come from, and when to stop.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::{
    Assembler, Error, Live, Statistics,
    file::{PacketFile, regular},
};
use crate::tls::KeyLog;
use crate::trace::Sink;
use crate::twice;

/// How often the sink hears of the losses.
const TELL_LOSSES_EVERY: Duration = Duration::from_secs(1);

/// A source of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Capture files, one after another as given, as one capture: a connection may go on from one file to the next.
    Files(Vec<PathBuf>),
    /// A network interface.
    Live(Live),
}

/// How far a source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What was read.
    pub statistics: &'a Statistics,
    /// Bytes of all files, with their headers; `None` where the end is not known.
    pub total_bytes: Option<u64>,
}

/// How to stop a source and to watch it.
#[derive(Default)]
pub struct Control<'a> {
    /// Stops the source when it becomes true.
    pub stop: Option<&'a AtomicBool>,
    /// Stops the source after this time.
    pub duration: Option<Duration>,
    /// Called when an interface is captured from: what passes it from now on is seen.
    pub begun: Option<&'a mut dyn FnMut()>,
    /// Takes the secrets for TLS that capture files bring with them.
    pub key_log: Option<&'a KeyLog>,
    /// Called a few times a second at most.
    pub progress: Option<&'a mut dyn FnMut(Progress<'_>)>,
}

/// Why a source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All was read.
    Finished,
    /// It was told to stop.
    Stopped,
    /// Its time was up.
    TimeUp,
}

/// A file that ends inside a packet, as when the recording machine stopped or the disk was full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// Packets before.
    pub packets: u64,
    /// Where the last, incomplete record begins.
    pub offset: u64,
    /// Bytes from there to the end of the file; counted as lost.
    pub bytes: u64,
}

/// How a source ended.
#[derive(Debug)]
pub struct Ended {
    /// Why.
    pub reason: Reason,
    /// Files that end inside a packet.
    pub cut: Vec<Cut>,
    /// Files that are damaged in their middle, or are no capture and could not be looked at beforehand because they
    /// are pipes; an interface that went away. What is sound was used, and so were the other files.
    pub damaged: Vec<Error>,
    /// Files that begin before the one before them ends.
    pub overlapping: Vec<Overlap>,
}

/// A file that begins before an earlier one ends: packets that are in both may count twice, and connections that go from one
/// to the other are torn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The file.
    pub path: PathBuf,
    /// Time of its first packet, nanoseconds since 1970 UTC.
    pub first_ns: i64,
    /// Time of the latest packet of the files before.
    pub before_ns: i64,
}

/// Packets of several queues may be written in a slightly different order than they came.
const OVERLAP_NS: i64 = 100_000_000;

impl Source {
    /// Finds out, before anything is read, whether files are captures and whether the interface can be captured from.
    /// Returns the bytes of all files, where they are known.
    ///
    /// # Errors
    ///
    /// The first file or interface that cannot be used.
    pub fn check(&self) -> Result<Option<u64>, Error> {
        match self {
            Source::Live(live) => live.check().map(|()| None),
            Source::Files(paths) => {
                let bytes = paths.iter().map(|path| PacketFile::check(path)).sum::<Result<_, _>>()?;
                not_twice(paths)?;
                Ok(bytes)
            }
        }
    }

    /// Feeds every packet to the assembler, until the end or until told to stop. Sessions stay open: the caller goes
    /// on with another source or calls [`Assembler::finish`].
    ///
    /// # Errors
    ///
    /// A file that cannot be opened, or is not a capture: found before any file is read. An interface that cannot be
    /// captured from.
    pub fn run(&self, to: &mut Assembler, out: &mut dyn Sink, control: Control<'_>) -> Result<Ended, Error> {
        let mut pace = Pace::new(control);
        let mut ended =
            Ended { reason: Reason::Finished, cut: Vec::new(), damaged: Vec::new(), overlapping: Vec::new() };
        match self {
            Source::Live(live) => {
                let mut capture = live.open(to.ports())?;
                pace.begun();
                match live.read(&mut capture, to, out, &mut pace) {
                    Ok(reason) => ended.reason = reason,
                    Err(error) => ended.damaged.push(error),
                }
            }
            Source::Files(paths) => {
                pace.total_bytes = self.check()?;
                for path in paths {
                    let before_ns = to.statistics().last_ns;
                    match PacketFile::open(path) {
                        Ok(mut file) => {
                            let outcome = file.read(to, out, &mut pace);
                            ended.cut.extend(outcome.cut);
                            ended.damaged.extend(outcome.damaged);
                            ended.overlapping.extend(overlap(path, file.first_ns, before_ns));
                        }
                        Err(error) => ended.damaged.push(error),
                    }
                    ended.reason = pace.reason();
                    if ended.reason != Reason::Finished {
                        break;
                    }
                }
            }
        }
        Ok(ended)
    }
}

fn not_twice(paths: &[PathBuf]) -> Result<(), Error> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(regular(path)?.then(|| path.clone()));
    }
    match twice::find(&files) {
        Ok(None) => Ok(()),
        Ok(Some((first, second))) => Err(Error::Twice { first, second }),
        Err((path, source)) => Err(Error::Unreadable { path, source }),
    }
}

fn overlap(path: &std::path::Path, first_ns: Option<i64>, before_ns: Option<i64>) -> Option<Overlap> {
    let (first_ns, before_ns) = first_ns.zip(before_ns)?;
    let overlaps = first_ns < before_ns.saturating_sub(OVERLAP_NS);
    overlaps.then(|| Overlap { path: path.to_owned(), first_ns, before_ns })
}

/// Looks at the clock and the stop flag between batches of packets.
pub(super) struct Pace<'a> {
    control: Control<'a>,
    began: Instant,
    told: Instant,
    told_losses: Instant,
    total_bytes: Option<u64>,
    reason: Reason,
}

impl<'a> Pace<'a> {
    fn new(control: Control<'a>) -> Self {
        let now = Instant::now();
        Pace { control, began: now, told: now, told_losses: now, total_bytes: None, reason: Reason::Finished }
    }

    fn begun(&mut self) {
        if let Some(begun) = &mut self.control.begun {
            begun();
        }
    }

    /// Takes secrets for TLS that a file brings with it.
    pub fn secrets(&self, log: &[u8]) {
        if let Some(keys) = self.control.key_log {
            keys.add(log);
        }
    }

    /// True when the source is to stop. Tells the progress too, and the losses.
    pub fn is_over(&mut self, to: &Assembler, out: &mut dyn Sink) -> bool {
        let statistics = to.statistics();
        if self.told_losses.elapsed() >= TELL_LOSSES_EVERY {
            self.told_losses = Instant::now();
            out.losses(&to.losses());
        }
        if let Some(progress) = self.control.progress.as_mut().filter(|_| self.told.elapsed().as_millis() >= 200) {
            self.told = Instant::now();
            progress(Progress { statistics, total_bytes: self.total_bytes });
        }
        if self.control.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.reason = Reason::Stopped;
        } else if self.control.duration.is_some_and(|duration| self.began.elapsed() >= duration) {
            self.reason = Reason::TimeUp;
        }
        self.reason != Reason::Finished
    }

    /// Why the source ends.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}
