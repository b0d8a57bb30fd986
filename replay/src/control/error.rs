//! What can be wrong with a pair when it is asked.

use crate::pair::Role;

/// What is wrong with a node, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No connection.
    #[error(
        "node \"{node}\" at {url}: cannot connect: {}; check that the server runs, the URL in pair.toml, \
         and the password (URL, PGPASSWORD or PGPASSFILE)",
        reason(source)
    )]
    Connect {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// What the server or the system said.
        source: tokio_postgres::Error,
    },
    /// A question about the node failed.
    #[error("node \"{node}\" at {url}: cannot {what}: {}", reason(source))]
    Query {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// What was asked.
        what: &'static str,
        /// What the server said.
        source: tokio_postgres::Error,
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
    /// Two nodes are no pair.
    #[error(
        "node \"{node}\" at {url} is of another database system ({found}) than the primary \"{primary}\" ({expected}): \
         a replica is a physical copy of its primary; check the URLs in pair.toml"
    )]
    System {
        /// Name of the node.
        node: String,
        /// Where, without the password.
        url: String,
        /// Its system identifier.
        found: i64,
        /// Name of the primary.
        primary: String,
        /// The primary's system identifier.
        expected: i64,
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

/// `tokio_postgres` says the kind of error; what the server said is its source.
pub(crate) fn reason(error: &tokio_postgres::Error) -> String {
    use std::error::Error;
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
    }
}
