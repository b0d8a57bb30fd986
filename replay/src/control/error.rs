//! What can be wrong with a pair when it is asked.

use splitproof_capture::trace::Engine;

use crate::pair::Role;

/// What is wrong with a node, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No connection.
    #[error(
        "node \"{node}\" at {url}: cannot connect: {source}; check that the server runs, the URL in pair.toml, \
         and the password ({})",
        passwords(*engine)
    )]
    Connect {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// Its engine.
        engine: Engine,
        /// What the server or the system said.
        source: DriverError,
    },
    /// A question about the node failed.
    #[error("node \"{node}\" at {url}: cannot {what}: {source}")]
    Query {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// What was asked.
        what: &'static str,
        /// What the server said.
        source: DriverError,
    },
    /// A node is not what `pair.toml` says.
    #[error(
        "node \"{node}\" at {url} is a {found}, and pair.toml says role = \"{expected}\": {}",
        role_remedy(*expected)
    )]
    Role {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// What `pair.toml` says.
        expected: Role,
        /// What the server says.
        found: Role,
    },
    /// A primary that takes no writes.
    #[error(
        "node \"{node}\" at {url}: read_only is on, so it takes no writes: it is no primary; check pair.toml, or turn it off"
    )]
    ReadOnly {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
    },
    /// Two nodes are no pair.
    #[error("node \"{node}\" at {url}: {problem}; check the URLs in pair.toml")]
    Lineage {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// Why it is no replica of the primary.
        problem: String,
    },
    /// The target took part in the recording.
    #[error(
        "{what} is at {address}, where the trace was recorded: a replay must not write to the recorded server; name \
         another target in pair.toml, or give --allow-recorded-server if this one was restored for the replay"
    )]
    RecordedServer {
        /// The router or a node.
        what: String,
        /// The address that the recording names as its server.
        address: String,
    },
}

impl ControlError {
    /// True when the pair may be right but the server did not answer.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, ControlError::Connect { .. })
    }
}

fn role_remedy(expected: Role) -> &'static str {
    match expected {
        Role::Primary => "swap the roles in pair.toml if a failover has happened, or promote the node",
        Role::Replica => "swap the roles in pair.toml if a failover has happened, or make the node a standby again",
    }
}

/// Where a password may be given.
fn passwords(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgresql => "URL, PGPASSWORD or PGPASSFILE",
        Engine::Mysql => "URL, ~/.my.cnf or MYSQL_PWD",
    }
}

/// What a driver or the server behind it says.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// PostgreSQL.
    #[error("{}", postgresql(.0))]
    Postgresql(tokio_postgres::Error),
    /// MySQL or MariaDB.
    #[error("{}", mysql(.0))]
    Mysql(Box<mysql_async::Error>),
    /// Nothing came for as long as is worth waiting.
    #[error("no answer within 10 s")]
    Silent,
    /// An answer without the row that it must have.
    #[error("the answer has no rows")]
    Empty,
    /// An answer without a value that it must have.
    #[error("the answer's column \"{0}\" is missing, null or of another type")]
    Column(String),
    /// The question is one for another engine.
    #[error("it is of another engine")]
    OtherEngine,
}

// The drivers' errors are no sources: their texts, which say the same in words of their own, would follow ours.
impl From<tokio_postgres::Error> for DriverError {
    fn from(error: tokio_postgres::Error) -> Self {
        DriverError::Postgresql(error)
    }
}

impl From<mysql_async::Error> for DriverError {
    fn from(error: mysql_async::Error) -> Self {
        DriverError::Mysql(Box::new(error))
    }
}

/// `tokio_postgres` says the kind of error; what the server said is its source.
fn postgresql(error: &tokio_postgres::Error) -> String {
    use std::error::Error;
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
    }
}

/// `mysql_async` wraps its errors in words of its own.
fn mysql(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(error) => format!("{} ({})", error.message, error.code),
        mysql_async::Error::Io(mysql_async::IoError::Io(error)) => error.to_string(),
        mysql_async::Error::Driver(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "Connection refused (os error 111)");
        let error = ControlError::Connect {
            node: "replica".into(),
            url: "mysql://127.0.0.1:3307".into(),
            engine: Engine::Mysql,
            source: mysql_async::Error::from(refused).into(),
        };
        let told = splitproof_capture::causes(&error);
        assert_eq!(told.matches("Connection refused").count(), 1, "{told}");
        assert!(told.ends_with("(URL, ~/.my.cnf or MYSQL_PWD)"), "{told}");
    }
}
