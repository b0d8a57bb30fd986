//! The PostgreSQL pair: a primary with a streaming standby, made, run and asked with PostgreSQL's own programs, and
//! [`pgpool`] in front.

pub mod pgpool;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::node::{Node, Stop};
use super::server::{Server, Settings};
use super::{DATABASE, owner, wait};
use crate::error::{At, Error, Result};

/// How long a server may take to start or stop, in seconds.
const PATIENCE: u64 = 60;

/// PostgreSQL of Debian's packages.
pub(super) struct Postgresql;

impl Server for Postgresql {
    fn product(&self) -> &'static str {
        "PostgreSQL"
    }

    fn replica_name(&self) -> &'static str {
        "standby"
    }

    fn superuser(&self) -> &'static str {
        "postgres"
    }

    fn home_database(&self) -> &'static str {
        "postgres"
    }

    fn pid_file(&self) -> &'static str {
        "postmaster.pid"
    }

    fn find_programs(&self) -> Result<PathBuf> {
        newest_bin(Path::new("/usr/lib/postgresql")).ok_or(Error::NotInstalled {
            program: "postgres",
            looked: Some("/usr/lib/postgresql/*/bin"),
            package: "postgresql",
        })
    }

    /// Small WAL segments keep a snapshot of a few megabytes small.
    fn init(&self, node: &Node) -> Result<()> {
        let mut initdb = node.owner.command(node.bin.join("initdb"), node.dir);
        initdb.arg("--pgdata").arg(node.data()).args(["--username", self.superuser(), "--auth", "trust", "--no-sync"]);
        initdb.args(["--encoding", "UTF8", "--locale", "C.UTF-8", "--wal-segsize", "1"]);
        owner::run(initdb, None).map(drop)
    }

    fn configure(&self, node: &Node, settings: Settings) -> Result<()> {
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
            name = node.name,
            port = node.port,
        );
        if let Some(port) = settings.upstream {
            text.push_str(&format!(
                "primary_conninfo = 'host=127.0.0.1 port={port} user={user} application_name={name}'\n\
                 wal_retrieve_retry_interval = '100ms'\n\
                 # Else rows that the primary no longer needs hold up the replay while a cursor here may still read them,\n\
                 # and every causal read waits for it.\n\
                 hot_standby_feedback = on\n",
                user = self.superuser(),
                name = node.name,
            ));
            write(node, "standby.signal", "")?;
        }
        write(node, "postgresql.conf", &text)
    }

    fn start(&self, node: &Node) -> Result<()> {
        let mut start = ctl(node, "start");
        start.arg("--log").arg(node.log()).arg("--silent");
        owner::run(start, Some(&node.log())).map(drop)
    }

    fn stop(&self, node: &Node, pid: i32, how: Stop) -> Result<()> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let mut stop = ctl(node, "stop");
        stop.args(["--mode", mode, "--silent"]);
        let stopped = owner::run(stop, Some(&node.log()));
        if stopped.is_err() && how == Stop::Fast && node.pid().is_some() {
            return self.stop(node, pid, Stop::Immediate);
        }
        // The server removes its pid file, which pg_ctl waits for, a moment before it ends. It may also have
        // ended by itself, and then pg_ctl's complaint does not matter.
        wait::until(&format!("the end of the {}", node.name), PATIENCE, Some(&node.log()), || Ok(!node.is(pid)))
            .map_err(|timeout| stopped.err().unwrap_or(timeout))
    }

    fn sql(&self, node: &Node, database: &str, sql: &str) -> Result<String> {
        let mut psql = node.owner.command(node.bin.join("psql"), node.dir);
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--host", "127.0.0.1", "--port", &node.port.to_string()]);
        psql.args(["--username", self.superuser(), "--dbname", database]);
        psql.env("PGCONNECT_TIMEOUT", "10");
        psql.args(["--command", sql]);
        owner::run(psql, None).map(|text| text.trim_end().to_owned())
    }

    fn prepare(&self, primary: &Node) -> Result<()> {
        primary.ask("CREATE ROLE shop LOGIN; CREATE ROLE report LOGIN IN ROLE pg_read_all_data")?;
        primary.ask(&format!("CREATE DATABASE {DATABASE} OWNER shop")).map(drop)
    }

    /// Nothing to do: the standby's settings name its primary.
    fn follow(&self, _: &Node, _: &Node) -> Result<()> {
        Ok(())
    }

    fn receives(&self, replica: &Node) -> Result<bool> {
        let streaming = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
        replica.ask(streaming).map(|count| count == "1")
    }

    fn position(&self, primary: &Node) -> Result<String> {
        primary.ask("SELECT pg_current_wal_lsn()")
    }

    fn has_applied(&self, replica: &Node, position: &str) -> Result<bool> {
        replica.ask(&format!("SELECT pg_last_wal_replay_lsn() >= '{position}'")).map(|answer| answer == "t")
    }

    fn pause(&self, replica: &Node) -> Result<()> {
        replica.ask("SELECT pg_wal_replay_pause()")?;
        wait::until("the standby's replay pausing", PATIENCE, Some(&replica.log()), || {
            replica.ask("SELECT pg_get_wal_replay_pause_state()").map(|state| state == "paused")
        })
    }

    fn resume(&self, replica: &Node) -> Result<()> {
        replica.ask("SELECT pg_wal_replay_resume()").map(drop)
    }

    fn set_delay(&self, replica: &Node, seconds: u32) -> Result<()> {
        replica.ask(&format!("ALTER SYSTEM SET recovery_min_apply_delay = '{seconds}s'"))?;
        replica.ask("SELECT pg_reload_conf()")?;
        wait::until("the standby's new delay", PATIENCE, Some(&replica.log()), || {
            self.delay(replica).map(|delay| delay == seconds)
        })
    }

    fn delay(&self, replica: &Node) -> Result<u32> {
        let answer =
            replica.ask("SELECT setting::bigint / 1000 FROM pg_settings WHERE name = 'recovery_min_apply_delay'")?;
        answer.parse().map_err(|_| Error::Unexpected { what: "recovery_min_apply_delay", answer })
    }
}

fn ctl(node: &Node, action: &str) -> Command {
    let mut ctl = node.owner.command(node.bin.join("pg_ctl"), node.dir);
    ctl.arg(action).arg("--pgdata").arg(node.data()).args(["--wait", "--timeout", &PATIENCE.to_string()]);
    ctl
}

fn write(node: &Node, name: &str, text: &str) -> Result<()> {
    let path = node.data().join(name);
    std::fs::write(&path, text).at("write", &path)?;
    node.owner.own(&path)
}

/// The programs of the newest version below Debian's directory.
fn newest_bin(root: &Path) -> Option<PathBuf> {
    std::fs::read_dir(root)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let bin = entry.path().join("bin");
            bin.join("postgres").exists().then_some((version, bin))
        })
        .max()
        .map(|(_, bin)| bin)
}
