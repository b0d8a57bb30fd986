//! What the sandbox needs of a database server: one trait, one implementation for each engine.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Engine;

use super::mysql::Mariadb;
use super::node::{Node, Stop};
use super::postgresql::Postgresql;
use crate::error::{Error, Result};

/// Where a server logs every statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementLog {
    /// Into a file in the sandbox's `log/`.
    File,
    /// Into a table, which is read over SQL.
    Table,
}

/// A database engine with its programs, as the sandbox uses it. All of it blocks.
pub(super) trait Server: Sync {
    /// The product's name.
    fn product(&self) -> &'static str;

    /// The second node's name, as this engine's users call it: also the name of its directory and log.
    fn replica_name(&self) -> &'static str;

    /// The user of both nodes who may do everything, without a password.
    fn superuser(&self) -> &'static str;

    /// The directory of its programs in Debian's packages.
    fn find_programs(&self) -> Result<PathBuf>;

    /// Makes an empty server's data directory.
    fn init(&self, node: &Node) -> Result<()>;

    /// Writes the settings of a server that does not run yet.
    fn configure(&self, node: &Node, settings: Settings) -> Result<()>;

    /// The file in the data directory whose first line is the running server's process id.
    fn pid_file(&self) -> &'static str;

    /// Starts a stopped server and waits until it answers.
    fn start(&self, node: &Node) -> Result<()>;

    /// Stops a running server and waits until its process is gone.
    fn stop(&self, node: &Node, pid: i32, how: Stop) -> Result<()>;

    /// Runs SQL as the superuser; gives the rows, one per line, with the engine's usual separator.
    fn sql(&self, node: &Node, database: &str, sql: &str) -> Result<String>;

    /// A database that is always there.
    fn home_database(&self) -> &'static str;

    /// Makes the users `shop` and `report` and the database, on the new primary.
    fn prepare(&self, primary: &Node) -> Result<()>;

    /// Makes the new replica, which runs, follow the primary.
    fn follow(&self, replica: &Node, primary: &Node) -> Result<()>;

    /// Whether the replica receives what the primary writes.
    fn receives(&self, replica: &Node) -> Result<bool>;

    /// Makes the primary close its side of the connections of a replica that has gone.
    fn forget_replicas(&self, primary: &Node) -> Result<()> {
        let _ = primary;
        Ok(())
    }

    /// How far the primary has written.
    fn position(&self, primary: &Node) -> Result<String>;

    /// Whether the replica has applied what the primary had written at a position.
    fn has_applied(&self, replica: &Node, position: &str) -> Result<bool>;

    /// Makes the replica receive and not apply.
    fn pause(&self, replica: &Node) -> Result<()>;

    /// Lets it apply again.
    fn resume(&self, replica: &Node) -> Result<()>;

    /// Makes the replica apply everything so many seconds late; zero is as soon as it can.
    fn set_delay(&self, replica: &Node, seconds: u32) -> Result<()>;

    /// By how many seconds it applies late on purpose.
    fn delay(&self, replica: &Node) -> Result<u32>;

    /// Switches the log of every statement on or off.
    fn log_statements(&self, node: &Node, to: Option<StatementLog>) -> Result<()> {
        let _ = to;
        Err(unsupported(node.engine, node.dir, "switch for a general log"))
    }

    /// The file that [`StatementLog::File`] writes.
    fn statement_log(&self, node: &Node) -> Result<PathBuf> {
        Err(unsupported(node.engine, node.dir, "general log"))
    }
}

/// What distinguishes one server's settings from another's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settings {
    /// The port of the primary that it follows.
    pub upstream: Option<u16>,
    /// Whether MariaDB's performance_schema is on.
    pub performance_schema: bool,
}

/// The implementation for an engine.
pub(super) fn of(engine: Engine) -> &'static dyn Server {
    match engine {
        Engine::Postgresql => &Postgresql,
        Engine::Mysql => &Mariadb,
    }
}

/// The answer to a command that the pair of this engine does not have, and MariaDB's does.
pub(super) fn unsupported(engine: Engine, dir: &Path, what: &'static str) -> Error {
    Error::Unsupported { dir: dir.to_owned(), product: of(engine).product(), what }
}
