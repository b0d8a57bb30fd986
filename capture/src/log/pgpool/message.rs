//! What an entry says.

use memchr::memmem;

/// A message that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// `new connection received`, and from where.
    Received { host: &'a [u8], port: Option<&'a [u8]> },
    /// `X message from frontend.` (`log_client_messages`).
    Front(Front<'a>),
    /// `statement: SQL` (`log_statement`): what a client asked; what pgpool does by itself behind a client's back, too.
    Statement { sql: &'a [u8] },
    /// `DB node id: N backend pid: P statement: …` (`log_per_node_statement`).
    Node { node: &'a [u8], step: Step<'a> },
    /// `… Error or notice message from backend: … statement: "SQL" message: "TEXT"`. Which of the two is told next.
    Complaint { sql: &'a [u8], text: &'a [u8] },
    /// `Error message from backend: DB node id: N message: "TEXT"`.
    Error { text: &'a [u8] },
    /// `backend [N]: NOTICE: TEXT`, or a warning: what came before was no error.
    Notice { text: &'a [u8] },
    /// `backend throws an error message`: a session that cannot begin.
    Refused { text: &'a [u8] },
    /// `frontend disconnection: session time: … user=U database=D host=H port=P`.
    Disconnection { user: &'a [u8], database: &'a [u8], host: &'a [u8], port: Option<&'a [u8]> },
    /// Anything else.
    Other,
}

/// A message of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front<'a> {
    Query {
        sql: &'a [u8],
    },
    Parse {
        name: &'a [u8],
        sql: &'a [u8],
    },
    Bind {
        portal: &'a [u8],
        name: &'a [u8],
    },
    /// Describe or Close, of a statement or of a portal.
    Describe(Target<'a>),
    Close(Target<'a>),
    Execute {
        portal: &'a [u8],
    },
    Sync,
    Flush,
    /// A part of a COPY.
    Copy,
    Terminate,
    /// A call outside SQL.
    Call,
    /// Another one.
    Other,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Statement(&'a [u8]),
    Portal(&'a [u8]),
}

/// What was sent to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Query {
        sql: &'a [u8],
    },
    Parse {
        sql: &'a [u8],
    },
    Bind {
        sql: &'a [u8],
    },
    Execute {
        sql: &'a [u8],
    },
    /// Another message of the protocol, by its letter.
    Letter(u8),
}

impl<'a> Message<'a> {
    /// Reads a message with its detail.
    pub fn read(text: &'a [u8], detail: Option<&'a [u8]>) -> Self {
        Self::known(text, detail).unwrap_or(Message::Other)
    }

    fn known(text: &'a [u8], detail: Option<&'a [u8]>) -> Option<Self> {
        if let Some(sql) = text.strip_prefix(b"statement: ") {
            return Some(Message::Statement { sql });
        }
        if text == b"statement:" {
            return Some(Message::Statement { sql: b"" });
        }
        if let Some(rest) = text.strip_prefix(b"DB node id: ") {
            return Self::node(rest);
        }
        if let Some(name) = text.strip_suffix(b" message from frontend.") {
            return Front::read(name, detail.unwrap_or_default()).map(Message::Front);
        }
        if text == b"new connection received" {
            let rest = detail?.strip_prefix(b"connecting host=")?;
            let (host, port) = host(rest);
            return Some(Message::Received { host, port });
        }
        if let Some(rest) = text.strip_prefix(b"frontend disconnection: session time: ") {
            let after = |name: &[u8]| memmem::rfind(rest, name).and_then(|at| rest.get(at + name.len()..));
            let upto = |text: &'a [u8], name: &[u8]| text.get(..memmem::find(text, name)?);
            let user = upto(after(b" user=")?, b" database=")?;
            let database = upto(after(b" database=")?, b" host=")?;
            let (host, port) = host(after(b" host=")?);
            return Some(Message::Disconnection { user, database, host, port });
        }
        if text == b"backend throws an error message" {
            return Some(Message::Refused { text: detail.unwrap_or_default() });
        }
        if let Some(rest) = text.strip_prefix(b"Error message from backend: DB node id: ") {
            let at = memmem::find(rest, b" message: \"")?;
            return Some(Message::Error { text: rest.get(at + 11..)?.strip_suffix(b"\"")? });
        }
        if let Some(rest) = text.strip_prefix(b"backend [") {
            let end = memchr::memchr(b']', rest)?;
            let rest = rest.get(end..)?.strip_prefix(b"]: ")?;
            let at = memmem::find(rest, b": ")?;
            let (severity, text) = (rest.get(..at)?, rest.get(at + 2..)?);
            let is_error = matches!(severity, b"ERROR" | b"FATAL" | b"PANIC");
            return Some(if is_error { Message::Error { text } } else { Message::Notice { text } });
        }
        let at = memmem::find(text.get(..text.len().min(128))?, b": Error or notice message from backend: ")?;
        let rest = text.get(at..)?;
        let statement = memmem::find(rest, b" statement: \"")? + 13;
        let message = memmem::rfind(rest, b"\" message: \"")?;
        Some(Message::Complaint {
            sql: rest.get(statement..message)?,
            text: rest.get(message + 12..)?.strip_suffix(b"\"")?,
        })
    }

    /// `N [backend pid: P ]statement: TEXT`.
    fn node(rest: &'a [u8]) -> Option<Self> {
        let end = rest.iter().position(|byte| !byte.is_ascii_digit()).filter(|&end| end > 0)?;
        let (node, rest) = rest.split_at_checked(end)?;
        let rest = match rest.strip_prefix(b" backend pid: ") {
            Some(rest) => rest.get(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..)?,
            None => rest,
        };
        let rest = rest.strip_prefix(b" statement:")?;
        Some(Message::Node { node, step: Step::read(rest.strip_prefix(b" ").unwrap_or(rest)) })
    }
}

impl<'a> Front<'a> {
    fn read(name: &[u8], detail: &'a [u8]) -> Option<Self> {
        Some(match name {
            b"Query" => Front::Query { sql: quoted(detail, b"query: ")? },
            b"Parse" => {
                let rest = detail.strip_prefix(b"statement: \"")?;
                let end = memmem::find(rest, b"\", query: \"")?;
                Front::Parse { name: rest.get(..end)?, sql: rest.get(end + 11..)?.strip_suffix(b"\"")? }
            }
            b"Bind" => {
                let rest = detail.strip_prefix(b"portal: \"")?;
                let end = memmem::rfind(rest, b"\", statement: \"")?;
                Front::Bind { portal: rest.get(..end)?, name: rest.get(end + 15..)?.strip_suffix(b"\"")? }
            }
            b"Describe" => Front::Describe(Target::read(detail)?),
            b"Close" => Front::Close(Target::read(detail)?),
            b"Execute" => Front::Execute { portal: quoted(detail, b"portal: ")? },
            b"Sync" => Front::Sync,
            b"Flush" => Front::Flush,
            b"CopyData" | b"CopyDone" | b"CopyFail" => Front::Copy,
            b"Terminate" => Front::Terminate,
            b"FunctionCall" => Front::Call,
            _ => Front::Other,
        })
    }
}

impl<'a> Target<'a> {
    fn read(detail: &'a [u8]) -> Option<Self> {
        let statement = || quoted(detail, b"statement: ").map(Target::Statement);
        quoted(detail, b"portal: ").map(Target::Portal).or_else(statement)
    }
}

impl<'a> Step<'a> {
    fn read(text: &'a [u8]) -> Self {
        let after = |prefix: &[u8]| text.strip_prefix(prefix);
        if let Some(sql) = after(b"Parse: ") {
            Step::Parse { sql }
        } else if let Some(sql) = after(b"Bind: ") {
            Step::Bind { sql }
        } else if let Some(sql) = after(b"Execute: ") {
            Step::Execute { sql }
        } else {
            match text {
                [letter, b' ', b'm', b'e', b's', b's', b'a', b'g', b'e'] => Step::Letter(*letter),
                b"Sync" => Step::Letter(b'S'),
                _ => Step::Query { sql: text },
            }
        }
    }
}

/// `NAME: "TEXT"`.
fn quoted<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    text.strip_prefix(name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// `HOST port=P`, or a host alone.
fn host(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memmem::find(text, b" port=") {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 6..).map(<[u8]>::trim_ascii)),
        None => (text.trim_ascii(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, detail: Option<&str>, expected: Message<'_>) {
        assert_eq!(Message::read(text.as_bytes(), detail.map(str::as_bytes)), expected, "{text}");
    }

    #[test]
    fn messages_of_a_client() {
        let front = |name: &str, detail: Option<&'static str>, expected| {
            check(&format!("{name} message from frontend."), detail, Message::Front(expected));
        };
        front("Query", Some("query: \"SELECT \"a\";\""), Front::Query { sql: b"SELECT \"a\";" });
        front("Parse", Some("statement: \"s\", query: \"SELECT 1\""), Front::Parse { name: b"s", sql: b"SELECT 1" });
        front("Bind", Some("portal: \"\", statement: \"s\""), Front::Bind { portal: b"", name: b"s" });
        front("Describe", Some("portal: \"p\""), Front::Describe(Target::Portal(b"p")));
        front("Close", Some("statement: \"s\""), Front::Close(Target::Statement(b"s")));
        front("Execute", Some("portal: \"p\""), Front::Execute { portal: b"p" });
        front("CopyData", Some("count: 7"), Front::Copy);
        front("Sync", None, Front::Sync);
        check("Query message from frontend.", None, Message::Other);
    }

    #[test]
    fn messages_of_the_nodes() {
        let node = |text: &'static str, node: &'static str, step| {
            check(text, None, Message::Node { node: node.as_bytes(), step });
        };
        node("DB node id: 0 backend pid: 77 statement: SELECT 1", "0", Step::Query { sql: b"SELECT 1" });
        node("DB node id: 12 statement: Bind: SELECT 1", "12", Step::Bind { sql: b"SELECT 1" });
        node("DB node id: 1 backend pid: 77 statement: D message", "1", Step::Letter(b'D'));
        node("DB node id: 1 backend pid: 77 statement: ", "1", Step::Query { sql: b"" });
        check(
            "pool_send_and_wait: Error or notice message from backend: : DB node id: 0 backend pid: 1 statement: \"SELECT \
             \" message: \"\" message: \"bad \"x\"\"",
            None,
            Message::Complaint { sql: b"SELECT \" message: \"", text: b"bad \"x\"" },
        );
        check("backend [0]: NOTICE: hello: x", None, Message::Notice { text: b"hello: x" });
        check("Error message from backend: DB node id: 0 message: \"x\"", None, Message::Error { text: b"x" });
    }

    #[test]
    fn connections() {
        let at = "connecting host=127.0.0.1 port=43706";
        check("new connection received", Some(at), Message::Received { host: b"127.0.0.1", port: Some(b"43706") });
        check(
            "new connection received",
            Some("connecting host=[local]"),
            Message::Received { host: b"[local]", port: None },
        );
        check(
            "frontend disconnection: session time: 0:00:00.396 user=a database=my db host=127.0.0.1 port=43706",
            None,
            Message::Disconnection { user: b"a", database: b"my db", host: b"127.0.0.1", port: Some(b"43706") },
        );
    }
}
