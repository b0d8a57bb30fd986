//! pgbench against a real server: its data, its packets, its log, and our replay of the same statements.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use splitproof_capture::trace::Engine;
use splitproof_samples::record::Recorder;
use splitproof_samples::sandbox::{DATABASE, Sandbox, Stop};

use crate::decode::Packets;
use crate::figure::{Figure, Goal};
use crate::logs::Log;
use crate::rounds::medians;
use crate::{pgreplay, replay};

/// Scale of pgbench's data: 1,000,000 accounts, which fit into shared buffers.
const SCALE: &str = "10";

/// A server with pgbench's data.
pub struct Server {
    sandbox: Sandbox,
    connections: u32,
    statements: u32,
}

/// Measures our replay, pgbench and pgreplay with the same statements over the same number of connections.
pub fn measure(server: &Server, folder: &Path) -> Result<Vec<Figure>> {
    let log = pgreplay::file(server, folder)?;
    let [pgbench, ours, pgreplay] = medians(
        replay::ROUNDS,
        [&mut || server.drive(), &mut || replay::rate(Engine::Postgresql, &server.url(), folder), &mut || {
            pgreplay::rate(server, &log)
        }],
    )?;
    let detail = format!("splitproof-replay {ours:.0}/s, pgbench {pgbench:.0}/s, pgreplay {pgreplay:.0}/s");
    Ok(vec![
        Figure {
            name: "postgresql_replay_vs_pgbench".to_owned(),
            value: ours / pgbench,
            goal: Goal::AtLeast(0.7),
            detail: detail.clone(),
        },
        Figure {
            name: "postgresql_replay_vs_pgreplay".to_owned(),
            value: ours / pgreplay,
            goal: Goal::AtLeast(1.0),
            detail,
        },
    ])
}

impl Server {
    /// Starts the server and loads the data.
    pub fn start(connections: u32, statements: u32) -> Result<Self> {
        // The server's user must be able to reach its directory.
        let sandbox = Sandbox::create(std::env::temp_dir().join(format!("splitproof-pgbench-{}", std::process::id())))?;
        sandbox.primary().start()?;
        sandbox.primary().sql("postgres", &format!("CREATE DATABASE {DATABASE}"))?;
        let server = Server { sandbox, connections, statements };
        server.run(server.pgbench().args(["--initialize", "--scale", SCALE, "--quiet"]))?;
        Ok(server)
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

    /// One run of pgbench's select-only script over the simple protocol: statements per second, without connecting.
    pub fn drive(&self) -> Result<f64> {
        let (connections, statements) = (self.connections.to_string(), self.statements.to_string());
        let mut pgbench = self.pgbench();
        pgbench.args(["--select-only", "--no-vacuum", "--random-seed=1", "--jobs=2"]);
        pgbench.args(["--client", &connections, "--transactions", &statements]);
        let text = self.run(&mut pgbench)?;
        text.lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse::<f64>().ok())
            .with_context(|| format!("pgbench did not print its rate:\n{text}"))
    }

    /// Statements that a run sends.
    pub fn sent(&self) -> u64 {
        u64::from(self.connections) * u64::from(self.statements)
    }

    /// The same run, but so many times longer.
    pub fn longer(&mut self, times: u32, work: impl FnOnce(&Self) -> Result<Packets>) -> Result<Packets> {
        let usual = self.statements;
        self.statements = usual * times;
        let done = work(self);
        self.statements = usual;
        done
    }

    /// A run that a recorder watches.
    pub fn watched(&self, recorder: &Recorder, output: &Path) -> Result<f64> {
        self.sandbox.record_primary(recorder, output, |_| Ok(self.drive()))?
    }

    /// The server's csvlog of one run.
    pub fn csvlog(&self, folder: &Path) -> Result<Log> {
        let settings = "logging_collector log_destination log_statement log_connections log_disconnections";
        let wanted = ["on", "csvlog", "all", "on", "on"];
        for (setting, value) in settings.split(' ').zip(wanted) {
            self.set(setting, value)?;
        }
        let primary = self.sandbox.primary();
        primary.stop(Stop::Fast)?;
        primary.start()?;
        self.drive()?;
        primary.stop(Stop::Fast)?;
        let path = folder.join("pgbench.csv");
        let logs = std::fs::read_dir(primary.data().join("log")).context("the server's logs")?;
        let csv =
            logs.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "csv"));
        std::fs::copy(csv.context("the server wrote no csvlog")?, &path)?;
        primary.start()?;
        self.sandbox.primary().sql("postgres", "ALTER SYSTEM RESET ALL")?;
        primary.stop(Stop::Fast)?;
        primary.start()?;
        Ok(Log {
            format: "postgresql-csv",
            path,
            peer: "pgreplay",
            package: "pgreplay",
            arguments: &["-f", "-c", "-o", "/dev/null"],
            least: 10.0,
        })
    }

    /// Records the packets of one run of pgbench.
    pub fn record(&self, pcap: &Path) -> Result<Packets> {
        self.watched(&Recorder::Tcpdump, pcap)?;
        Ok(Packets { engine: Engine::Postgresql, port: self.port(), pcap: pcap.to_owned() })
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.sandbox.down();
        let _ = std::fs::remove_dir_all(self.sandbox.dir());
    }
}
