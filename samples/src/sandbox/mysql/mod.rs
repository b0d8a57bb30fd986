//! The MariaDB pair: a primary and a replica that follows it by GTID, from Debian's packages.
//!
//! - `config`: their settings
//! - `replication`: what a replica does and how far it is
//!
//! Each node also listens on a Unix socket of its own in the sandbox's directory. The sandbox itself asks there, so
//! that it can never reach another server that took the node's port.

mod config;
mod replication;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::node::{Node, Stop};
use super::server::{Server, Settings, StatementLog};
use super::{DATABASE, owner, process, wait};
use crate::error::{At, Error, Result};

/// How long a server may take to start or stop, in seconds.
const PATIENCE: u64 = 60;

/// Where Debian's packages put the server, and every other program.
const SERVER_BIN: &str = "/usr/sbin";
const CLIENT_BIN: &str = "/usr/bin";

/// MariaDB of Debian's packages.
pub(super) struct Mariadb;

impl Server for Mariadb {
    fn product(&self) -> &'static str {
        "MariaDB"
    }

    fn replica_name(&self) -> &'static str {
        "replica"
    }

    fn superuser(&self) -> &'static str {
        "root"
    }

    fn home_database(&self) -> &'static str {
        "mysql"
    }

    fn pid_file(&self) -> &'static str {
        config::PID_FILE
    }

    fn find_programs(&self) -> Result<PathBuf> {
        find(Path::new(SERVER_BIN), Path::new(CLIENT_BIN))
    }

    /// Makes the system tables, with users that need no password: who can reach 127.0.0.1 may do everything.
    fn init(&self, node: &Node) -> Result<()> {
        let mut install = node.owner.command(Path::new(CLIENT_BIN).join("mariadb-install-db"), node.dir);
        // What Debian's server is told in /etc is not for this one.
        install.arg("--no-defaults").arg(format!("--datadir={}", node.data().display()));
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
        install.arg(config::REDO_LOG).env("TMPDIR", temporary(node)?);
        owner::run(install, None).map(drop)
    }

    fn configure(&self, node: &Node, settings: Settings) -> Result<()> {
        let path = config::path(node);
        std::fs::write(&path, config::text(node, settings)).at("write", &path)?;
        node.owner.own(&path)
    }

    fn start(&self, node: &Node) -> Result<()> {
        let log = node.log();
        let to_log = OpenOptions::new().create(true).append(true).open(&log).at("open", &log)?;
        node.owner.own(&log)?;
        let also = to_log.try_clone().at("open", &log)?;
        temporary(node)?;
        let program = node.bin.join("mariadbd");
        let mut server = node.owner.command(&program, node.dir);
        server.arg(format!("--defaults-file={}", config::path(node).display())).stdout(to_log).stderr(also);
        let pid = process::spawn(server).at("start", &program)?;
        let answering = wait::until(&format!("the {} answering", node.name), PATIENCE, Some(&log), || {
            Ok(!node.is(pid) || node.answers()?)
        });
        if !node.is(pid) {
            return Err(Error::Ended { program: "mariadbd", log: super::log::tail(&log) });
        }
        if answering.is_err() {
            self.stop(node, pid, Stop::Immediate)?;
        }
        answering
    }

    fn stop(&self, node: &Node, pid: i32, how: Stop) -> Result<()> {
        let gone = || Ok(!node.is(pid));
        let what = format!("the end of the {}", node.name);
        if how == Stop::Fast {
            process::signal(pid, Signal::TERM);
            if wait::until(&what, PATIENCE, None, gone).is_ok() {
                return Ok(());
            }
        }
        process::signal(pid, Signal::KILL);
        wait::until(&what, PATIENCE, Some(&node.log()), gone)
    }

    fn sql(&self, node: &Node, database: &str, sql: &str) -> Result<String> {
        let mut client = client(node);
        client.args(["--skip-column-names", "--database", database, "--execute", sql]);
        owner::run(client, None).map(|text| text.trim_end_matches('\n').to_owned())
    }

    fn prepare(&self, primary: &Node) -> Result<()> {
        // Everything may be here already, if an earlier attempt was cut short.
        primary
            .ask(&format!(
                "CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4;
                 CREATE USER IF NOT EXISTS shop IDENTIFIED VIA mysql_native_password;
                 CREATE USER IF NOT EXISTS report IDENTIFIED VIA mysql_native_password;
                 GRANT ALL ON {DATABASE}.* TO shop;
                 GRANT SELECT, SHOW VIEW ON {DATABASE}.* TO report"
            ))
            .map(drop)
    }

    fn follow(&self, replica: &Node, primary: &Node) -> Result<()> {
        replication::follow(replica, primary.port, self.superuser())
    }

    fn receives(&self, replica: &Node) -> Result<bool> {
        replication::Status::of(replica).map(|status| status.is("Slave_IO_Running", "Yes"))
    }

    fn forget_replicas(&self, primary: &Node) -> Result<()> {
        replication::end_dumps(primary)
    }

    fn position(&self, primary: &Node) -> Result<String> {
        primary.ask("SELECT @@gtid_binlog_pos")
    }

    fn has_applied(&self, replica: &Node, position: &str) -> Result<bool> {
        replication::has_applied(replica, position)
    }

    fn pause(&self, replica: &Node) -> Result<()> {
        replica.ask("STOP SLAVE SQL_THREAD").map(drop)
    }

    fn resume(&self, replica: &Node) -> Result<()> {
        replica.ask("START SLAVE SQL_THREAD").map(drop)
    }

    fn set_delay(&self, replica: &Node, seconds: u32) -> Result<()> {
        replication::set_delay(replica, seconds)
    }

    fn delay(&self, replica: &Node) -> Result<u32> {
        replication::Status::of(replica)?.number("SQL_Delay")
    }

    fn log_statements(&self, node: &Node, to: Option<StatementLog>) -> Result<()> {
        let statement = match to {
            None => "SET GLOBAL general_log = OFF",
            Some(StatementLog::File) => "SET GLOBAL log_output = 'FILE'; SET GLOBAL general_log = ON",
            Some(StatementLog::Table) => "SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON",
        };
        node.ask(statement).map(drop)
    }

    fn statement_log(&self, node: &Node) -> Result<PathBuf> {
        Ok(config::statement_log(node))
    }
}

