//! The commands by the names that logs give them.

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Connect,
    Quit,
    InitDb,
    Query,
    ChangeUser,
    Prepare,
    Execute,
    /// Data sent ahead of an execution, without the data.
    LongData,
    Close,
    ResetConnection,
    Ping,
    /// A command on a prepared statement which is not told.
    OfStatement,
    /// Any other command of a client, with its byte.
    Other(u8),
    /// What the server does by itself.
    Servers,
}

/// The longest name.
const LONGEST: usize = 32;

const COMMANDS: &[(&str, Command)] = &[
    ("Query", Command::Query),
    ("Execute", Command::Execute),
    ("Prepare", Command::Prepare),
    ("Close stmt", Command::Close),
    ("Connect", Command::Connect),
    ("Quit", Command::Quit),
    ("Init DB", Command::InitDb),
    ("Change user", Command::ChangeUser),
    ("Reset Connection", Command::ResetConnection),
    ("Reset connection", Command::ResetConnection),
    ("Ping", Command::Ping),
    ("Long Data", Command::LongData),
    ("Reset stmt", Command::OfStatement),
    ("Fetch", Command::OfStatement),
    ("Bulk execute", Command::OfStatement),
    ("Bulk_execute", Command::OfStatement),
    ("Unimpl_bulk_exec", Command::OfStatement),
    ("Field List", Command::Other(0x04)),
    ("Create DB", Command::Other(0x05)),
    ("Drop DB", Command::Other(0x06)),
    ("Refresh", Command::Other(0x07)),
    ("Shutdown", Command::Other(0x08)),
    ("Statistics", Command::Other(0x09)),
    ("Processlist", Command::Other(0x0a)),
    ("Kill", Command::Other(0x0c)),
    ("Debug", Command::Other(0x0d)),
    ("Binlog Dump", Command::Other(0x12)),
    ("Table Dump", Command::Other(0x13)),
    ("Register Slave", Command::Other(0x15)),
    ("Register Replica", Command::Other(0x15)),
    ("Set option", Command::Other(0x1b)),
    ("Binlog Dump GTID", Command::Other(0x1e)),
    ("clone", Command::Other(0x20)),
    ("Clone", Command::Other(0x20)),
    ("Subscribe Group Replication Stream", Command::Other(0x21)),
    ("Sleep", Command::Servers),
    ("Time", Command::Servers),
    ("Delayed insert", Command::Servers),
    ("Connect Out", Command::Servers),
    ("Daemon", Command::Servers),
    ("Slave_worker", Command::Servers),
    ("Slave_IO", Command::Servers),
    ("Slave_SQL", Command::Servers),
    ("Error", Command::Servers),
    ("Unused", Command::Servers),
];

impl Command {
    /// The command of this name.
    pub fn named(name: &[u8]) -> Option<Self> {
        COMMANDS.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, command)| command)
    }

    /// The command at the beginning of a text, and its argument. A tab stands between them, or since version 5.1 did; before
    /// that names are filled up with blanks to 12 characters.
    pub fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        let window = text.get(..text.len().min(LONGEST + 3))?;
        if let Some(tab) = memchr::memchr(b'\t', window)
            && let Some(command) = Self::named(text.get(..tab)?)
        {
            return Some((command, text.get(tab + 1..)?));
        }
        let fits = |name: &str| {
            let rest = window.strip_prefix(name.as_bytes())?;
            (rest.first().is_none_or(|&next| next == b' ')).then_some(name.len())
        };
        let (length, command) = COMMANDS
            .iter()
            .filter_map(|&(name, command)| Some((fits(name)?, command)))
            .max_by_key(|(length, _)| *length)?;
        let argument = text.get((length + 1).max(12)..).unwrap_or_default();
        // Of a short name, blanks follow up to the argument.
        let between = text.get(length..text.len() - argument.len())?;
        between.iter().all(|&byte| byte == b' ').then_some((command, argument))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_a_tab_or_are_filled_up_with_blanks() {
        for (text, command, argument) in [
            ("Query\tSELECT 1", Command::Query, "SELECT 1"),
            ("Query       SELECT 1", Command::Query, "SELECT 1"),
            ("Query         SELECT 1", Command::Query, "  SELECT 1"),
            ("Quit\t", Command::Quit, ""),
            ("Quit       ", Command::Quit, ""),
            ("Quit", Command::Quit, ""),
            ("Field List  t ", Command::Other(4), "t "),
            ("Connect     a@b on c", Command::Connect, "a@b on c"),
            ("Connect Out\ta@b:3306", Command::Servers, "a@b:3306"),
            ("Binlog Dump GTID\tLog: ''", Command::Other(0x1e), "Log: ''"),
            ("Delayed insert x", Command::Servers, "x"),
            ("Query\t", Command::Query, ""),
            ("Query\t\tSELECT 1", Command::Query, "\tSELECT 1"),
        ] {
            assert_eq!(Command::read(text.as_bytes()), Some((command, argument.as_bytes())), "{text}");
        }
        for text in ["", "Queryx\t", "Query SELECT 1", "query\tSELECT 1", "\tQuery", "Something\tx"] {
            assert_eq!(Command::read(text.as_bytes()), None, "{text}");
        }
    }
}
