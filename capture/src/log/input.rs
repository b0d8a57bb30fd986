//! One file of a log: opened, decompressed, and cut into lines of limited length.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use super::{Error, Records};
use crate::clock::Clock;
use crate::unpack::unpack;

/// Bytes that are read and decompressed together.
const BUFFER: usize = 128 << 10;
/// What one line may hold.
pub(super) const LINE_LIMIT: usize = 64 << 20;

/// What files can be that are no log as they are: their first bytes, what that is, what to do.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"BZh", "compressed with bzip2", "unpack it on the way: bzcat FILE | splitproof-capture log ... -"),
    (b"\xfd7zXZ\0", "compressed with xz", "unpack it on the way: xzcat FILE | splitproof-capture log ... -"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "unpack it on the way: lz4cat FILE | splitproof-capture log ... -"),
    (b"PK\x03\x04", "a zip archive", "unpack it on the way: unzip -p FILE | splitproof-capture log ... -"),
    (b"\xd4\xc3\xb2\xa1", PACKETS, PACKETS_REMEDY),
    (b"\xa1\xb2\xc3\xd4", PACKETS, PACKETS_REMEDY),
    (b"\x4d\x3c\xb2\xa1", PACKETS, PACKETS_REMEDY),
    (b"\x0a\x0d\x0d\x0a", PACKETS, PACKETS_REMEDY),
    (b"PAR1", "a Parquet file", "give the log that it was made from"),
];
const PACKETS: &str = "a capture of packets";
const PACKETS_REMEDY: &str = "record it with splitproof-capture packets";

/// One file of a log, or standard input.
///
/// Where it cannot be read further it ends, and [`damage`](Input::damage) tells why.
pub(super) struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    /// Bytes taken from the file, compressed as they may be.
    taken: Rc<Cell<u64>>,
    stop: Option<Arc<AtomicBool>>,
    stopped: bool,
    /// A line that is not whole in the reader's buffer.
    line: Vec<u8>,
    /// Bytes at the start of the reader's buffer that the last line took.
    read: usize,
    lines: u64,
    /// Bytes of text so far.
    bytes: u64,
    damage: Option<io::Error>,
    /// The first line ended as Windows ends lines.
    returns: bool,
    /// When the file was last written, nanoseconds since 1970 UTC; for other inputs now.
    written_ns: i64,
}

/// How far an input was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// Lines.
    pub lines: u64,
    /// Bytes of text, unpacked.
    pub bytes: u64,
    /// Bytes taken from the file, compressed as they may be.
    pub taken: u64,
}

/// A line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its bytes, at most [`LINE_LIMIT`].
    pub bytes: &'a [u8],
    /// Bytes beyond the limit, which were passed over.
    pub cut: u64,
    /// False for a last line without an end: its writer may have been cut off.
    pub ended: bool,
}