/// MariaDB's own client, connected as the superuser.
fn client(node: &Node) -> Command {
    let mut client = node.owner.command(Path::new(CLIENT_BIN).join("mariadb"), node.dir);
    client.arg("--no-defaults").arg(format!("--socket={}", config::socket(node).display()));
    client.args(["--user", Mariadb.superuser(), "--batch", "--raw"]);
    client.args(["--default-character-set=utf8mb4", "--connect-timeout=10"]);
    client
}

/// The server's directory, if it and the programs around it are there.
fn find(server_bin: &Path, client_bin: &Path) -> Result<PathBuf> {
    let missing = |program, looked, package| Error::NotInstalled { program, looked: Some(looked), package };
    if !server_bin.join("mariadbd").exists() {
        return Err(missing("mariadbd", SERVER_BIN, "mariadb-server-core"));
    }
    if !client_bin.join("mariadb-install-db").exists() {
        return Err(missing("mariadb-install-db", CLIENT_BIN, "mariadb-server-core"));
    }
    if !client_bin.join("mariadb").exists() {
        return Err(missing("mariadb", CLIENT_BIN, "mariadb-client-core"));
    }
    Ok(server_bin.to_owned())
}

/// The server's directory for temporary files, made if it is not there. A server that starts deletes the temporary tables
/// that it finds there, those of other servers too, so that each needs one of its own.
fn temporary(node: &Node) -> Result<PathBuf> {
    let path = config::temporary(node);
    std::fs::create_dir_all(&path).at("create", &path)?;
    node.owner.own(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let found = || find(dir.path(), dir.path());
        for (program, package) in [
            ("mariadbd", "mariadb-server-core"),
            ("mariadb-install-db", "mariadb-server-core"),
            ("mariadb", "mariadb-client-core"),
        ] {
            let error = found().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{program} not found")), "{error}");
            assert!(error.ends_with(&format!("apt-get install {package}")), "{error}");
            std::fs::write(dir.path().join(program), "").unwrap();
        }
        assert_eq!(found().unwrap(), dir.path());
    }
}
