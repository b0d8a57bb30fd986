//! What a message says of a statement or a connection.

use memchr::memmem;

use crate::log::time;

/// A message that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// `statement: SQL` or `execute NAME: SQL`, written before it runs.
    Began(Step<'a>),
    /// `duration: N ms  STEP`, written afterwards.
    Ended { duration_ns: u64, step: Step<'a> },
    /// `duration: N ms`: of what was logged before it.
    Duration { duration_ns: u64 },
    /// `duration: N ms  plan:`, of auto_explain.
    Plan,
    /// `connection received: host=H port=P`.
    Received { client: Client<'a> },
    /// `connection authenticated: …`.
    Authenticated,
    /// `connection authorized: user=U database=D application_name=A …`.
    Authorized { user: Option<&'a [u8]>, database: Option<&'a [u8]>, application: Option<&'a [u8]> },
    /// `fastpath function call: "name" (OID n)`.
    Fastpath,
    /// `replication connection authorized: …`, `received replication command: …`.
    Replication,
    /// `disconnection: session time: …`.
    Disconnection,
    /// Anything else.
    Other,
}

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A text in the simple protocol.
    Query { sql: &'a [u8] },
    /// Parse.
    Parse { name: &'a [u8], sql: &'a [u8] },
    /// Bind.
    Bind { name: &'a [u8], portal: &'a [u8], sql: &'a [u8] },
    /// Execute, the first of its portal or a further one.
    Execute { name: &'a [u8], portal: &'a [u8], sql: &'a [u8], again: bool },
}

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Client<'a> {
    pub host: &'a [u8],
    pub port: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads a message of severity LOG.
    pub fn read(text: &'a [u8]) -> Self {
        Self::known(text).unwrap_or(Message::Other)
    }

    fn known(text: &'a [u8]) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(b"duration: ") {
            return Self::duration(rest);
        }
        if let Some(rest) = text.strip_prefix(b"connection ") {
            if let Some(fields) = rest.strip_prefix(b"received: ") {
                let host = field(fields, b"host=")?;
                return Some(Message::Received { client: Client { host, port: field(fields, b"port=") } });
            }
            if let Some(fields) = rest.strip_prefix(b"authorized: ") {
                return Some(Message::Authorized {
                    user: field(fields, b"user="),
                    database: field(fields, b"database="),
                    application: field(fields, b"application_name="),
                });
            }
            return rest.starts_with(b"authenticated: ").then_some(Message::Authenticated);
        }
        if text.starts_with(b"disconnection: session time: ") {
            return Some(Message::Disconnection);
        }
        if text.starts_with(b"replication connection authorized: ")
            || text.starts_with(b"received replication command: ")
        {
            return Some(Message::Replication);
        }
        if text.starts_with(b"fastpath function call: ") {
            return Some(Message::Fastpath);
        }
        Step::read(text).map(Message::Began)
    }

    fn duration(rest: &'a [u8]) -> Option<Self> {
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (number, rest) = rest.split_at_checked(end)?;
        // Up to version 7.4 it was in seconds.
        let (unit_ns, rest) = match rest.strip_prefix(b" ms") {
            Some(rest) => (1_000_000, rest),
            None => (1_000_000_000, rest.strip_prefix(b" sec")?),
        };
        let duration_ns = decimal(number, unit_ns)?;
        let rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(Message::Duration { duration_ns });
        }
        if rest.starts_with(b"plan:") {
            return Some(Message::Plan);
        }
        Some(Message::Ended { duration_ns, step: Step::read(rest)? })
    }
}

impl<'a> Step<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        // Up to version 7.4 a statement was a query.
        if let Some(rest) = text.strip_prefix(b"statement:").or_else(|| text.strip_prefix(b"query:")) {
            // A blank, or a newline where syslog cut at that blank.
            let sql =
                rest.strip_prefix(b" ").or_else(|| rest.strip_prefix(b"\n")).or(rest.is_empty().then_some(rest))?;
            return Some(Step::Query { sql });
        }
        if let Some(rest) = text.strip_prefix(b"execute fetch from ") {
            let (name, portal, sql) = named(rest)?;
            return Some(Step::Execute { name, portal, sql, again: true });
        }
        if let Some(rest) = text.strip_prefix(b"execute ") {
            let (name, portal, sql) = named(rest)?;
            return Some(Step::Execute { name, portal, sql, again: false });
        }
        if let Some(rest) = text.strip_prefix(b"parse ") {
            let (name, sql) = split_once(rest, b": ")?;
            return Some(Step::Parse { name: unnamed(name), sql });
        }
        let (name, portal, sql) = named(text.strip_prefix(b"bind ")?)?;
        Some(Step::Bind { name, portal, sql })
    }

    /// Its text.
    pub fn sql(&self) -> &'a [u8] {
        match *self {
            Step::Query { sql } | Step::Parse { sql, .. } | Step::Bind { sql, .. } | Step::Execute { sql, .. } => sql,
        }
    }
}

