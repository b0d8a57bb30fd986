//! Why a request belongs where it belongs.

use std::fmt;
use std::sync::Arc;

use splitproof_capture::sql::RowLock;

/// Why a request belongs where it belongs. Displayed as a clause that follows "because".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A plain read.
    Read,
    /// It reads settings or plans, and no data.
    ReadsServer,
    /// It calls this function, which is declared volatile and changes nothing.
    ChangesNothing(Arc<str>),
    /// It calls this function, which does not promise to change nothing and whose body only reads.
    BodyReads(Arc<str>),
    /// It reads this view, in which every server shows itself.
    ServerView(Arc<str>),
    /// A read in a read-only transaction.
    ReadOnlyTransaction,

    /// INSERT, UPDATE, DELETE, MERGE, TRUNCATE or COPY FROM.
    Writes,
    /// A changing statement inside WITH.
    ModifyingCte,
    /// SELECT INTO.
    SelectInto,
    /// It defines or changes an object.
    Defines,
    /// VACUUM, ANALYZE and the like.
    Maintains(Arc<str>),
    /// COPY to a file or program on the server.
    ServerFile,
    /// A row locking clause.
    RowLock(RowLock),
    /// LOCK TABLE.
    TableLock,
    /// CALL or DO may do anything.
    Procedure,
    /// A compound statement outside a stored program.
    Compound,
    /// SET GLOBAL and PERSIST: settings of the server.
    ServerSetting(Arc<str>),
    /// NOTIFY.
    Notifies,
    /// LISTEN or UNLISTEN; a replica refuses it.
    Listens,
    /// It calls this function, which does not promise to change nothing: VOLATILE in PostgreSQL; MODIFIES SQL DATA, CONTAINS SQL
    /// or no promise in MySQL and MariaDB.
    VolatileFunction(Arc<str>),
    /// It calls this function, which is declared to change nothing and whose body does this.
    Undeclared(Arc<str>, Arc<str>),
    /// It calls this system function, which changes something or works only on the primary.
    SystemFunction(Arc<str>),
    /// Advisory locks live on one server.
    AdvisoryLock(Arc<str>),
    /// It asks for the value that the session drew from a sequence.
    SequenceValue(Arc<str>),
    /// It reads this unlogged table, which is empty on replicas.
    Unlogged(Arc<str>),
    /// Replicas refuse SERIALIZABLE.
    Serializable,
    /// Reads of a SERIALIZABLE transaction lock rows.
    SerializableLocks,
    /// Two-phase commit.
    TwoPhase,

    /// It opens, shapes or ends a transaction.
    TransactionControl,
    /// It stands in an explicit transaction.
    InTransaction,
    /// Its transaction has failed.
    FailedTransaction,
    /// It touches this temporary table.
    TemporaryTable(Arc<str>),
    /// It makes a temporary table, which any node may hold.
    MakesTemporary,
    /// The session holds table locks.
    TableLocks,
    /// It reads this user variable, which a query filled.
    Variable(Arc<str>),
    /// It asks for this of a statement before it.
    Follows(&'static str),
    /// It makes or uses this prepared statement.
    Prepared(Arc<str>),
    /// It makes or uses this cursor.
    Cursor(Arc<str>),
    /// It reads on from a portal.
    Portal,
    /// It sets state of the session.
    SessionState(Arc<str>),

    /// It calls this function, whose volatility is not known.
    UnknownFunction(Arc<str>),
    /// The parser does not understand it.
    Unparsable(Arc<str>),
    /// It runs a prepared statement or cursor whose making was not seen.
    UnknownOrigin(Arc<str>),
    /// Its text stands in a variable.
    TextInVariable,
    /// A function called outside SQL, by number.
    FastPath,
    /// Its text is not known.
    NoText,

    /// An empty text.
    Empty,
    /// It runs no statement.
    NotRouted,
}

