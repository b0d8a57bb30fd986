//! A real MariaDB server for one test, from the system's packages.

use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Whom it runs as where the tests are root's, because MariaDB refuses to run as root. Its own user comes with a package that
/// is not needed otherwise.
const USER: &str = "nobody";

/// A server whose `root` needs no password, on a socket of its own.
pub struct Server {
    dir: TempDir,
    process: Child,
}

impl Server {
    /// Starts one; `None` when MariaDB is not installed.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with more settings.
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        let installed = |name: &str| {
            ["/usr/sbin", "/usr/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists())
        };
        let (install, server) = (installed("mariadb-install-db")?, installed("mariadbd")?);
        let dir = TempDir::new().unwrap();
        if is_root() {
            assert!(Command::new("chown").arg(USER).arg(dir.path()).status().unwrap().success());
        }
        let data = format!("--datadir={}", dir.path().join("data").display());
        // A server that starts removes every temporary table it finds, also those of another one with the same directory.
        let temporary = format!("--tmpdir={}", dir.path().display());
        let installed = unprivileged(&install)
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", &data])
            .env("TMPDIR", dir.path())
            .output()
            .unwrap();
        let said = [installed.stdout, installed.stderr].concat();
        assert!(installed.status.success(), "{}: {}", install.display(), String::from_utf8_lossy(&said));
        let socket = dir.path().join("socket");
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let mut process = unprivileged(&server)
            .args(["--no-defaults", &data, &temporary, "--skip-networking", "--local-infile=1", "--log-bin=log"])
            .args(["--max-allowed-packet=64M", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0"])
            .arg(format!("--socket={}", socket.display()))
            .args(settings)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while UnixStream::connect(&socket).is_err() {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "MariaDB does not start: {ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(Server { dir, process })
    }

    /// A file of the server's data directory.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join("data").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The child may be runuser, which passes on the signal that asks it to end.
        Command::new("kill").arg(self.process.id().to_string()).status().ok();
        self.process.wait().ok();
    }
}

fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args([OsStr::new("-u"), OsStr::new(USER), OsStr::new("--"), program.as_os_str()]);
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