impl Input {
    /// Opens a file. `-` is standard input.
    pub fn open(path: &Path, stop: Option<Arc<AtomicBool>>) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let raw: Box<dyn Read> = match is_standard(path) {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path).map_err(unreadable)?),
        };
        let mut input = Self::over(path, raw, stop)?;
        let written = fs::metadata(path).and_then(|metadata| metadata.modified());
        let since_1970 = written.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        if let Some(ns) = since_1970.and_then(|since| i64::try_from(since.as_nanos()).ok()) {
            input.written_ns = ns;
        }
        Ok(input)
    }

    /// Over any bytes; `path` is for messages.
    pub fn over(path: &Path, raw: Box<dyn Read>, stop: Option<Arc<AtomicBool>>) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let taken = Rc::new(Cell::new(0));
        let mut raw = Counting { raw, taken: Rc::clone(&taken) };
        let mut head = Vec::with_capacity(8);
        (&mut raw).take(8).read_to_end(&mut head).map_err(unreadable)?;
        if let Some(&(_, what, remedy)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
            return Err(Error::NotALog { path: path.to_owned(), what, remedy });
        }
        let (_, unpacked) = unpack(io::Cursor::new(head).chain(raw)).map_err(unreadable)?;
        let mut reader: Box<dyn BufRead> = Box::new(BufReader::with_capacity(BUFFER, unpacked));
        // A byte order mark is not text. What cannot be read shows at the first line.
        if reader.fill_buf().is_ok_and(|start| start.starts_with(b"\xef\xbb\xbf")) {
            reader.consume(3);
        }
        Ok(Input {
            path: path.to_owned(),
            reader,
            taken,
            stop,
            stopped: false,
            line: Vec::new(),
            read: 0,
            lines: 0,
            bytes: 0,
            damage: None,
            returns: false,
            written_ns: Clock::start().now_ns(),
        })
    }

    /// Finds out, before anything is read, whether a file can be opened and may be a log. Returns its size in bytes; `None`
    /// for standard input and pipes, which can be opened only once.
    pub fn check(path: &Path) -> Result<Option<u64>, Error> {
        if !regular(path)? {
            return Ok(None);
        }
        Input::open(path, None)?;
        let metadata = fs::metadata(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        Ok(Some(metadata.len()))
    }

    /// Where the bytes come from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it was last written, nanoseconds since 1970 UTC.
    pub fn written_ns(&self) -> i64 {
        self.written_ns
    }

    /// How far it was read.
    pub fn reached(&self) -> Reached {
        Reached { lines: self.lines, bytes: self.bytes, taken: self.taken.get() }
    }

    /// Whether it was told to stop before its end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Why it ended before its end.
    pub fn damage(&mut self) -> Option<Error> {
        let source = self.damage.take()?;
        Some(Error::Damaged { path: self.path.clone(), bytes: self.bytes, source })
    }

    /// The next bytes, which stay until they are [consumed](Self::consume); none at the end. For formats without lines.
    pub fn fill(&mut self) -> &[u8] {
        self.reader.consume(std::mem::take(&mut self.read));
        self.stopped |= self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.stopped || self.damage.is_some() {
            return &[];
        }
        // Not returned at once, since the borrow checker would keep `self` borrowed where it failed.
        if let Err(error) = self.reader.fill_buf() {
            self.damage = Some(error);
            return &[];
        }
        self.reader.fill_buf().unwrap_or_default()
    }

    /// Takes bytes that [`fill`](Self::fill) gave.
    pub fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.bytes += bytes as u64;
    }

    /// Hands out every line, with how far the file was read in `out`. False where there may be more of the last one: it has no
    /// end, or the reading was stopped.
    pub fn each_line(&mut self, out: &mut Records<'_>, mut take: impl FnMut(Line<'_>, &mut Records<'_>)) -> bool {
        let mut ended = true;
        while let Some((line, reached)) = self.line() {
            ended = line.ended;
            out.reached = reached;
            take(line, out);
        }
        ended && !self.is_stopped()
    }

    /// The next line, and how far the file was read with it; `None` at the end.
    fn line(&mut self) -> Option<(Line<'_>, Reached)> {
        if let Some(length) = memchr::memchr(b'\n', self.fill()) {
            // Most lines are whole in the buffer, where they stay until the next one is asked for.
            self.read = length + 1;
            self.bytes += length as u64 + 1;
            self.lines += 1;
            let reached = self.reached();
            let line = self.reader.fill_buf().ok()?.get(..length)?;
            self.returns = if self.lines == 1 { line.ends_with(b"\r") } else { self.returns };
            let bytes = if self.returns { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            return Some((Line { bytes, cut: 0, ended: true }, reached));
        }
        self.line.clear();
        let mut cut = 0;
        let mut ended = false;
        let before = self.bytes;
        while !ended {
            let found = {
                let bytes = self.fill();
                let end = memchr::memchr(b'\n', bytes);
                (bytes.len(), end)
            };
            let (length, end) = match found {
                (0, _) => break,
                (_, Some(at)) => (at, true),
                (all, None) => (all, false),
            };
            ended = end;
            let room = LINE_LIMIT.saturating_sub(self.line.len()).min(length);
            let bytes = self.reader.fill_buf().unwrap_or_default();
            self.line.extend_from_slice(bytes.get(..room).unwrap_or_default());
            cut += (length - room) as u64;
            self.consume(length + usize::from(ended));
        }
        if self.bytes == before {
            return None;
        }
        self.lines += 1;
        if self.lines == 1 {
            self.returns = self.line.ends_with(b"\r");
        }
        if self.returns && ended && self.line.ends_with(b"\r") {
            self.line.pop();
        }
        let reached = self.reached();
        Some((Line { bytes: &self.line, cut, ended }, reached))
    }
}