/// `NAME[/PORTAL]: SQL`. A name may hold a colon, and where it holds a slash it cannot be told from a portal's.
fn named(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, sql) = split_once(text, b": ")?;
    let (name, portal) = split_once(name, b"/").unwrap_or((name, b""));
    Some((unnamed(name), unnamed(portal), sql))
}

/// How a log writes the statement without a name.
fn unnamed(name: &[u8]) -> &[u8] {
    if name == b"<unnamed>" { b"" } else { name }
}

fn split_once<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let found = memmem::find(text, at)?;
    Some((text.get(..found)?, text.get(found + at.len()..)?))
}

/// The value of `name=value` up to the next field. Values may hold blanks (a user, an application), so that a field ends
/// where another that is known begins.
fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    const NEXT: &[&[u8]] =
        &[b" user=", b" database=", b" application_name=", b" host=", b" port=", b" SSL ", b" GSS ", b" ("];
    let start = match text.starts_with(name) {
        true => name.len(),
        false => memmem::find(text, &[b" ", name].concat())? + 1 + name.len(),
    };
    let value = text.get(start..)?;
    let end = NEXT.iter().filter_map(|next| memmem::find(value, next)).min().unwrap_or(value.len());
    value.get(..end)
}

/// A decimal number of units, as nanoseconds.
fn decimal(text: &[u8], unit_ns: u64) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = text.split_at_checked(point)?;
    let whole = u64::try_from(time::number(whole)?).ok()?;
    let fraction = u64::try_from(time::nanoseconds(fraction)?).ok()?;
    whole.checked_mul(unit_ns)?.checked_add(fraction / (1_000_000_000 / unit_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Message<'_>) {
        assert_eq!(Message::read(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn statements_before_they_run() {
        check("statement: SELECT 1", Message::Began(Step::Query { sql: b"SELECT 1" }));
        check("query: SELECT 1", Message::Began(Step::Query { sql: b"SELECT 1" }));
        check("statement:\nSELECT 1", Message::Began(Step::Query { sql: b"SELECT 1" }));
        check("statement:", Message::Began(Step::Query { sql: b"" }));
        check("statements: 1", Message::Other);
        let execute = |name, portal, again| Message::Began(Step::Execute { name, portal, sql: b"SELECT 1", again });
        check("execute <unnamed>: SELECT 1", execute(b"", b"", false));
        check("execute S_1/C_2: SELECT 1", execute(b"S_1", b"C_2", false));
        check("execute fetch from S_1/C_2: SELECT 1", execute(b"S_1", b"C_2", true));
        check("execute py:0x7fde12d61b80: SELECT 1", execute(b"py:0x7fde12d61b80", b"", false));
        check("execute sbstmt-513671205-1941546510: SELECT 1", execute(b"sbstmt-513671205-1941546510", b"", false));
    }

    #[test]
    fn durations_with_and_without_their_statement() {
        let ended = |duration_ns, step| Message::Ended { duration_ns, step };
        check("duration: 0.658 ms  statement: SELECT 1", ended(658_000, Step::Query { sql: b"SELECT 1" }));
        check(
            "duration: 2 ms  parse <unnamed>: SELECT 1",
            ended(2_000_000, Step::Parse { name: b"", sql: b"SELECT 1" }),
        );
        let bind = Step::Bind { name: b"a", portal: b"b", sql: b"SELECT 1" };
        check("duration: 0.001 ms  bind a/b: SELECT 1", ended(1000, bind));
        check("duration: 688786.283 ms", Message::Duration { duration_ns: 688_786_283_000 });
        check("duration: 0.084312 sec", Message::Duration { duration_ns: 84_312_000 });
        check("duration: 1.5 ms  plan:\n\tQuery Text: SELECT 1", Message::Plan);
        for text in ["duration: soon ms", "duration: 1.5 years", "duration: ", "duration: 1 ms  something: else"] {
            check(text, Message::Other);
        }
    }

    #[test]
    fn connections() {
        let client = Client { host: b"::1", port: Some(b"5544") };
        check("connection received: host=::1 port=5544", Message::Received { client });
        check(
            "connection received: host=[local]",
            Message::Received { client: Client { host: b"[local]", port: None } },
        );
        check("connection authenticated: identity=\"a\" method=md5", Message::Authenticated);
        check(
            "connection authorized: user=the app database=shop application_name=my psql SSL enabled (protocol=TLSv1.3)",
            Message::Authorized { user: Some(b"the app"), database: Some(b"shop"), application: Some(b"my psql") },
        );
        check(
            "connection authorized: user=a database=shop",
            Message::Authorized { user: Some(b"a"), database: Some(b"shop"), application: None },
        );
        check("replication connection authorized: user=r", Message::Replication);
        check("disconnection: session time: 0:00:01.5 user=a database=b host=[local]", Message::Disconnection);
        check("checkpoint starting: time", Message::Other);
    }
}
