//! Capture files: pcap and pcapng, as they are or compressed.
//!
//! - [`PacketFile`]: a file, opened; feeds its packets to the assembler, and goes on behind a damaged place
//! - `classic`, `ng`: the two formats; `record`: what a record is in either
//! - `buffer`: the bytes of a file, record by record
//!
//! They are read here and not through libpcap, which refuses a pcapng file with interfaces of different link types, passes
//! over secrets and drop counters, reads nothing behind a damaged record, and does not tell where that is.

mod buffer;
mod classic;
mod ng;
mod record;

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{Assembler, Cut, Error, source::Pace};
use crate::trace::{Loss, Sink};
use crate::unpack::{Packing, unpack};
use buffer::Buffer;
use classic::Classic;
use ng::Ng;
use record::Record;

/// Packets handed over between two looks at the clock and the stop flag.
const BATCH: u64 = 4096;

/// A capture file, opened.
pub(super) struct PacketFile {
    path: PathBuf,
    input: Buffer,
    format: Format,
    /// Bytes of the file; 0 when that is not known, or does not tell how far reading has come.
    pub bytes: u64,
    /// Time of the first packet that was read, nanoseconds since 1970 UTC.
    pub first_ns: Option<i64>,
}

enum Format {
    Classic(Classic),
    Ng(Ng),
}

impl Format {
    #[inline]
    fn next<'a>(&mut self, input: &'a mut Buffer) -> Record<'a> {
        match self {
            Format::Classic(file) => file.next(input),
            Format::Ng(file) => file.next(input),
        }
    }

    fn resume(&self, input: &mut Buffer) {
        match self {
            Format::Classic(file) => file.resume(input),
            Format::Ng(file) => file.resume(input),
        }
    }
}

/// What a file came to.
#[derive(Default)]
pub(super) struct Outcome {
    /// It ends inside a packet.
    pub cut: Option<Cut>,
    /// It could not be read in whole.
    pub damaged: Option<Error>,
}

/// The places where a file is damaged.
struct Damage {
    /// The first of them, and packets before it.
    offset: u64,
    packets: u64,
    what: String,
    /// How many there are, and how many bytes were passed over.
    places: u64,
    bytes: u64,
}

impl PacketFile {
    /// Finds out whether a file is a capture, and its size in bytes, where that is of use. A pipe is taken on trust,
    /// because it can be opened only once.
    pub fn check(path: &Path) -> Result<Option<u64>, Error> {
        if !regular(path)? {
            return Ok(None);
        }
        Self::open(path).map(|file| (file.bytes > 0).then_some(file.bytes))
    }

