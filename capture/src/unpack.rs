//! Files that are compressed, read as if they were not.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// Compressed bytes that are read together.
const BUFFER: usize = 256 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Not at all.
    Plain,
    /// gzip, of one member or of several.
    Gzip,
    /// zstd, of one frame or of several.
    Zstd,
}

impl Packing {
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            _ => Packing::Plain,
        }
    }
}

/// Looks at the first bytes of `raw`, and undoes its compression where there is one.
pub(crate) fn unpack(mut raw: impl Read + 'static) -> io::Result<(Packing, Box<dyn Read>)> {
    let mut start = Vec::with_capacity(4);
    (&mut raw).take(4).read_to_end(&mut start)?;
    let packing = Packing::of(&start);
    let all = Cursor::new(start).chain(raw);
    Ok((
        packing,
        match packing {
            Packing::Plain => Box::new(all),
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, all))),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER, all))?),
        },
    ))
}
