//! Writes the fields of one message. What is written is either a whole message or nothing.

use memchr::memchr;

use super::error::Unencodable;
use super::frame::{self, Direction};

/// Why a field could not be written; the message adds its name.
pub(super) type Field = Result<(), &'static str>;

/// Writes the message that `sender` sends with this type byte and what `body` writes.
pub(super) fn message(
    out: &mut Vec<u8>,
    sender: Direction,
    tag: u8,
    name: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Field,
) -> Result<(), Unencodable> {
    let start = out.len();
    out.push(tag);
    let (_, longest) = frame::limits(sender, tag).unwrap_or_default();
    let written = sized(out, longest, body);
    finish(out, start, name, written)
}

/// Writes a message that has a length but no type byte.
pub(super) fn untagged(
    out: &mut Vec<u8>,
    longest: u32,
    name: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Field,
) -> Result<(), Unencodable> {
    let start = out.len();
    let written = sized(out, longest, body);
    finish(out, start, name, written)
}

/// Writes a length that counts itself and what `body` writes.
fn sized(out: &mut Vec<u8>, longest: u32, body: impl FnOnce(&mut Vec<u8>) -> Field) -> Field {
    let at = out.len();
    out.extend([0; 4]);
    body(out)?;
    match u32::try_from(out.len() - at) {
        Ok(length) if length <= longest => {
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        _ => Err("it would be longer than the protocol allows for this message"),
    }
}

fn finish(out: &mut Vec<u8>, start: usize, message: &'static str, written: Field) -> Result<(), Unencodable> {
    written.map_err(|what| {
        out.truncate(start);
        Unencodable { message, what }
    })
}

/// A string and the NUL that ends it.
pub(super) fn string(out: &mut Vec<u8>, string: &[u8]) -> Field {
    if memchr(0, string).is_some() {
        return Err("a text holds a NUL byte, which ends a text in the protocol");
    }
    out.extend_from_slice(string);
    out.push(0);
    Ok(())
}

/// A length and that many bytes, or the length -1 for NULL.
pub(super) fn value(out: &mut Vec<u8>, value: Option<&[u8]>) -> Field {
    let Some(value) = value else {
        out.extend((-1i32).to_be_bytes());
        return Ok(());
    };
    let length = i32::try_from(value.len()).map_err(|_| "a value is longer than 2 GiB")?;
    out.extend(length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// How many items `items` wrote, then the items. `items` returns their number.
pub(super) fn counted(out: &mut Vec<u8>, items: impl FnOnce(&mut Vec<u8>) -> Result<usize, &'static str>) -> Field {
    let at = out.len();
    out.extend([0; 2]);
    let count = items(out)?;
    let count = u16::try_from(count).map_err(|_| "a list has more than 65535 items")?;
    out[at..at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// A count and that many values.
pub(super) fn values<'v>(out: &mut Vec<u8>, list: impl IntoIterator<Item = Option<&'v [u8]>>) -> Field {
    counted(out, |out| {
        let mut count = 0;
        for item in list {
            value(out, item)?;
            count += 1;
        }
        Ok(count)
    })
}

/// A count and that many format codes.
pub(super) fn formats(out: &mut Vec<u8>, codes: &[i16]) -> Field {
    counted(out, |out| {
        out.extend(codes.iter().flat_map(|code| code.to_be_bytes()));
        Ok(codes.len())
    })
}

/// A count and that many object identifiers.
pub(super) fn oids(out: &mut Vec<u8>, oids: &[u32]) -> Field {
    counted(out, |out| {
        out.extend(oids.iter().flat_map(|oid| oid.to_be_bytes()));
        Ok(oids.len())
    })
}

/// A list that was decoded, as it was.
pub(super) fn list(out: &mut Vec<u8>, count: usize, bytes: &[u8]) -> Field {
    counted(out, |out| {
        out.extend_from_slice(bytes);
        Ok(count)
    })
}
