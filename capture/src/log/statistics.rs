//! The figures of the closing summary.

/// What was read, and what became of it.
///
/// `entries` is `opened` + `joined` + the losses that are counted in entries; the rows are `opened` + `made_up`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes of the files, as they are on disk.
    pub bytes: u64,
    /// Lines of text; 0 for a format without lines.
    pub lines: u64,
    /// Entries of the log.
    pub entries: u64,
    /// Entries that became a request of their own.
    pub opened: u64,
    /// Entries that told more of a request.
    pub joined: u64,
    /// Requests that no entry tells of, because they must have been there: a session's start, the preparation of a statement.
    pub made_up: u64,
    /// Time of the latest entry, nanoseconds since 1970 UTC.
    pub last_ns: Option<i64>,
}