/// Whether a path is a file whose contents can be looked at twice.
pub(super) fn regular(path: &Path) -> Result<bool, Error> {
    if is_standard(path) {
        return Ok(false);
    }
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        let remedy = "give the files in it, in the order in which they were written";
        return Err(Error::NotALog { path: path.to_owned(), what: "a directory", remedy });
    }
    Ok(metadata.is_file())
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Counts what is read.
struct Counting {
    raw: Box<dyn Read>,
    taken: Rc<Cell<u64>>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(buffer)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn input(bytes: &[u8]) -> Result<Input, Error> {
        Input::over(Path::new("a.log"), Box::new(io::Cursor::new(bytes.to_vec())), None)
    }

    #[track_caller]
    fn lines(bytes: &[u8]) -> (Vec<String>, bool) {
        let mut input = input(bytes).expect("a log");
        let mut lines = Vec::new();
        while let Some((line, _)) = input.line() {
            lines.push(String::from_utf8_lossy(line.bytes).into_owned());
        }
        (lines, input.damage().is_some())
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).expect("packs");
        packed.finish().expect("packs")
    }

    #[test]
    fn lines_are_the_same_packed_or_not() {
        let text = b"one\ntwo\n\nfour";
        let expected = ["one", "two", "", "four"].map(String::from).to_vec();
        assert_eq!(lines(text), (expected.clone(), false));
        assert_eq!(lines(&gzip(text)), (expected.clone(), false));
        // Rotated files that were packed one by one and put together.
        assert_eq!(lines(&[gzip(b"one\ntwo\n"), gzip(b"\nfour")].concat()), (expected.clone(), false));
        let zstd = |text: &[u8]| zstd::encode_all(text, 1).expect("packs");
        assert_eq!(lines(&zstd(text)), (expected.clone(), false));
        assert_eq!(lines(&[zstd(b"one\ntwo\n"), zstd(b"\nfour")].concat()), (expected.clone(), false));
        assert_eq!(lines(b"\xef\xbb\xbfone\r\ntwo\r\n\r\nfour"), (expected, false));
        assert_eq!(lines(b"one\ntwo\r\n").0, ["one", "two\r"], "only where the first line says so");
        assert_eq!(lines(b"").0, [""; 0]);
    }

    #[test]
    fn a_packed_file_that_is_cut_short_gives_what_it_holds() {
        let text: String = (0..10_000).map(|n| format!("{n} {}\n", n * 7919 % 1000)).collect();
        let packed = gzip(text.as_bytes());
        let (found, damaged) = lines(packed.get(..packed.len() / 2).expect("half"));
        assert!(damaged && found.len() > 100);
        assert!(text.starts_with(&found[..found.len() - 1].join("\n")));
    }

    #[test]
    fn what_is_no_log_is_named() {
        for (bytes, word) in
            [(&b"BZh91AY"[..], "bzip2"), (b"\xfd7zXZ\0\0", "xz"), (b"\xd4\xc3\xb2\xa1\x02\0", "packets")]
        {
            let error = input(bytes).err().expect("refused").to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_cut_and_counted() {
        let mut bytes = vec![b'a'; LINE_LIMIT + 5];
        bytes.extend_from_slice(b"\nb");
        let mut input = input(&bytes).expect("a log");
        let (line, _) = input.line().expect("a line");
        assert_eq!((line.bytes.len(), line.cut, line.ended), (LINE_LIMIT, 5, true));
        let (line, reached) = input.line().expect("another line");
        assert_eq!(line, Line { bytes: b"b", cut: 0, ended: false });
        assert_eq!((reached.lines, reached.bytes), (2, LINE_LIMIT as u64 + 7));
        assert_eq!(input.line(), None);
    }
}
