//! One PostgreSQL server of the pair: made, started, stopped and asked with PostgreSQL's own programs.

use std::path::{Path, PathBuf};

use super::owner::{self, Owner};
use super::wait;
use crate::error::{At, Error, Result};

/// The superuser of both nodes.
pub const SUPERUSER: &str = "postgres";

/// How long a server may take to start or stop, in seconds.
const PATIENCE: u64 = 60;

/// How to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Disconnect clients, write a checkpoint, send the standby the rest.
    Fast,
    /// At once; for data that is about to be thrown away.
    Immediate,
}

/// One server.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// `primary` or `standby`; also the names of its directory and log.
    pub name: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The sandbox's directory.
    pub dir: &'a Path,
    /// PostgreSQL's programs.
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

    /// Makes an empty cluster. Small WAL segments keep a snapshot of a few megabytes small.
    pub fn init(&self) -> Result<()> {
        let mut initdb = self.owner.command(self.bin.join("initdb"), self.dir);
        initdb.arg("--pgdata").arg(self.data()).args(["--username", SUPERUSER, "--auth", "trust", "--no-sync"]);
        initdb.args(["--encoding", "UTF8", "--locale", "C.UTF-8", "--wal-segsize", "1"]);
        owner::run(initdb, None)?;
        self.configure(None)
    }

    /// Writes the server's settings; with `upstream` the server is a streaming standby of that port.
    pub fn configure(&self, upstream: Option<u16>) -> Result<()> {
        let own = self.data().join("postgresql.conf");
        let mut text = format!(
            "# Written by splitproof-sandbox.\n\
             cluster_name = '{name}'\n\
             port = {port}\n\
             listen_addresses = '127.0.0.1'\n\
             unix_socket_directories = ''\n\
             max_connections = 300\n\
             shared_buffers = '64MB'\n\
             wal_level = replica\n\
             wal_keep_size = '256MB'\n\
             hot_standby = on\n\
             timezone = 'UTC'\n\
             log_timezone = 'UTC'\n\
             # The data lives for one test: a power cut may take it.\n\
             fsync = off\n\
             log_line_prefix = '%m [%p] %u@%d '\n",
            name = self.name,
            port = self.port,
        );
        if let Some(port) = upstream {
            text.push_str(&format!(
                "primary_conninfo = 'host=127.0.0.1 port={port} user={SUPERUSER} application_name={}'\n\
                 wal_retrieve_retry_interval = '100ms'\n",
                self.name
            ));
            let signal = self.data().join("standby.signal");
            std::fs::write(&signal, "").at("write", &signal)?;
            self.owner.own(&signal)?;
        }
        std::fs::write(&own, text).at("write", &own)?;
        self.owner.own(&own)
    }

    /// Starts the server and waits until it says that it is up.
    pub fn start(&self) -> Result<()> {
        if self.pid().is_some() {
            return Ok(());
        }
        let mut start = self.ctl("start");
        start.arg("--log").arg(self.log()).arg("--silent");
        owner::run(start, Some(&self.log())).map(drop)
    }

    /// Stops the server and waits until its process is gone; nothing to do when it is not running.
    pub fn stop(&self, how: Stop) -> Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let mut stop = self.ctl("stop");
        stop.args(["--mode", mode, "--silent"]);
        let stopped = owner::run(stop, Some(&self.log()));
        if stopped.is_err() && how == Stop::Fast && self.pid().is_some() {
            return self.stop(Stop::Immediate);
        }
        // The server removes its pid file, which pg_ctl waits for, a moment before it ends. It may also have
        // ended by itself, and then pg_ctl's complaint does not matter.
        wait::until(&format!("the end of the {}", self.name), PATIENCE, Some(&self.log()), || {
            Ok(!super::process::runs(pid, &self.data()))
        })
        .map_err(|timeout| stopped.err().unwrap_or(timeout))
    }

    /// Its process id, when it runs.
    pub fn pid(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid: i32 = text.lines().next()?.trim().parse().ok()?;
        super::process::runs(pid, &self.data()).then_some(pid)
    }

    /// Runs SQL as the superuser; gives the rows as psql prints them unaligned, without headers.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let mut psql = self.psql(database);
        psql.args(["--command", sql]);
        owner::run(psql, None).map(|text| text.trim_end().to_owned())
    }

    /// Runs a file of SQL as the superuser, in one transaction.
    pub fn sql_file(&self, database: &str, file: &Path) -> Result<()> {
        let mut psql = self.psql(database);
        psql.arg("--single-transaction").arg("--file").arg(file);
        owner::run(psql, None).map(drop)
    }

    /// Whether it answers a query.
    pub fn answers(&self) -> Result<bool> {
        self.sql("postgres", "SELECT 1").map(|answer| answer == "1")
    }

    fn psql(&self, database: &str) -> std::process::Command {
        let mut psql = self.owner.command(self.bin.join("psql"), self.dir);
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--host", "127.0.0.1", "--port", &self.port.to_string()]);
        psql.args(["--username", SUPERUSER, "--dbname", database]);
        psql.env("PGCONNECT_TIMEOUT", "10");
        psql
    }

    fn ctl(&self, action: &str) -> std::process::Command {
        let mut ctl = self.owner.command(self.bin.join("pg_ctl"), self.dir);
        ctl.arg(action).arg("--pgdata").arg(self.data()).args(["--wait", "--timeout", &PATIENCE.to_string()]);
        ctl
    }
}

/// The newest PostgreSQL of Debian's packages.
pub fn find_bin() -> Result<PathBuf> {
    const ROOT: &str = "/usr/lib/postgresql";
    let missing = || Error::NotInstalled {
        program: "postgres",
        looked: Some("/usr/lib/postgresql/*/bin"),
        package: "postgresql",
    };
    let versions = std::fs::read_dir(ROOT).map_err(|_| missing())?;
    versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let bin = entry.path().join("bin");
            bin.join("postgres").exists().then_some((version, bin))
        })
        .max()
        .map(|(_, bin)| bin)
        .ok_or_else(missing)
}
