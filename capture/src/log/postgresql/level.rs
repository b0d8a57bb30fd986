//! The word that begins each part of an entry.

use super::entry::Severity;

/// What a part of an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Level {
    /// The message itself.
    Message(Severity),
    Detail,
    Context,
    Statement,
    /// HINT, QUERY (of a function), LOCATION, BACKTRACE: of no use here.
    Other,
}

const LEVELS: &[(&[u8], Level)] = &[
    (b"LOG", Level::Message(Severity::Log)),
    (b"DETAIL", Level::Detail),
    (b"STATEMENT", Level::Statement),
    (b"ERROR", Level::Message(Severity::Error)),
    (b"CONTEXT", Level::Context),
    (b"HINT", Level::Other),
    (b"QUERY", Level::Other),
    (b"LOCATION", Level::Other),
    (b"BACKTRACE", Level::Other),
    (b"FATAL", Level::Message(Severity::Fatal)),
    (b"PANIC", Level::Message(Severity::Fatal)),
    (b"WARNING", Level::Message(Severity::Note)),
    (b"NOTICE", Level::Message(Severity::Note)),
    (b"INFO", Level::Message(Severity::Note)),
    (b"DEBUG", Level::Message(Severity::Note)),
    (b"DEBUG1", Level::Message(Severity::Note)),
    (b"DEBUG2", Level::Message(Severity::Note)),
    (b"DEBUG3", Level::Message(Severity::Note)),
    (b"DEBUG4", Level::Message(Severity::Note)),
    (b"DEBUG5", Level::Message(Severity::Note)),
];

impl Level {
    /// The level at the beginning of a text, and what follows it: `LOG:  …`. The server writes two blanks, and some
    /// programs on the way leave one.
    pub fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        // Longer than any of the words: no need to look further.
        let colon = text.iter().take(12).position(|&byte| byte == b':')?;
        let (word, rest) = text.split_at_checked(colon)?;
        let (_, level) = LEVELS.iter().find(|(name, _)| *name == word)?;
        let rest = rest.get(1..)?;
        if !rest.is_empty() && !rest.starts_with(b" ") {
            return None;
        }
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        Some((*level, rest.strip_prefix(b" ").unwrap_or(rest)))
    }

    /// Where the first level stands in a text.
    pub fn find(text: &[u8]) -> Option<usize> {
        memchr::memchr_iter(b':', text).find_map(|colon| {
            LEVELS.iter().find_map(|(name, _)| {
                let start = colon.checked_sub(name.len())?;
                Level::read(text.get(start..)?).map(|_| start)
            })
        })
    }
}
