//! Where a capture file breaks.
//!
//! libpcap says that it could not read on, but not where in the file. After such a failure the file is walked once
//! more, record by record, up to the one that failed.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// libpcap reads no packet that is longer than this.
const MAX_PACKET: u32 = 262_144;

/// libpcap reads no pcapng block that is longer than this.
const MAX_BLOCK: u32 = 16 << 20;

/// The place where a file cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Where the record that cannot be read begins.
    pub offset: u64,
    /// Bytes from there to the end of the file.
    pub rest: u64,
    /// True when the record itself looks sound and only its end is missing.
    pub cut: bool,
}

/// Finds where `path` breaks after `packets` sound packets; `None` when it is not a regular file.
pub(super) fn locate(path: &Path, packets: u64) -> io::Result<Option<Damage>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut walk = Walk { file: BufReader::new(file), offset: 0, end: metadata.len() };
    walk.find_damage(packets).map(Some)
}

/// What a record's header says.
enum Record {
    /// It is `len` bytes long in all, of which `read` were read, and is a packet or not.
    Sound { len: u32, read: u32, packet: bool },
    /// Its header contradicts itself.
    Broken,
    /// The file ends within its header.
    Cut,
}

/// The byte order and the layout of a file's records.
#[derive(Clone, Copy)]
enum Layout {
    Pcap { big: bool, header: u32, ticks: u32 },
    PcapNg { big: bool },
}

struct Walk {
    file: BufReader<File>,
    offset: u64,
    end: u64,
}

impl Walk {
    fn find_damage(&mut self, packets: u64) -> io::Result<Damage> {
        let mut seen = 0;
        let mut cut = true;
        let mut layout = self.start()?;
        while let Some(known) = &mut layout {
            match self.record(known)? {
                Record::Sound { len, read, packet } if self.offset + u64::from(len) <= self.end => {
                    // libpcap refused a packet whose lengths look right, so what is wrong is inside
                    if packet && seen == packets {
                        cut = false;
                        break;
                    }
                    seen += u64::from(packet);
                    self.offset += u64::from(len);
                    self.file.seek_relative(i64::from(len) - i64::from(read))?;
                }
                Record::Sound { .. } | Record::Cut => break,
                Record::Broken => {
                    cut = false;
                    break;
                }
            }
        }
        Ok(Damage { offset: self.offset, rest: self.end - self.offset, cut: cut && layout.is_some() })
    }

    /// Reads the magic number, and goes to the first record.
    fn start(&mut self) -> io::Result<Option<Layout>> {
        let Some([magic]) = self.numbers(true)? else { return Ok(None) };
        let layout = match magic {
            0xa1b2_c3d4 => Layout::Pcap { big: true, header: 16, ticks: 1_000_000 },
            0xd4c3_b2a1 => Layout::Pcap { big: false, header: 16, ticks: 1_000_000 },
            0xa1b2_3c4d => Layout::Pcap { big: true, header: 16, ticks: 1_000_000_000 },
            0x4d3c_b2a1 => Layout::Pcap { big: false, header: 16, ticks: 1_000_000_000 },
            // Kuznetzov's Linux 2.2 format, with longer record headers
            0xa1b2_cd34 => Layout::Pcap { big: true, header: 24, ticks: 1_000_000 },
            0x34cd_b2a1 => Layout::Pcap { big: false, header: 24, ticks: 1_000_000 },
            // the section header tells the byte order again
            0x0a0d_0d0a => Layout::PcapNg { big: false },
            _ => return Ok(None),
        };
        if matches!(layout, Layout::Pcap { .. }) {
            self.offset = 24.min(self.end);
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(Some(layout))
    }

    /// Reads the header of the record at `offset`.
    fn record(&mut self, layout: &mut Layout) -> io::Result<Record> {
        match layout {
            Layout::Pcap { big, header, ticks } => {
                let Some([_, fraction, captured, wire]) = self.numbers(*big)? else { return Ok(Record::Cut) };
                let sound = captured <= MAX_PACKET && captured <= wire && fraction < *ticks;
                let len = header.saturating_add(captured);
                Ok(if sound { Record::Sound { len, read: 16, packet: true } } else { Record::Broken })
            }
            Layout::PcapNg { big } => {
                let Some([kind, len, third]) = self.numbers(*big)? else { return Ok(Record::Cut) };
                let (kind, len) = match (kind, third) {
                    (0x0a0d_0d0a, 0x1a2b_3c4d) => (kind, len),
                    (0x0a0d_0d0a, 0x4d3c_2b1a) => {
                        *big = !*big;
                        (kind, len.swap_bytes())
                    }
                    (0x0a0d_0d0a, _) => return Ok(Record::Broken),
                    _ => (kind, len),
                };
                let sound = len >= 12 && len % 4 == 0 && len <= MAX_BLOCK;
                // obsolete, simple and enhanced packet blocks
                let packet = matches!(kind, 2 | 3 | 6);
                Ok(if sound { Record::Sound { len, read: 12, packet } } else { Record::Broken })
            }
        }
    }

    /// Reads numbers of four bytes; `None` at the end of the file.
    fn numbers<const N: usize>(&mut self, big: bool) -> io::Result<Option<[u32; N]>> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            let mut bytes = [0; 4];
            match self.file.read_exact(&mut bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            *number = if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        }
        Ok(Some(numbers))
    }
}
