//! What an execution and a request must have in common.

use splitproof_capture::mysql::ParamType;
use splitproof_capture::sql::mysql::{Mode, Sent, with_values};
use splitproof_capture::trace::{Kind, Outcome, Request};
use xxhash_rust::xxh3::Xxh3;

/// Digest of what was asked. Formats, statement and portal names are left out, because a router may choose its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(u128);

/// SQLSTATE of a statement inside a failed transaction: nothing is executed, and a router may answer it by itself.
const IN_FAILED_TRANSACTION: &str = "25P02";

/// True when the request makes a node execute a statement, so that its place can and must be known.
///
/// Connecting, disconnecting, Parse, COM_STMT_PREPARE, Close, and a lone Describe, Sync or Flush execute nothing; neither does a request that was
/// passed over after an earlier error, a statement in a failed transaction, or an empty text.
pub fn needs_execution(request: &Request) -> bool {
    let executes = matches!(request.kind, Kind::Query | Kind::Execute | Kind::Fetch | Kind::Copy | Kind::Call);
    let reached = request.outcome != Outcome::Skipped && request.error_code.as_deref() != Some(IN_FAILED_TRANSACTION);
    let portal_only = request.kind == Kind::Execute
        && !is_mysql(&request.messages)
        && !request.messages.contains('E')
        && !request.messages.is_empty();
    let empty = request.sql.as_deref().is_some_and(is_blank);
    executes && reached && !portal_only && !empty
}

/// True for the messages of a MySQL request, which are written as two hexadecimal digits each: PostgreSQL's are letters,
/// and none begins a request with `f`.
pub fn is_mysql(messages: &str) -> bool {
    matches!(messages.as_bytes().first(), Some(b'0'..=b'9' | b'f'))
}

/// A text without a statement: white space and semicolons.
fn is_blank(sql: &str) -> bool {
    sql.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b';')
}

/// The key of a request or execution, when its text is known. With a `mode`, parameters of MySQL count as if they stood in the
/// text, as they do in a server's log.
pub(super) fn key(request: &Request, mode: Option<&Mode>) -> Option<Key> {
    if is_mysql(&request.messages) {
        return mysql(request, mode);
    }
    let how = match request.kind {
        Kind::Query => b'Q',
        Kind::Execute => b'B',
        // A text becomes a copy when the server answers so: the way it was sent is what both sides have in common.
        Kind::Copy => match request.messages.as_bytes().first() {
            Some(b'B') => b'B',
            _ => b'Q',
        },
        Kind::Fetch => b'E',
        Kind::Call => b'F',
        _ => return None,
    };
    let mut hash = Xxh3::new();
    hash.update(&[how]);
    match (&request.sql_raw, &request.sql) {
        (Some(raw), _) => hash.update(raw),
        (None, Some(sql)) => hash.update(sql.as_bytes()),
        (None, None) if request.kind == Kind::Call => {}
        (None, None) => return None,
    }
    params(&mut hash, request);
    Some(Key(hash.digest128()))
}

/// The key for MySQL: text and parameters. How it was sent is left out, because a router may prepare a text or send a
/// prepared one as text, and so are the attributes of a query, which are the client's own. A fetch reads on from one
/// statement of its connection; its text is that statement's.
fn mysql(request: &Request, mode: Option<&Mode>) -> Option<Key> {
    let how = match request.kind {
        Kind::Query | Kind::Execute | Kind::Copy => b'M',
        Kind::Fetch => b'F',
        _ => return None,
    };
    let mut hash = Xxh3::new();
    hash.update(&[how]);
    if let Some(mode) = mode {
        let text = request.sql_raw.as_deref().or_else(|| request.sql.as_deref().map(str::as_bytes))?;
        // The log holds a bulk execution without its values.
        let known = request.kind == Kind::Execute && request.copy_data.is_empty();
        let params = request.params.iter().filter(|_| known).map(|param| {
            // The type fits: it was sent in two bytes.
            (ParamType(param.type_id as u16), param.value.as_deref())
        });
        hash.update(&with_values(text, &params.collect::<Vec<Sent<'_>>>(), mode));
        return Some(Key(hash.digest128()));
    }
    match (&request.sql_raw, &request.sql) {
        (Some(raw), _) => hash.update(raw),
        (None, Some(sql)) => {
            hash.update(sql.trim_end_matches(|end: char| end == ';' || end.is_ascii_whitespace()).as_bytes())
        }
        (None, None) => return None,
    }
    if request.kind == Kind::Execute {
        params(&mut hash, request);
        // A bulk execute's rows.
        request.copy_data.iter().for_each(|part| hash.update(part));
    }
    Some(Key(hash.digest128()))
}

fn params(hash: &mut Xxh3, request: &Request) {
    for param in &request.params {
        match &param.value {
            Some(value) => {
                hash.update(&[1]);
                hash.update(&(value.len() as u64).to_le_bytes());
                hash.update(value);
            }
            None => hash.update(&[0]),
        }
    }
}
