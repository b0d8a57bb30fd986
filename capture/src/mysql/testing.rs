//! What every message has to stand in a test.

use super::error::{Invalid, Unencodable};
use super::{Capabilities, Command};

/// Capabilities of a usual client of today, and these.
pub fn usual(more: Capabilities) -> Capabilities {
    Capabilities::ASSUMED | Capabilities::DEPRECATE_EOF | more
}

/// Bytes written as in the documentation: two digits each, with spaces where they help.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// What `encode` writes, which must leave what is before it.
pub fn written(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Vec<u8> {
    let mut out = b"before".to_vec();
    encode(&mut out).unwrap();
    out.strip_prefix(b"before").unwrap().to_vec()
}

/// Why `encode` writes nothing.
pub fn unwritten(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Unencodable {
    let mut out = b"before".to_vec();
    let error = encode(&mut out).unwrap_err();
    assert_eq!(out, b"before");
    error
}

/// Decodes a command, which must be written as it was.
pub fn command(payload: &[u8], capabilities: Capabilities) -> Command<'_> {
    let command = Command::decode(payload, capabilities).unwrap();
    assert_eq!(command.code().0, payload[0]);
    assert_eq!(written(|out| command.encode(capabilities, out)), payload);
    command
}

/// Checks that a payload that lacks its end is refused wherever it is cut behind the first `keep` bytes, and so is one with
/// a byte too many.
pub fn needs_every_byte(payload: &[u8], keep: usize, refuse: impl Fn(&[u8]) -> Option<Invalid>) {
    needs_all(payload, keep, &refuse);
    assert!(refuse(&[payload, b"\0"].concat()).is_some(), "one byte more");
}

/// Checks that a payload that lacks its end is refused wherever it is cut behind the first `keep` bytes.
pub fn needs_all(payload: &[u8], keep: usize, refuse: impl Fn(&[u8]) -> Option<Invalid>) {
    assert_eq!(refuse(payload), None);
    for end in keep..payload.len() {
        let Some(invalid) = refuse(&payload[..end]) else { panic!("{end} of {} bytes are accepted", payload.len()) };
        assert!(invalid.offset <= end, "{invalid}");
    }
}
