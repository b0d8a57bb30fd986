//! Writes the fields of one payload. What is written is either a whole payload or nothing.

use memchr::memchr;

use super::error::Unencodable;

/// Why a field could not be written; the message adds its name.
pub(super) type Field = Result<(), &'static str>;

/// Writes the payload that `body` writes, or nothing.
pub(super) fn message(
    out: &mut Vec<u8>,
    message: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Field,
) -> Result<(), Unencodable> {
    let start = out.len();
    body(out).map_err(|what| {
        out.truncate(start);
        Unencodable { message, what }
    })
}

/// A length-encoded integer, in its shortest form.
pub(super) fn int(out: &mut Vec<u8>, value: u64) {
    let [a, b, c, ..] = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(a),
        0xfb..=0xffff => out.extend([0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend([0xfd, a, b, c]),
        _ => {
            out.push(0xfe);
            out.extend(value.to_le_bytes());
        }
    }
}

/// A length-encoded string.
pub(super) fn string(out: &mut Vec<u8>, string: &[u8]) {
    int(out, string.len() as u64);
    out.extend_from_slice(string);
}

/// A string and the NUL that ends it.
pub(super) fn nul_string(out: &mut Vec<u8>, string: &[u8]) -> Field {
    if memchr(0, string).is_some() {
        return Err("a text holds a NUL byte, which ends this text in the protocol");
    }
    out.extend_from_slice(string);
    out.push(0);
    Ok(())
}

/// A length in one byte, then that many bytes.
pub(super) fn short_string(out: &mut Vec<u8>, string: &[u8]) -> Field {
    let length = u8::try_from(string.len()).map_err(|_| "a field of at most 255 bytes is longer")?;
    out.push(length);
    out.extend_from_slice(string);
    Ok(())
}

/// The lower three bytes of an integer.
pub(super) fn u24(out: &mut Vec<u8>, value: u32) {
    let [a, b, c, _] = value.to_le_bytes();
    out.extend([a, b, c]);
}
