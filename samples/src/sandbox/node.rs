//! One server of the pair.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use splitproof_capture::trace::Engine;

use super::owner::Owner;
use super::server::{self, StatementLog};
use crate::error::{Error, Result};

/// How to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Disconnect clients and write everything down.
    Fast,
    /// At once; for data that is about to be thrown away.
    Immediate,
}

/// One server.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// `primary`, or `standby` (PostgreSQL) or `replica` (MariaDB); also the names of its directory and log.
    pub name: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The sandbox's directory.
    pub dir: &'a Path,
    /// What kind of server it is.
    pub engine: Engine,
    /// The server's programs.
    pub bin: &'a Path,
    /// The user it runs as.
    pub owner: &'a Owner,
}

impl Node<'_> {
    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.join(self.name)
    }

    /// Its log.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log").join(format!("{}.log", self.name))
    }

    /// The file where it logs every statement, with [`StatementLog::File`].
    pub fn statement_log(&self) -> Result<PathBuf> {
        server::of(self.engine).statement_log(self)
    }

    /// Starts the server and waits until it says that it is up.
    pub fn start(&self) -> Result<()> {
        if self.pid().is_some() {
            return Ok(());
        }
        if let Err(source) = TcpListener::bind(("127.0.0.1", self.port)) {
            return Err(Error::PortTaken { node: self.name, port: self.port, source });
        }
        server::of(self.engine).start(self)
    }

    /// Stops the server and waits until its process is gone; nothing to do when it is not running.
    pub fn stop(&self, how: Stop) -> Result<()> {
        self.pid().map_or(Ok(()), |pid| server::of(self.engine).stop(self, pid, how))
    }

    /// Its process id, when it runs.
    pub fn pid(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.data().join(server::of(self.engine).pid_file())).ok()?;
        let pid: i32 = text.lines().next()?.trim().parse().ok()?;
        self.is(pid).then_some(pid)
    }

    /// Whether this process is the server.
    pub(super) fn is(&self, pid: i32) -> bool {
        super::process::runs(pid, &self.data())
    }

    /// Runs SQL as the superuser; gives the rows as the engine's own client prints them without decoration: columns
    /// separated by `|` (psql) or a tab (mariadb), one row per line.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        server::of(self.engine).sql(self, database, sql)
    }

    /// Whether it answers a query.
    pub fn answers(&self) -> Result<bool> {
        self.ask("SELECT 1").map(|answer| answer == "1")
    }

    /// Runs SQL in the database that is always there.
    pub(super) fn ask(&self, sql: &str) -> Result<String> {
        self.sql(server::of(self.engine).home_database(), sql)
    }

    pub(super) fn log_statements(&self, to: Option<StatementLog>) -> Result<()> {
        server::of(self.engine).log_statements(self, to)
    }
}
