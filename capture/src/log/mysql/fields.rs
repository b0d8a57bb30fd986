//! The lines that stand before a statement in the slow log.

use compact_str::CompactString;

use super::stamp::Stamp;
use crate::log::sessions::compact;
use crate::log::time;

/// What the lines before a statement tell. What they do not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// There was a line with a duration, which every statement has.
    pub timed: bool,
    pub duration_ns: Option<u64>,
    /// Number of the connection.
    pub connection: Option<CompactString>,
    pub user: Option<CompactString>,
    pub client: Option<CompactString>,
    /// Of a replica, which carries out what its primary did; or in a routine.
    pub servers_own: bool,
    /// Empty where there is none.
    pub database: Option<CompactString>,
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    /// Number of its error; 0 where there was none.
    pub errno: Option<u64>,
    /// Number of the error by which it was killed; 0 where it was not.
    pub killed: Option<u64>,
    /// One in so many was logged.
    pub sampled: Option<u64>,
    /// MariaDB's times are those of the start; those of MySQL and Percona Server are of the end.
    pub begins: bool,
}

/// A duration that is longer is none: a bug of old servers, whose clock went back.
const LONGEST_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

impl Fields {
    /// Takes one of the lines, which begins with `#`. Returns a time that it holds.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Option<Stamp<'a>> {
        let mut text = line.strip_prefix(b"#")?.trim_ascii();
        let mut stamp = None;
        if let Some(rest) = text.strip_prefix(b"Time:") {
            text = rest.trim_ascii();
            if let Some((found, rest)) = Stamp::read(text) {
                (stamp, text) = (Some(found), rest);
            }
            // Before version 5.1 the next line may follow at once.
            text = text.trim_ascii_start().strip_prefix(b"#").unwrap_or_default().trim_ascii();
        }
        match text.strip_prefix(b"User@Host:").or_else(|| text.strip_prefix(b"User:")) {
            Some(rest) => self.user(rest),
            None => self.pairs(text),
        }
        stamp
    }

    /// `user[account] @ host [address]  Id: 5`.
    fn user(&mut self, text: &[u8]) {
        let mut who = text;
        if let Some(at) = memchr::memmem::rfind(text, b"] ")
            && let (Some(before), Some(pairs)) = (text.get(..=at), text.get(at + 1..))
            && memchr::memmem::find(pairs, b"Id:").is_some()
        {
            who = before;
            self.pairs(pairs);
        }
        let (account, place) = match memchr::memmem::find(who, b"] @ ") {
            Some(at) => (who.get(..at), who.get(at + 4..)),
            None => (None, None),
        };
        let (Some(account), Some(place)) = (account, place) else { return };
        let open = memchr::memchr(b'[', account).unwrap_or(account.len());
        let user = account.get(..open).unwrap_or_default().trim_ascii();
        let matched = account.get(open + 1..).unwrap_or_default();
        self.servers_own |= user.is_empty() && matched.starts_with(b"SQL_SLAVE");
        self.user = named(user);
        let open = memchr::memchr(b'[', place).unwrap_or(place.len());
        let host = place.get(..open).unwrap_or_default().trim_ascii();
        let address = place.get(open..).unwrap_or_default().trim_ascii();
        let address = address.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or_default();
        let client = if address.is_empty() { host } else { address };
        self.client = named(client);
    }

    /// `Name: value  Name: value`.
    fn pairs(&mut self, text: &[u8]) {
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(b":") else { continue };
            let value = words.next_if(|next| !next.ends_with(b":")).unwrap_or_default();
            let number = || time::number(value).and_then(|number| u64::try_from(number).ok());
            match name {
                b"Query_time" => {
                    self.timed = true;
                    self.duration_ns = seconds(value);
                }
                b"Thread_id" | b"Id" => self.connection = named(value),
                b"Schema" => self.database = Some(compact(value)),
                b"Client" => self.client = named(value),
                b"Rows_sent" => self.rows = number(),
                b"Rows_affected" => self.affected = number(),
                b"Last_errno" | b"Errno" => self.errno = number(),
                b"Killed" => self.killed = number(),
                b"Log_slow_rate_limit" => self.sampled = number(),
                b"QC_hit" => self.begins = true,
                b"Stored_routine" | b"routine" => self.servers_own = true,
                _ => {}
            }
        }
    }
}

/// A name that is told.
fn named(name: &[u8]) -> Option<CompactString> {
    (!name.is_empty()).then(|| compact(name))
}

/// `2` or `2.461578`, of plausible length.
fn seconds(value: &[u8]) -> Option<u64> {
    let point = memchr::memchr(b'.', value).unwrap_or(value.len());
    let (whole, fraction) = value.split_at_checked(point)?;
    let whole = u64::try_from(time::number(whole)?).ok()?;
    let fraction = u64::try_from(time::nanoseconds(fraction)?).ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(fraction).filter(|&ns| ns <= LONGEST_NS)
}

/// What the server sets before a statement: `SET last_insert_id=1,insert_id=2,timestamp=3;`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Presets {
    /// The second in which the statement ended; in MariaDB, and in MySQL since version 8.0.14, in which it began.
    pub timestamp: Option<i64>,
    /// The identity that it generated.
    pub insert_id: Option<u64>,
}

