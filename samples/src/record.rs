//! Recording the sample workload as real packets, the way production would be recorded before there is a
//! router: at the primary's port.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{At, Error, Result};
use crate::sandbox::Sandbox;
use crate::shop::{Summary, Workload};

/// The program that writes pcap files.
const TCPDUMP: &str = "tcpdump";

/// How long a recorder may take until it sees packets, or to end, in steps of [`STEP`].
const PATIENCE: u32 = 400;
const STEP: Duration = Duration::from_millis(25);

/// Time for the last packets to pass from the kernel to the recorder. tcpdump has the kernel hold them for up to a second.
const SETTLE: Duration = Duration::from_millis(1500);

/// What both recorders say when they see what passes from then on.
const LISTENS: &str = "listening on ";

/// What tcpdump says at its end when it saw everything.
const NONE_DROPPED: &str = "\n0 packets dropped by kernel";

/// Who records.
#[derive(Debug, Clone)]
pub enum Recorder {
    /// tcpdump, into a pcap file.
    Tcpdump,
    /// `splitproof-capture live`, at this path, into a trace.
    Capture(PathBuf),
}

impl Sandbox {
    /// Runs the shop's clients against the primary while their packets are recorded; see [`Sandbox::record_while`].
    pub fn record(&mut self, recorder: &Recorder, output: &Path, workload: Workload) -> Result<Summary> {
        let runtime = tokio::runtime::Runtime::new().at("start threads for", self.dir())?;
        self.record_while(recorder, output, |_| runtime.block_on(workload.run()))
    }

    /// Does some work while the packets at the primary's port on the loopback interface are recorded into `output`.
    ///
    /// The replica is stopped meanwhile: its replication stream passes through the same port, and a window
    /// before there is a router holds clients only.
    pub fn record_while<T>(
        &mut self,
        recorder: &Recorder,
        output: &Path,
        work: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        self.stop_replica()?;
        let recorded = self.record_primary(recorder, output, work);
        self.up()?;
        recorded
    }

    /// Does some work while the packets at the primary's port on the loopback interface are recorded into `output`. Whoever else
    /// uses the port is recorded as well.
    pub fn record_primary<T>(
        &self,
        recorder: &Recorder,
        output: &Path,
        work: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        let port = format!("{}={}", self.ports().primary, self.engine().as_str());
        let running = Running::start(recorder, self.ports().primary, &port, output, self.dir())?;
        let done = work(self)?;
        std::thread::sleep(SETTLE);
        running.finish()?;
        Ok(done)
    }
}

/// A recorder at work. Dropped early, it is killed: half a recording is of no use.
struct Running {
    child: Child,
    program: String,
    log: PathBuf,
}

impl Running {
    fn start(recorder: &Recorder, port: u16, port_as: &str, output: &Path, dir: &Path) -> Result<Self> {
        let log = dir.join("log").join("recorder.log");
        let messages = File::create(&log).at("create", &log)?;
        let mut command = match recorder {
            Recorder::Tcpdump => {
                let mut tcpdump = Command::new(TCPDUMP);
                // Not in immediate mode: each packet would then take as much of the buffer as the longest one.
                tcpdump.args(["-i", "lo", "-U", "-s", "0", "-B", "65536", "-w", "-"]);
                tcpdump.arg(format!("tcp port {port}"));
                // We open the file: tcpdump gives up its rights before it would.
                tcpdump.stdout(File::create(output).at("create", output)?);
                tcpdump
            }
            Recorder::Capture(program) => {
                let mut capture = Command::new(program);
                capture.args(["live", "-i", "lo", "--port", port_as]).arg("-o").arg(output);
                capture.stdout(Stdio::null());
                capture
            }
        };
        command.stdin(Stdio::null()).stderr(messages);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|source| match recorder {
            Recorder::Tcpdump => Error::NotInstalled { program: TCPDUMP, looked: None, package: TCPDUMP },
            Recorder::Capture(path) => Error::File { action: "start", path: path.clone(), source },
        })?;
        let mut running = Self { child, program, log };
        for _ in 0..PATIENCE {
            if let Some(status) = running.child.try_wait().at("wait for", &running.log)? {
                return Err(running.failed(status.to_string()));
            }
            if running.said().contains(LISTENS) {
                return Ok(running);
            }
            std::thread::sleep(STEP);
        }
        Err(running.failed("it does not listen".to_owned()))
    }

    /// Asks the recorder to write everything down and end.
    fn finish(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).unwrap_or(i32::MAX);
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::INT));
        for _ in 0..PATIENCE {
            match self.child.try_wait().at("wait for", &self.log)? {
                Some(status) if status.success() && self.saw_everything() => return Ok(()),
                Some(status) => return Err(self.failed(status.to_string())),
                None => std::thread::sleep(STEP),
            }
        }
        Err(self.failed("no end after SIGINT".to_owned()))
    }

    /// Whether no packet was lost. tcpdump does not tell by its exit status.
    fn saw_everything(&self) -> bool {
        self.program != TCPDUMP || self.said().contains(NONE_DROPPED)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn failed(&self, status: String) -> Error {
        let output = self.said().trim().to_owned();
        let log = "\n  recording needs root, or: setcap cap_net_raw=ep on the recorder".to_owned();
        Error::Tool { program: self.program.clone(), status, output, log }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
