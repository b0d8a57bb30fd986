//! A real PostgreSQL server for one test, from the system's packages.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A server with the role `postgres`, which needs no password, on a free port of 127.0.0.1.
pub struct Server {
    dir: TempDir,
    bin: PathBuf,
    pub port: u16,
}

impl Server {
    /// Starts one; `None` when PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        Self::start_with("", &[])
    }

    /// The same with more settings. Files go into the directory that `DIR` names in them, readable by the server alone.
    pub fn start_with(settings: &str, files: &[(&str, &[u8])]) -> Option<Self> {
        let bin = installed()?;
        let dir = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server { dir, bin, port };
        for (name, content) in files {
            let path = server.dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            server.own(&path);
        }
        server.own(server.dir.path());
        let data = server.data();
        server.check("initdb", &["-D", &data, "-U", "postgres", "--auth=trust", "-N", "--no-locale", "-E", "UTF8"]);
        let more = settings.replace("DIR", &server.dir.path().display().to_string());
        let settings =
            format!("-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories= -c fsync=off {more}");
        let log = server.dir.path().join("log").display().to_string();
        server.check("pg_ctl", &["start", "-w", "-D", &data, "-l", &log, "-o", &settings]);
        Some(server)
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    /// PostgreSQL refuses to run as root.
    fn own(&self, path: &Path) {
        if is_root() {
            assert!(Command::new("chown").arg("postgres").arg(path).status().unwrap().success());
        }
    }

    fn command(&self, program: &str) -> Command {
        let program = self.bin.join(program);
        if !is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("runuser");
        command.args([OsStr::new("-u"), OsStr::new("postgres"), OsStr::new("--"), program.as_os_str()]);
        command.current_dir("/");
        command
    }

    fn check(&self, program: &str, args: &[&str]) {
        // pg_ctl's server keeps its output open, so it must not be a pipe.
        let status = self.command(program).args(args).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{program} {args:?}: {status}");
    }

    /// Stops the server, so that all of its files are written.
    pub fn stop(&self) {
        self.check("pg_ctl", &["stop", "-w", "-D", &self.data(), "-m", "fast"]);
    }

    /// A file below the server's data directory.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join("data").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a client program with these arguments.
    pub fn client(&self, program: &str, args: &[&str]) -> Output {
        self.command(program).args(args).output().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        self.command("pg_ctl").args(["stop", "-D", &data, "-m", "immediate"]).output().ok();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// The directory of the newest version's programs.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let with_server = |dir: &PathBuf| dir.join("initdb").exists() && dir.join("psql").exists();
    versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).filter(with_server).max()
}
