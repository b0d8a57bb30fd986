//! sysbench's `oltp_read_write` against a real MariaDB server: its tables, its packets, and our replay of the same statements.

use std::path::Path;

use anyhow::Result;
use splitproof_capture::trace::Engine;
use splitproof_samples::record::Recorder;
use splitproof_samples::sandbox::{DATABASE, Plan, Sandbox};
use splitproof_samples::sysbench::Sysbench;

use crate::decode::Packets;
use crate::figure::{Figure, Goal};
use crate::logs::Log;
use crate::replay;
use crate::rounds::medians;

/// A server with sysbench's tables.
pub struct Server {
    sandbox: Sandbox,
    bench: Sysbench,
}

/// Measures our replay and sysbench with the same statements over the same number of connections.
pub fn measure(server: &Server, folder: &Path) -> Result<Vec<Figure>> {
    let [sysbench, ours] =
        medians(replay::ROUNDS, [&mut || server.drive(), &mut || replay::rate(Engine::Mysql, &server.url(), folder)])?;
    Ok(vec![Figure {
        name: "mysql_replay_vs_sysbench".to_owned(),
        value: ours / sysbench,
        goal: Goal::AtLeast(0.7),
        detail: format!("splitproof-replay {ours:.0}/s, sysbench {sysbench:.0}/s"),
    }])
}

impl Server {
    /// Starts the server and loads the tables. They fit into the buffer pool, and there are enough rows that the connections seldom
    /// wait for each other. The replica is stopped: it would take its share of the machine.
    pub fn start(connections: u32, statements: u32) -> Result<Self> {
        // The server's user must be able to reach its directory.
        let dir = std::env::temp_dir().join(format!("splitproof-sysbench-{}", std::process::id()));
        let mut sandbox = Sandbox::create_with(dir, Plan::new(Engine::Mysql)?)?;
        sandbox.up()?;
        let mut bench = Sysbench { threads: connections, tables: 8, rows: 10_000, seconds: 600, ..Sysbench::default() };
        bench.transactions = u64::from(connections) * u64::from(statements).div_ceil(bench.statements());
        sandbox.load_sysbench(bench)?;
        sandbox.stop_replica()?;
        Ok(Server { sandbox, bench })
    }

    fn port(&self) -> u16 {
        self.sandbox.ports().primary
    }

    /// The address of the server's database, for a user who may ask for its role.
    fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/{DATABASE}", self.port())
    }

    /// One run of sysbench over the text protocol: statements per second, without connecting.
    fn drive(&self) -> Result<f64> {
        let done = self.sandbox.run_sysbench(self.bench)?;
        Ok(done.queries as f64 / done.seconds)
    }

    /// The server's slow log of one run, with every statement in it.
    pub fn slow_log(&self, folder: &Path) -> Result<Log> {
        let written = self.sandbox.dir().join("slow.log");
        let primary = self.sandbox.primary();
        primary.sql(
            DATABASE,
            &format!(
                "SET GLOBAL log_output = 'FILE'; SET GLOBAL slow_query_log_file = '{}'; SET GLOBAL long_query_time = 0; \
                 SET GLOBAL slow_query_log = ON",
                written.display()
            ),
        )?;
        self.drive()?;
        primary.sql(DATABASE, "SET GLOBAL slow_query_log = OFF; SET GLOBAL long_query_time = 10")?;
        let path = folder.join("slow.log");
        std::fs::copy(written, &path)?;
        Ok(Log {
            format: "mysql-slow",
            path,
            peer: "pt-query-digest",
            package: "percona-toolkit",
            arguments: &["--limit", "10"],
            least: 50.0,
        })
    }

    /// Records the packets of one run of sysbench.
    pub fn record(&self, pcap: &Path) -> Result<Packets> {
        self.sandbox.record_primary(&Recorder::Tcpdump, pcap, |_| Ok(self.drive()))??;
        Ok(Packets { engine: Engine::Mysql, port: self.port(), pcap: pcap.to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.sandbox.down();
        let _ = std::fs::remove_dir_all(self.sandbox.dir());
    }
}
