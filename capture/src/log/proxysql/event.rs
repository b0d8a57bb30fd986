//! What an event tells, in either format.

use std::borrow::Cow;

use crate::trace::Param;

/// A request of a client that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event<'a> {
    pub asked: Asked,
    /// Number of the session within ProxySQL, which begins anew with it.
    pub thread: u64,
    pub user: Cow<'a, [u8]>,
    pub database: Cow<'a, [u8]>,
    /// The client's address and port.
    pub client: Cow<'a, [u8]>,
    /// Number of the hostgroup; `None` where ProxySQL answered by itself.
    pub hostgroup: Option<u64>,
    /// Address and port of the server that answered.
    pub server: Cow<'a, [u8]>,
    /// Nanoseconds since 1970 UTC.
    pub start_ns: i64,
    pub duration_ns: u64,
    /// Number of the prepared statement, as the client knows it.
    pub statement: Option<u32>,
    /// Text of the statement; `None` where what stands in its place is something else.
    pub sql: Option<Cow<'a, [u8]>>,
    /// The text is not as it was sent: its bytes were no UTF-8.
    pub replaced: bool,
    /// Parameters of an execution; `None` where they are not told, or cannot be read.
    pub params: Option<Vec<Param>>,
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    pub last_insert_id: Option<u64>,
    /// Number of its error; 0 where there was none. `None` where that is not told.
    pub errno: Option<u64>,
    pub error: Option<Cow<'a, [u8]>>,
    pub gtid: Option<Cow<'a, [u8]>>,
}

/// What the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Query,
    Prepare,
    Execute,
}
