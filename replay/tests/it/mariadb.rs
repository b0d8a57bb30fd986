//! A real MariaDB pair for one test, from the system's packages.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use splitproof_replay::pair::{Node, Pair, Passwords};
use tempfile::TempDir;

/// A primary and a replica with GTIDs on free ports of 127.0.0.1. The users `admin` and `app` may do
/// everything, with the password `secret`.
pub struct Mariadb {
    dir: TempDir,
    servers: Vec<Child>,
    ports: [u16; 2],
}

impl Mariadb {
    /// Starts a pair; `None`, said aloud, when MariaDB is not installed.
    pub fn start() -> Option<Self> {
        if !Path::new("/usr/sbin/mariadbd").exists() {
            println!("skipped: 1 (MariaDB is not installed)");
            return None;
        }
        let mut pair = Mariadb { dir: TempDir::new().unwrap(), servers: Vec::new(), ports: [free_port(), free_port()] };
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(pair.dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        pair.install();
        let users = "SET sql_log_bin = 0; GRANT ALL ON *.* TO admin@'%' IDENTIFIED BY 'secret'; \
                     GRANT ALL ON *.* TO app@'%' IDENTIFIED BY 'secret'";
        for (at, extra) in [(0, "--read-only=0"), (1, "--read-only=1")] {
            pair.launch(at, extra);
            pair.sql(at, users);
        }
        pair.sql(0, "CREATE DATABASE shop");
        let follow = format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'admin', \
             MASTER_PASSWORD = 'secret', MASTER_USE_GTID = slave_pos; START SLAVE",
            pair.ports[0]
        );
        pair.sql(1, &follow);
        pair.catch_up();
        Some(pair)
    }

    /// Makes one data directory, and a copy of it.
    fn install(&self) {
        let [primary, replica] = [self.data(0), self.data(1)];
        std::fs::create_dir(&primary).unwrap();
        own(&primary);
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        install.arg(format!("--datadir={}", primary.display()));
        if is_root() {
            install.arg("--user=mysql");
        }
        let output = install.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(Command::new("cp").arg("-a").arg(primary).arg(replica).status().unwrap().success());
    }

    fn data(&self, at: usize) -> PathBuf {
        self.dir.path().join(at.to_string())
    }

    fn launch(&mut self, at: usize, extra: &str) {
        let home = format!("--datadir={}", self.data(at).display());
        let mut server = Command::new("/usr/sbin/mariadbd");
        server.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--log-bin=bin"]);
        server.args([
            "--gtid-strict-mode=1",
            "--log-slave-updates=1",
            "--innodb-flush-log-at-trx-commit=0",
            &home,
            extra,
        ]);
        server.args([format!("--port={}", self.ports[at]), format!("--server-id={}", at + 1)]);
        server.arg(format!("--socket={}", self.socket(at).display()));
        if is_root() {
            server.arg("--user=mysql");
        }
        let log = std::fs::File::create(self.dir.path().join(format!("{at}.log"))).unwrap();
        self.servers.push(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let began = Instant::now();
        while !self.client(at).args(["-e", "SELECT 1"]).output().unwrap().status.success() {
            assert!(began.elapsed() < Duration::from_secs(60), "MariaDB does not start: see its log");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn socket(&self, at: usize) -> PathBuf {
        self.dir.path().join(format!("{at}.sock"))
    }

    fn client(&self, at: usize) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-u", "root", "-N", "-B", "-S"]).arg(self.socket(at));
        client
    }

    /// Runs statements on the primary (0) or the replica (1), and gives what they print.
    pub fn sql(&self, at: usize, sql: &str) -> String {
        let output = self.client(at).args(["-e", sql]).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Waits until the replica has applied everything.
    pub fn catch_up(&self) {
        let position = self.sql(0, "SELECT @@gtid_binlog_pos");
        assert_eq!(self.sql(1, &format!("SELECT MASTER_GTID_WAIT('{position}', 60)")), "0");
    }

    /// Port of the primary (0) or the replica (1).
    pub fn port(&self, at: usize) -> u16 {
        self.ports[at]
    }

    /// A `pair.toml` whose router is the primary itself.
    pub fn pair(&self, evidence: &str) -> Pair {
        let [primary, replica] = self.ports;
        let text = format!(
            "engine = \"mysql\"\n[router]\nurl = \"mysql://app:secret@127.0.0.1:{primary}/shop\"\n\
             [[node]]\nname = \"primary\"\nrole = \"primary\"\nurl = \"mysql://admin:secret@127.0.0.1:{primary}/shop\"\n\
             evidence = \"{evidence}\"\n[[node]]\nname = \"replica\"\nrole = \"replica\"\n\
             url = \"mysql://admin:secret@127.0.0.1:{replica}/shop\"\nevidence = \"{evidence}\"\n"
        );
        Pair::parse(Path::new("pair.toml"), &text).unwrap()
    }

    /// A node of [`pair`](Self::pair).
    pub fn node(&self, at: usize) -> Node {
        self.pair("none").nodes.swap_remove(at)
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        for server in &mut self.servers {
            server.kill().ok();
            server.wait().ok();
        }
    }
}

/// All passwords stand in the URLs.
pub fn passwords() -> Passwords {
    Passwords::default()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

fn own(path: &Path) {
    if is_root() {
        assert!(Command::new("chown").arg("mysql").arg(path).status().unwrap().success());
    }
}
