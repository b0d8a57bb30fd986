//! The records of TLS: a type, a version, a length, and a content.

/// Length of a record's header.
pub(super) const HEADER: usize = 5;

/// The longest content of a record that is allowed: 2^14 bytes, and what encryption adds.
pub(super) const LONGEST: usize = (1 << 14) + 2048;

/// Types of records.
pub(super) mod kind {
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    pub const ALERT: u8 = 21;
    pub const HANDSHAKE: u8 = 22;
    pub const DATA: u8 = 23;
}

/// A record's header, and how long its content is; `Err` when the bytes are none, `None` when there are too few.
pub(super) fn header(bytes: &[u8]) -> Result<Option<([u8; HEADER], usize)>, NotTls> {
    let plausible = |at: usize, known: &dyn Fn(u8) -> bool| bytes.get(at).is_none_or(|&byte| known(byte));
    if !plausible(0, &|kind| (kind::CHANGE_CIPHER_SPEC..=kind::DATA).contains(&kind))
        || !plausible(1, &|major| major == 3)
        || !plausible(2, &|minor| minor <= 4)
    {
        return Err(NotTls);
    }
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if length > LONGEST { Err(NotTls) } else { Ok(Some((*header, length))) }
}

/// True when the bytes begin like a record.
pub fn is_record(bytes: &[u8]) -> bool {
    matches!(header(bytes), Ok(Some(_)))
}

/// The bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotTls;
