//! One row of a trace.

use std::sync::Arc;

use compact_str::CompactString;

use super::column::table;
use super::loss::Losses;
use super::words::words;

words! {
    /// What a client asked for.
    Kind {
        /// Start-up and authentication, until the server is ready.
        Connect = "connect",
        /// A text in the simple protocol (MySQL COM_QUERY); may hold several statements.
        Query = "query",
        /// A statement prepared in the protocol (PostgreSQL Parse, MySQL COM_STMT_PREPARE).
        Prepare = "prepare",
        /// A prepared statement run with parameters (PostgreSQL Bind and its first Execute, MySQL COM_STMT_EXECUTE).
        Execute = "execute",
        /// More rows of a suspended portal or cursor (PostgreSQL Execute again, MySQL COM_STMT_FETCH).
        Fetch = "fetch",
        /// A prepared statement or portal closed.
        Close = "close",
        /// A statement that turned into COPY, in either protocol, or into MySQL's LOAD DATA LOCAL.
        Copy = "copy",
        /// A function call outside SQL (PostgreSQL fast path).
        Call = "call",
        /// Session state reset.
        Reset = "reset",
        /// Another user on the same connection.
        ChangeUser = "change_user",
        /// Another default database on the same connection.
        InitDb = "init_db",
        /// A liveness check without SQL.
        Ping = "ping",
        /// A cancel request, which comes on a connection of its own.
        Cancel = "cancel",
        /// The client said goodbye, or the connection ended.
        Disconnect = "disconnect",
        /// Anything else, such as a lone Describe or Sync.
        Other = "other",
    }
}

words! {
    /// How a request ended.
    Outcome {
        /// The server answered without an error.
        Ok = "ok",
        /// The server answered with an error.
        Error = "error",
        /// The connection broke before the answer was complete.
        Lost = "lost",
        /// The client had it cancelled.
        Cancelled = "cancelled",
        /// The server passed over it after an earlier error in the same pipeline group.
        Skipped = "skipped",
        /// The recording ended, or has a gap, before the answer was complete.
        Unfinished = "unfinished",
    }
}

words! {
    /// Where a session stands with its transaction (the byte of PostgreSQL's ReadyForQuery, a status flag of MySQL's).
    TransactionStatus {
        /// No transaction is open.
        Idle = "idle",
        /// A transaction is open.
        Open = "open",
        /// A transaction is open and has failed.
        Failed = "failed",
    }
}

words! {
    /// Why a replayed request was sent after its due time.
    LateCause {
        /// The session's previous answer came too late, though it took no longer to serve than when recorded.
        SessionBusy = "session_busy",
        /// The session's previous answer came too late because the server took longer than when recorded.
        ServerSlow = "server_slow",
        /// The session was free; the replayer itself was late.
        ReplayerLate = "replayer_late",
    }
}

/// One parameter value as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Param {
    /// PostgreSQL: type OID given in Parse or answered by the server; 0 when neither told. MySQL: the type as sent, with
    /// 0x8000 for unsigned.
    pub type_id: u32,
    /// True when `value` is in the binary format.
    pub binary: bool,
    /// The bytes; `None` is NULL, which differs from empty.
    pub value: Option<Box<[u8]>>,
}

