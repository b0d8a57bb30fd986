//! What an entry says, however it is written.

/// One entry of a PostgreSQL log. What it does not tell is `None`; empty is told and empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Its time, nanoseconds since 1970 UTC, nanosecond by nanosecond in the order of the log where stamps are the same.
    pub at_ns: i64,
    /// What names the session for good (`%c`).
    pub session: Option<&'a [u8]>,
    /// Number of the server process, which is used again after the session.
    pub pid: Option<&'a [u8]>,
    /// When the session began, nanoseconds since 1970 UTC.
    pub session_start_ns: Option<i64>,
    pub user: Option<&'a [u8]>,
    pub database: Option<&'a [u8]>,
    pub application: Option<&'a [u8]>,
    /// The client's address and port, as the log writes them.
    pub client: Option<&'a [u8]>,
    /// The command that the session is about (`%i`).
    pub tag: Option<&'a [u8]>,
    /// The kind of process.
    pub backend: Option<&'a [u8]>,
    pub severity: Severity,
    /// SQLSTATE.
    pub code: Option<&'a [u8]>,
    pub message: &'a [u8],
    pub detail: Option<&'a [u8]>,
    pub context: Option<&'a [u8]>,
    /// The statement that led to the message.
    pub statement: Option<&'a [u8]>,
}

/// How severe a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) enum Severity {
    /// LOG, and what is less than an error.
    #[default]
    Log,
    /// A statement failed.
    Error,
    /// The session failed.
    Fatal,
    /// WARNING, NOTICE, INFO, DEBUG1 to DEBUG5.
    Note,
}

const SEVERITIES: &[(&[u8], Severity)] = &[
    (b"LOG", Severity::Log),
    (b"ERROR", Severity::Error),
    (b"FATAL", Severity::Fatal),
    (b"PANIC", Severity::Fatal),
    (b"WARNING", Severity::Note),
    (b"NOTICE", Severity::Note),
    (b"INFO", Severity::Note),
    (b"DEBUG", Severity::Note),
    (b"DEBUG1", Severity::Note),
    (b"DEBUG2", Severity::Note),
    (b"DEBUG3", Severity::Note),
    (b"DEBUG4", Severity::Note),
    (b"DEBUG5", Severity::Note),
];

impl Severity {
    /// The severity of a word and a SQLSTATE. A log is written in the language of `lc_messages`; a word that is not known is
    /// an error where the SQLSTATE says so.
    pub fn told(word: &[u8], code: Option<&[u8]>) -> Self {
        let known = SEVERITIES.iter().find(|(name, _)| *name == word).map(|&(_, severity)| severity);
        let failed =
            || code.is_some_and(|code| ![&b"00"[..], b"01", b"02"].iter().any(|class| code.starts_with(class)));
        known.unwrap_or_else(|| if failed() { Severity::Error } else { Severity::Log })
    }
}

impl Entry<'_> {
    /// Whether a process of the server's own wrote it, as far as the entry tells.
    pub fn is_servers_own(&self) -> bool {
        match self.backend {
            Some(backend) => !matches!(backend, b"client backend" | b"not initialized" | b"parallel worker"),
            None => self.statement.is_none() && self.user.is_none() && self.database.is_none() && self.client.is_none(),
        }
    }
}
