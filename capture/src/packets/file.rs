//! Capture files, read through libpcap.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use pcap::{Capture, Offline, Precision};

use super::{Assembler, Cut, Error, damage, source::Pace};
use crate::trace::{Loss, Sink};

/// Packets handed over between two looks at the clock and the stop flag.
const BATCH: usize = 4096;

/// A capture file, opened.
pub(super) struct PacketFile {
    path: PathBuf,
    capture: Capture<Offline>,
    link: i32,
    /// Bytes of the file; 0 when it is not a regular one.
    pub bytes: u64,
    /// Time of the first packet that was read, nanoseconds since 1970 UTC.
    pub first_ns: Option<i64>,
}

impl PacketFile {
    /// Finds out whether a file is a capture, and its size in bytes. A pipe is taken on trust, because it can be
    /// opened only once.
    pub fn check(path: &Path) -> Result<Option<u64>, Error> {
        if !regular(path)? {
            return Ok(None);
        }
        Self::open(path).map(|file| Some(file.bytes))
    }

    /// Opens a file and reads its header. `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let mut bytes = 0;
        if regular(path)? {
            // libpcap's word for a file that cannot be opened is not the system's
            bytes = fs::File::open(path).and_then(|file| file.metadata()).map_err(unreadable)?.len();
        }
        let capture = Capture::from_file_with_precision(path, Precision::Nano).map_err(|error| {
            let (what, hint) = if bytes > 0 { contents(path) } else { ("it is empty", "") };
            Error::NotACapture { path: path.to_owned(), what: format!("{what} ({})", text(&error)), hint }
        })?;
        let link = Error::unless_known(capture.get_datalink(), path.display())?;
        Ok(PacketFile { path: path.to_owned(), capture, link, bytes, first_ns: None })
    }

    /// Feeds every packet to the assembler. A file that ends inside a packet is read up to there, and what is cut off
    /// is counted and returned.
    pub fn read(&mut self, to: &mut Assembler, out: &mut dyn Sink, pace: &mut Pace<'_>) -> Result<Option<Cut>, Error> {
        let link = self.link;
        let mut packets = 0;
        loop {
            let before = packets;
            let first_ns = &mut self.first_ns;
            let outcome = self.capture.dispatch(Some(BATCH), |packet| {
                packets += 1;
                first_ns.get_or_insert_with(|| time(packet.header));
                to.feed(link, time(packet.header), packet.data, packet.header.len, out);
            });
            match outcome {
                Ok(_) if packets == before => return Ok(None),
                Ok(_) => {}
                Err(error) => return self.broken(packets, &error, to),
            }
            if pace.is_over(to, out) {
                return Ok(None);
            }
        }
    }

    fn broken(&self, packets: u64, error: &pcap::Error, to: &mut Assembler) -> Result<Option<Cut>, Error> {
        let path = self.path.clone();
        let damage = match self.bytes {
            0 => None,
            _ => damage::locate(&path, packets).map_err(|source| Error::Unreadable { path: path.clone(), source })?,
        };
        match damage {
            Some(damage) if damage.cut => {
                to.lost(Loss::TruncatedFile, damage.rest);
                Ok(Some(Cut { path, packets, offset: damage.offset, bytes: damage.rest }))
            }
            _ => Err(Error::Damaged { path, packets, offset: damage.map(|damage| damage.offset), what: text(error) }),
        }
    }
}

/// True for a regular file, false for a pipe or a device.
pub(super) fn regular(path: &Path) -> Result<bool, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    if path.to_str().is_none() {
        let text = "libpcap needs a name in UTF-8; rename the file";
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, text)));
    }
    if path == Path::new("-") {
        return Ok(false);
    }
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    Ok(metadata.is_file())
}

/// The time of a packet, nanoseconds since 1970 UTC: libpcap was asked for nanoseconds, which it puts where the
/// microseconds are otherwise.
pub(super) fn time(header: &pcap::PacketHeader) -> i64 {
    header.ts.tv_sec.saturating_mul(1_000_000_000).saturating_add(header.ts.tv_usec)
}

/// What libpcap says, without the prefix.
pub(super) fn text(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a file that libpcap refuses looks like, and a hint.
fn contents(path: &Path) -> (&'static str, &'static str) {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut start));
    match start.as_slice() {
        _ if read.is_err() => ("its start cannot be read", ""),
        [0x1f, 0x8b, ..] => ("it is compressed with gzip", "; gunzip it first"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("it is compressed with zstd", "; unzstd it first"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ("it is compressed with xz", "; unxz it first"),
        [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xc3, 0xd4, ..] if start.len() < 24 => {
            ("it ends inside the file header", "")
        }
        bytes if bytes.iter().all(|&b| b >= b' ' || matches!(b, b'\n' | b'\r' | b'\t')) => ("it is text", ""),
        _ => ("its first bytes are none of a capture's", ""),
    }
}