impl Presets {
    /// Reads a line. `None` where it is another statement.
    pub fn read(line: &[u8]) -> Option<Self> {
        let mut presets = Presets::default();
        let list = line.strip_prefix(b"SET ")?.strip_suffix(b";")?;
        for assignment in list.split(|&byte| byte == b',') {
            let equals = memchr::memchr(b'=', assignment)?;
            let (name, value) = assignment.split_at_checked(equals)?;
            let value = value.get(1..)?;
            let whole = value.get(..memchr::memchr(b'.', value).unwrap_or(value.len()))?;
            let number = time::number(whole)?;
            match name {
                b"timestamp" => presets.timestamp = Some(number),
                b"insert_id" => presets.insert_id = u64::try_from(number).ok(),
                b"last_insert_id" => {}
                _ => return None,
            }
        }
        Some(presets)
    }
}

/// The database of a line that the server writes where it is not the one of the entry before: `use db;`.
pub(super) fn used(line: &[u8]) -> Option<CompactString> {
    let rest = line.get(4..)?.strip_suffix(b";")?.trim_ascii();
    if !line.get(..4)?.eq_ignore_ascii_case(b"use ") || rest.is_empty() {
        return None;
    }
    match rest.strip_prefix(b"`") {
        Some(quoted) => {
            let name = quoted.strip_suffix(b"`")?;
            Some(String::from_utf8_lossy(name).replace("``", "`").into())
        }
        None => Some(compact(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(lines: &str) -> Fields {
        let mut fields = Fields::default();
        for line in lines.lines() {
            fields.line(line.as_bytes());
        }
        fields
    }

    fn text(field: &Option<CompactString>) -> Option<&str> {
        field.as_deref()
    }

    #[test]
    fn who_asked() {
        for (line, user, client, connection) in [
            ("# User@Host: root[root] @ localhost []", "root", "localhost", None),
            ("# User@Host: root[root] @ localhost [127.0.0.1]  Id:   182", "root", "127.0.0.1", Some("182")),
            ("# User@Host: app[app] @  [10.1.250.19]", "app", "10.1.250.19", None),
            ("# User: user[user] @ [1.2.3.4]", "user", "1.2.3.4", None),
            ("# Time: 071218 11:48:27 # User@Host: a[b] @ h []", "a", "h", None),
        ] {
            let fields = read(line);
            assert_eq!((text(&fields.user), text(&fields.client)), (Some(user), Some(client)), "{line}");
            assert_eq!(text(&fields.connection), connection, "{line}");
            assert!(!fields.servers_own);
        }
        assert!(read("# User@Host: [SQL_SLAVE] @  []").servers_own);
        assert_eq!(read("# User@Host: truncated"), Fields::default());
        assert_eq!(text(&read("# Client: 127.0.0.1:12345").client), Some("127.0.0.1:12345"));
    }

    #[test]
    fn fields_of_every_server() {
        let fields = read(
            "# Thread_id: 37  Schema: employees  QC_hit: No\n# Query_time: 2.461578  Lock_time: 0.000196  \
             Rows_sent: 10  Rows_examined: 3145718\n# Rows_affected: 3  Bytes_sent: 319",
        );
        assert_eq!((text(&fields.connection), text(&fields.database)), (Some("37"), Some("employees")));
        assert_eq!((fields.duration_ns, fields.rows, fields.affected), (Some(2_461_578_000), Some(10), Some(3)));
        assert!(fields.begins);
        let fields = read("# Schema:   Last_errno: 1146  Killed: 0\n# Query_time: 2  Lock_time: 0");
        assert_eq!((text(&fields.database), fields.errno, fields.killed), (Some(""), Some(1146), Some(0)));
        assert_eq!((fields.timed, fields.duration_ns), (true, Some(2_000_000_000)));
        // log_slow_extra
        let fields = read(
            "# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0 Thread_id: 8 Errno: 1064 Killed: 0 \
             Bytes_received: 0",
        );
        assert_eq!((text(&fields.connection), fields.errno), (Some("8"), Some(1064)));
        assert!(read("# Stored routine: shop.p").servers_own && read("# Stored_routine: shop.p").servers_own);
        let broken = read("# Query_time: 18446744073708.796870.000036  Lock_time: 0.000036");
        assert_eq!((broken.timed, broken.duration_ns), (true, None));
        assert_eq!(read("# Query_time: 18446744073708.796870").duration_ns, None);
    }

    #[test]
    fn what_the_server_sets() {
        let read = |line: &str| Presets::read(line.as_bytes()).map(|presets| (presets.timestamp, presets.insert_id));
        assert_eq!(read("SET timestamp=1553443380;"), Some((Some(1_553_443_380), None)));
        assert_eq!(read("SET last_insert_id=1,insert_id=2,timestamp=3;"), Some((Some(3), Some(2))));
        assert_eq!(read("SET timestamp=1553443380.25;"), Some((Some(1_553_443_380), None)));
        for line in ["SET names=1;", "SET timestamp=DEFAULT;", "SET timestamp=1", "set timestamp=1;", "SELECT 1;"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn the_database_of_an_entry() {
        for (line, name) in [("use db;", "db"), ("uSe `my ``db`;", "my `db"), ("use  a b ;", "a b")] {
            assert_eq!(used(line.as_bytes()).as_deref(), Some(name), "{line}");
        }
        for line in ["use db", "user;", "use ;", "use `db;", "SELECT 1;"] {
            assert_eq!(used(line.as_bytes()), None, "{line}");
        }
    }
}