impl Reason {
    /// True for the reasons that rest on not knowing what the statement does.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Reason::UnknownFunction(_)
                | Reason::Unparsable(_)
                | Reason::UnknownOrigin(_)
                | Reason::TextInVariable
                | Reason::FastPath
                | Reason::NoText
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Read => f.write_str("it only reads"),
            Reason::ReadsServer => f.write_str("it reads settings or plans, not data"),
            Reason::ChangesNothing(name) => write!(f, "{name}() gives another result each time but changes nothing"),
            Reason::BodyReads(name) => write!(f, "{name}() is not declared to change nothing, but its body only reads"),
            Reason::ServerView(name) => write!(f, "in {name} every server shows itself"),
            Reason::ReadOnlyTransaction => f.write_str("its transaction is read only"),
            Reason::Writes => f.write_str("it writes"),
            Reason::ModifyingCte => f.write_str("a statement inside WITH writes"),
            Reason::SelectInto => f.write_str("SELECT INTO creates a table"),
            Reason::Defines => f.write_str("it defines or changes an object"),
            Reason::Maintains(name) => write!(f, "{} maintains the server", name.to_ascii_uppercase()),
            Reason::ServerFile => f.write_str("it reads or writes a file on the server"),
            Reason::RowLock(lock) => {
                let clause = match lock {
                    RowLock::KeyShare => "FOR KEY SHARE",
                    RowLock::Share => "FOR SHARE",
                    RowLock::NoKeyUpdate => "FOR NO KEY UPDATE",
                    RowLock::Update => "FOR UPDATE",
                };
                write!(f, "{clause} locks rows")
            }
            Reason::TableLock => f.write_str("it locks a table"),
            Reason::Procedure => f.write_str("CALL and DO may do anything"),
            Reason::Compound => f.write_str("a compound statement may do anything"),
            Reason::ServerSetting(name) => write!(f, "{name} is a setting of the server"),
            Reason::Notifies => f.write_str("a replica cannot send notifications"),
            Reason::Listens => f.write_str("a replica has no notifications"),
            Reason::VolatileFunction(name) => write!(f, "{name}() is not declared to change nothing, and may write"),
            Reason::Undeclared(name, why) => write!(f, "{name}() is declared to change nothing, but its body {why}"),
            Reason::SystemFunction(name) => write!(f, "{name}() changes something or works only on the primary"),
            Reason::AdvisoryLock(name) => write!(f, "{name}() works on the advisory locks of one server"),
            Reason::SequenceValue(name) => {
                write!(f, "{name} tells what this session drew from a sequence on the primary")
            }
            Reason::Unlogged(name) => write!(f, "{name} is unlogged and cannot be read on a replica"),
            Reason::Serializable => f.write_str("a replica refuses SERIALIZABLE"),
            Reason::SerializableLocks => f.write_str("reads of a SERIALIZABLE transaction lock rows"),
            Reason::TwoPhase => f.write_str("a replica has no two-phase commit"),
            Reason::TransactionControl => f.write_str("it opens, shapes or ends a transaction"),
            Reason::InTransaction => f.write_str("it belongs where its transaction runs"),
            Reason::FailedTransaction => f.write_str("its transaction has failed"),
            Reason::TemporaryTable(name) => write!(f, "the temporary table {name} lives in one session"),
            Reason::MakesTemporary => f.write_str("any node may hold a temporary table"),
            Reason::TableLocks => f.write_str("the session holds table locks"),
            Reason::Variable(name) => write!(f, "a query filled @{name} where it ran"),
            Reason::Follows(what) => write!(f, "{what} stand where the statement before ran"),
            Reason::Prepared(name) => write!(f, "the prepared statement {name} lives in one session"),
            Reason::Cursor(name) => write!(f, "the cursor {name} lives in one session"),
            Reason::Portal => f.write_str("it reads on from an open portal or cursor"),
            Reason::SessionState(name) => write!(f, "{name} is session state that every server must see"),
            Reason::UnknownFunction(name) => write!(f, "the volatility of {name}() is not known"),
            Reason::Unparsable(error) => write!(f, "the parser does not understand it: {error}"),
            Reason::UnknownOrigin(name) => write!(f, "the making of {name} was not seen"),
            Reason::TextInVariable => f.write_str("its text stands in a variable"),
            Reason::FastPath => f.write_str("it calls a function by its number"),
            Reason::NoText => f.write_str("its text is not known"),
            Reason::Empty => f.write_str("the text is empty"),
            Reason::NotRouted => f.write_str("it runs no statement"),
        }
    }
}