    /// Opens a file and reads its header. `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let regular = regular(path)?;
        let (mut bytes, raw): (u64, Box<dyn Read>) = match path == Path::new("-") {
            true => (0, Box::new(io::stdin())),
            false => {
                let file = File::open(path).map_err(unreadable)?;
                (file.metadata().map_err(unreadable)?.len(), Box::new(file))
            }
        };
        let (packing, raw) = unpack(raw).map_err(unreadable)?;
        if !regular || packing != Packing::Plain {
            bytes = 0;
        }
        let mut input = Buffer::new(raw);
        let format = match Ng::open(&mut input).map(Format::Ng) {
            Some(format) => Some(format),
            None => Classic::open(&mut input).map(Format::Classic),
        };
        let Some(format) = format else {
            let start = input.peek(512).to_owned();
            let (what, hint) = match input.failure() {
                Some(error) => (format!("it cannot be unpacked ({error})"), ""),
                None => contents(&start),
            };
            return Err(Error::NotACapture { path: path.to_owned(), what, hint });
        };
        if let Format::Classic(file) = &format {
            Error::unless_known(pcap::Linktype(file.link), path.display())?;
        }
        Ok(PacketFile { path: path.to_owned(), input, format, bytes, first_ns: None })
    }

    /// Feeds every packet to the assembler. A file that ends inside a packet is read up to there; behind a damaged place
    /// reading goes on with the next sound record. What is passed over is counted and told.
    pub fn read(&mut self, to: &mut Assembler, out: &mut dyn Sink, pace: &mut Pace<'_>) -> Outcome {
        let (mut packets, mut due) = (0, BATCH);
        let mut damage: Option<Damage> = None;
        let mut cut = None;
        loop {
            let offset = self.input.offset();
            let (what, is_cut) = match self.format.next(&mut self.input) {
                Record::Packet { link, at_ns, data, wire } => {
                    packets += 1;
                    self.first_ns.get_or_insert(at_ns);
                    to.feed(link, at_ns, data, wire, out);
                    if packets >= due {
                        due = packets + BATCH;
                        if pace.is_over(to, out) {
                            break;
                        }
                    }
                    continue;
                }
                Record::Other => continue,
                Record::Secrets(log) => {
                    pace.secrets(log);
                    continue;
                }
                Record::Dropped(packets) => {
                    to.lost(Loss::KernelDropped, packets);
                    continue;
                }
                Record::End => break,
                Record::Cut => ("a record is longer than what follows", true),
                Record::Broken(what) => (what, false),
            };
            if self.input.offset() == offset {
                self.format.resume(&mut self.input);
            }
            let bytes = self.input.offset() - offset;
            if is_cut && self.input.peek(1).is_empty() {
                to.lost(Loss::TruncatedFile, bytes);
                cut = Some(Cut { path: self.path.clone(), packets, offset, bytes });
                break;
            }
            to.lost(Loss::DamagedFile, bytes);
            let first = || Damage { offset, packets, what: what.to_owned(), places: 0, bytes: 0 };
            let damage = damage.get_or_insert_with(first);
            damage.places += 1;
            damage.bytes += bytes;
            if pace.is_over(to, out) {
                break;
            }
        }
        if let Some(error) = self.input.failure() {
            let what = format!("cannot be read further: {error}");
            let offset = self.input.offset();
            damage.get_or_insert(Damage { offset, packets, what, places: 1, bytes: 0 });
        }
        let path = self.path.clone();
        let damaged = damage.map(|Damage { offset, packets, what, places, bytes }| Error::Damaged {
            path,
            packets,
            offset,
            what,
            places,
            bytes,
        });
        // Told a last time, for files with fewer packets than a batch.
        pace.is_over(to, out);
        Outcome { cut, damaged }
    }
}

/// True for a regular file, false for a pipe or a device.
pub(super) fn regular(path: &Path) -> Result<bool, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    if path == Path::new("-") {
        return Ok(false);
    }
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    Ok(metadata.is_file())
}

/// What a file that is no capture looks like by its start, and a hint.
fn contents(start: &[u8]) -> (String, &'static str) {
    const XZ: &str = "; unpack it on the way: xzcat FILE | splitproof-capture packets ... -";
    const BZIP2: &str = "; unpack it on the way: bzcat FILE | splitproof-capture packets ... -";
    const LZ4: &str = "; unpack it on the way: lz4cat FILE | splitproof-capture packets ... -";
    let (what, hint) = match start {
        [] => ("it is empty", ""),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ("it is compressed with xz", XZ),
        [b'B', b'Z', b'h', ..] => ("it is compressed with bzip2", BZIP2),
        [0x04, 0x22, 0x4d, 0x18, ..] => ("it is compressed with lz4", LZ4),
        [b'P', b'K', 3, 4, ..] => ("it is a zip archive", "; unzip it first"),
        [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xc3, 0xd4, ..] if start.len() < 24 => {
            ("it ends inside the file header", "")
        }
        bytes if bytes.iter().all(|&b| b >= b' ' || matches!(b, b'\n' | b'\r' | b'\t')) => ("it is text", ""),
        _ => ("its first bytes are none of a capture's", ""),
    };
    (what.to_owned(), hint)
}