table! {
    /// One thing a client asked the server to do. `docs/trace.md` describes each column.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Request [RequestBuilders, RequestValues] {
        /// Number of the session within the trace.
        pub session: u64,
        /// Number of the request within the session, from 0.
        pub seq: u32,
        /// In a run: the session of the recording that this one repeats.
        pub recorded_session: Option<u64>,
        /// In a run: the request of the recording that this one repeats.
        pub recorded_seq: Option<u32>,

        /// When the request's first byte was seen (in a run: sent), nanoseconds since 1970 UTC.
        pub start_ns: i64,
        /// In a run: when it should have been sent, nanoseconds since 1970 UTC.
        pub due_ns: Option<i64>,
        /// In a run: why it was sent late (more than the tolerance after `due_ns`).
        pub late_cause: Option<LateCause>,
        /// From start to the first row of the answer, nanoseconds.
        pub first_row_ns: Option<u64>,
        /// From start to the end of the answer, nanoseconds; `None` when it never finished.
        pub duration_ns: Option<u64>,

        /// What was asked.
        pub kind: Kind,
        /// The client messages that made up the request, in order: by their PostgreSQL type byte ("Q", "P", "BDES"), or by
        /// their MySQL command byte in two hexadecimal digits ("03", "16", "181817").
        pub messages: CompactString,
        /// SQL text; for an execute, the text of the statement it runs. Invalid UTF-8 is replaced; see `sql_raw`.
        pub sql: Option<Arc<str>>,
        /// SQL text as sent, only where it is not valid UTF-8.
        pub sql_raw: Option<Arc<[u8]>>,
        /// Digest of the statement without its literals.
        pub shape_id: Option<u64>,
        /// Name of the prepared statement; empty is the unnamed one. MySQL: its number.
        pub statement: Option<CompactString>,
        /// Name of the portal; empty is the unnamed one.
        pub portal: Option<CompactString>,
        /// Type OIDs declared when the statement was prepared; MySQL: types sent with this execute.
        pub param_types: Option<Vec<u32>>,
        /// Parameter values of an execute or call; MySQL: the attributes of a query, too.
        pub params: Vec<Param>,
        /// Names of the parameters, where they have names (attributes of a MySQL query or execute).
        pub param_names: Vec<Box<str>>,
        /// Parameter format codes as sent: none, one for all, or one each. MySQL: 1 for a parameter sent as long data.
        pub param_formats: Vec<i16>,
        /// Result format codes as sent: none, one for all, or one each. MySQL: the cursor flags, unless they are 0.
        pub result_formats: Vec<i16>,
        /// Row limit of an execute or fetch; 0 is no limit.
        pub row_limit: Option<u32>,
        /// Number of the pipeline group: requests up to the same Sync share it.
        pub pipeline_group: Option<u32>,
        /// Data that the client sent in a COPY or LOAD DATA LOCAL, one entry per message; MySQL: the bytes of an execute
        /// that cannot be read, too.
        pub copy_data: Vec<Box<[u8]>>,
        /// How many of these messages belong to each COPY that the client ended, in order: a text may hold several.
        pub copy_lengths: Vec<u32>,
        /// The reason that the client gave when it let a COPY fail.
        pub copy_failure: Option<Arc<str>>,

        /// Database of the session.
        pub database: Option<Arc<str>>,
        /// User of the session.
        pub user: Option<Arc<str>>,
        /// application_name of the session as last reported.
        pub application: Option<Arc<str>>,
        /// The client's address and port.
        pub client: Option<Arc<str>>,
        /// The server's address and port.
        pub server: Option<Arc<str>>,
        /// MySQL: what the client said it can do, CLIENT_* in the lower 32 bits and MariaDB's own in the upper ones.
        pub capabilities: Option<u64>,
        /// MySQL: number of the collation that the client asked for.
        pub collation: Option<u16>,
        /// Transaction status after the request.
        pub transaction: Option<TransactionStatus>,
        /// Autocommit mode after the request, where the engine tells.
        pub autocommit: Option<bool>,

        /// How it ended.
        pub outcome: Outcome,
        /// PostgreSQL: SQLSTATE; MySQL: the error's number.
        pub error_code: Option<CompactString>,
        /// The error's primary message.
        pub error_message: Option<Arc<str>>,
        /// Rows returned.
        pub rows: Option<u64>,
        /// Rows affected.
        pub affected: Option<u64>,
        /// Last generated identity, where the protocol tells.
        pub last_insert_id: Option<u64>,
        /// Warnings or notices sent with the answer.
        pub warnings: Option<u32>,
        /// Bytes of the answer.
        pub result_bytes: Option<u64>,
        /// Checksum over rows and completion information.
        pub checksum_full: Option<u128>,
        /// Checksum over rows, in order.
        pub checksum_rows: Option<u128>,
        /// Checksum over rows, order ignored.
        pub checksum_rowset: Option<u128>,

        /// Node or hostgroup, where the source knows it.
        pub node: Option<Arc<str>>,
        /// Replication position told with the answer, where the source tells it.
        pub position: Option<CompactString>,

        /// Part of the request or answer is missing.
        pub truncated: bool,
        /// Something was lost in this session before this request.
        pub gap_before: bool,
        /// The session began before the recording.
        pub joined_midway: bool,
        /// Literals and parameters are replaced by keyed hashes.
        pub redacted: bool,
    }
}

impl Request {
    /// A request with its identity, and nothing known of the rest.
    pub fn new(session: u64, seq: u32, start_ns: i64, kind: Kind) -> Self {
        Request {
            session,
            seq,
            recorded_session: None,
            recorded_seq: None,
            start_ns,
            due_ns: None,
            late_cause: None,
            first_row_ns: None,
            duration_ns: None,
            kind,
            messages: CompactString::const_new(""),
            sql: None,
            sql_raw: None,
            shape_id: None,
            statement: None,
            portal: None,
            param_types: None,
            params: Vec::new(),
            param_names: Vec::new(),
            param_formats: Vec::new(),
            result_formats: Vec::new(),
            row_limit: None,
            pipeline_group: None,
            copy_data: Vec::new(),
            copy_lengths: Vec::new(),
            copy_failure: None,
            database: None,
            user: None,
            application: None,
            client: None,
            server: None,
            capabilities: None,
            collation: None,
            transaction: None,
            autocommit: None,
            outcome: Outcome::Unfinished,
            error_code: None,
            error_message: None,
            rows: None,
            affected: None,
            last_insert_id: None,
            warnings: None,
            result_bytes: None,
            checksum_full: None,
            checksum_rows: None,
            checksum_rowset: None,
            node: None,
            position: None,
            truncated: false,
            gap_before: false,
            joined_midway: false,
            redacted: false,
        }
    }

    /// When the answer was complete, nanoseconds since 1970 UTC.
    pub fn end_ns(&self) -> Option<i64> {
        self.duration_ns.map(|duration| self.start_ns.saturating_add_unsigned(duration))
    }
}

/// Where a source puts its finished requests, in the order in which they finish.
pub trait Sink {
    /// Takes one request. The writer sorts them into start order.
    fn request(&mut self, request: Request);

    /// Hears from time to time what the source has lost so far, in total, so that it is known even when the source is
    /// killed.
    fn losses(&mut self, _losses: &Losses) {}
}

impl Sink for Vec<Request> {
    fn request(&mut self, request: Request) {
        self.push(request);
    }
}
