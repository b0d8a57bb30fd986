//! pgbench against a real server: its data, its packets, its log.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use splitproof_samples::sandbox::{DATABASE, Sandbox};

/// Scale of pgbench's data: 1,000,000 accounts, which fit into shared buffers.
const SCALE: &str = "10";

/// A server with pgbench's data.
pub struct Traffic {
    sandbox: Sandbox,
    connections: u32,
    statements: u32,
}

/// How one run of pgbench went.
pub struct Driven {
    /// Statements.
    pub statements: u64,
    /// Seconds, without connecting.
    pub seconds: f64,
}

impl Traffic {
    /// Starts the server and loads the data.
    pub fn start(folder: &Path, connections: u32, statements: u32) -> Result<Self> {
        // The server's user must be able to reach its directory.
        let dir = std::env::temp_dir().join(format!("splitproof-bench-{}", std::process::id()));
        let sandbox = Sandbox::create(dir)?;
        sandbox.primary().start()?;
        sandbox.primary().sql("postgres", &format!("CREATE DATABASE {DATABASE}"))?;
        let traffic = Traffic { sandbox, connections, statements };
        traffic.run(traffic.pgbench().args(["--initialize", "--scale", SCALE, "--quiet"]))?;
        let _ = folder;
        Ok(traffic)
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.sandbox.ports().primary
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.sandbox.primary().log()
    }

    /// The address of the server's database.
    pub fn url(&self) -> String {
        format!("postgresql://postgres@127.0.0.1:{}/{DATABASE}", self.port())
    }

    /// Changes a setting of the server for sessions to come.
    pub fn set(&self, setting: &str, value: &str) -> Result<()> {
        self.sandbox.primary().sql("postgres", &format!("ALTER SYSTEM SET {setting} = '{value}'"))?;
        self.sandbox.primary().sql("postgres", "SELECT pg_reload_conf()")?;
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    }

    /// One run of pgbench's select-only script over the simple protocol.
    pub fn drive(&self) -> Result<Driven> {
        let (connections, statements) = (self.connections.to_string(), self.statements.to_string());
        let mut pgbench = self.pgbench();
        pgbench.args(["--select-only", "--no-vacuum", "--random-seed=1", "--jobs=2"]);
        pgbench.args(["--client", &connections, "--transactions", &statements]);
        let text = self.run(&mut pgbench)?;
        let tps = text
            .lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse::<f64>().ok())
            .with_context(|| format!("pgbench did not print its rate:\n{text}"))?;
        let statements = u64::from(self.connections) * u64::from(self.statements);
        Ok(Driven { statements, seconds: statements as f64 / tps })
    }

    /// Records the packets of one run of pgbench.
    pub fn record(&self, pcap: &Path) -> Result<PathBuf> {
        let mut tcpdump = Dumping::start(self.port(), pcap)?;
        self.drive()?;
        tcpdump.stop()?;
        Ok(pcap.to_owned())
    }

    fn pgbench(&self) -> Command {
        let mut command = Command::new(self.sandbox.state().bin.join("pgbench"));
        command.args(["--host=127.0.0.1", "--username=postgres", &format!("--port={}", self.port()), DATABASE]);
        command
    }

    fn run(&self, command: &mut Command) -> Result<String> {
        let output = command.stdin(Stdio::null()).output().context("start pgbench")?;
        if !output.status.success() {
            bail!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let _ = self.sandbox.down();
        let _ = std::fs::remove_dir_all(self.sandbox.dir());
    }
}

/// A tcpdump that runs.
struct Dumping {
    child: Child,
    stderr: PathBuf,
}

impl Dumping {
    fn start(port: u16, pcap: &Path) -> Result<Self> {
        let stderr = pcap.with_extension("stderr");
        let log = std::fs::File::create(&stderr)?;
        let child = Command::new("tcpdump")
            .args(["-i", "lo", "-s", "0", "-B", "262144", "-U", "-w"])
            .arg(pcap)
            .arg(format!("tcp port {port}"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .context("start tcpdump (package tcpdump)")?;
        let dumping = Dumping { child, stderr };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !dumping.said()?.contains("listening on") {
            if Instant::now() > deadline {
                bail!("tcpdump does not listen: {}", dumping.said()?);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(dumping)
    }

    fn said(&self) -> Result<String> {
        std::fs::read_to_string(&self.stderr).context("read what tcpdump says")
    }

    /// Ends it, and fails when the kernel dropped packets: the comparison would be of different work.
    fn stop(&mut self) -> Result<()> {
        std::thread::sleep(Duration::from_secs(1));
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        let said = self.said()?;
        if !said.contains("\n0 packets dropped by kernel") {
            bail!("tcpdump lost packets: {said}");
        }
        Ok(())
    }
}

impl Drop for Dumping {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
