//! The sample router as a program: started with flags, asked over its port, believed only as far as its servers agree.
//!
//! `fixture`: the catalogue of known statements; `astray`: what faults do to statements.

pub mod astray;
pub mod fixture;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use splitproof_samples::router::log::Entry;

use crate::tools;

/// A router at work. Dropped, it is asked to end and must do so cleanly.
pub struct Running {
    child: Child,
    /// Where it listens.
    pub port: u16,
    log: PathBuf,
    /// Its configuration and log.
    _home: tempfile::TempDir,
}

impl Running {
    /// Starts a router in front of a primary and a replica.
    pub fn start(engine: &str, primary: u16, replica: u16, config: &str, faults: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (file, log) = (home.path().join("router.yaml"), home.path().join("decisions.jsonl"));
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(tools::path("router"));
        command.args(["--engine", engine, "--listen", "127.0.0.1:0"]);
        command.args(["--primary", &format!("127.0.0.1:{primary}"), "--replica", &format!("127.0.0.1:{replica}")]);
        command.arg("--config").arg(&file).arg("--log").arg(&log);
        for fault in faults {
            command.args(["--fault", fault]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').and_then(|(said, port)| {
            assert!(said.starts_with("listening on "), "{line}");
            port.parse().ok()
        });
        let Some(port) = port else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("the router did not start: {said}");
        };
        Running { child, port, log, _home: home }
    }

    /// What it decided so far.
    pub fn decisions(&self) -> Vec<Entry> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Where the last statement with this text went.
    pub fn destinations(&self, sql: &str) -> Vec<String> {
        let decisions = self.decisions();
        let entry = decisions.into_iter().rfind(|entry| entry.sql == sql);
        entry.unwrap_or_else(|| panic!("the router never saw {sql}")).destinations
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
                None => {
                    let _ = self.child.kill();
                    break self.child.wait().unwrap();
                }
            }
        };
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        if !std::thread::panicking() {
            assert!(status.success() && !said.contains("panicked"), "{status}: {said}");
        } else {
            eprintln!("the router said: {said}");
        }
    }
}

/// Runs something that waits.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A shipped configuration.
pub fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("router").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The configuration of a router that is right, with changes.
pub fn parsed(changes: &str) -> String {
    let kept = |line: &&str| !changes.lines().any(|change| line.starts_with(change.split_once(':').unwrap().0));
    let text = shipped("parsed.yaml");
    text.lines().filter(kept).chain(changes.lines()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_faults_are_listed() {
    let listed = tools::run("router", ["--list-faults"]);
    listed.expect(0, &[]);
    for fault in splitproof_samples::router::Fault::ALL {
        let line = listed.stdout.lines().find(|line| line.split_whitespace().next() == Some(fault.name()));
        assert!(line.is_some_and(|line| line.contains(fault.what())), "{fault}");
    }
}

#[test]
fn what_cannot_work_is_said_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("router.yaml");
    std::fs::write(&file, "mode: regex\nrules:\n  - { pattern: '(', destination: replica }\n").unwrap();
    let file = file.to_str().unwrap();
    let start = |more: &[&str]| {
        let all = [&["--engine", "postgresql", "--primary", "127.0.0.1:1", "--replica", "127.0.0.1:2"], more].concat();
        tools::run("router", all)
    };
    start(&["--config", file]).expect(2, &["router.yaml", "regex parse error"]);
    start(&["--config", "/no/such.yaml"]).expect(2, &["/no/such.yaml", "No such file"]);
    start(&["--fault", "no-such-fault"]).expect(2, &["no-such-fault", "--list-faults"]);
    start(&["--fault", "found-rows-elsewhere"]).expect(2, &["makes no sense on postgresql"]);
    start(&["--control", "127.0.0.1:1"]).expect(2, &["give one for each server"]);
    start(&["--listen", "nowhere"]).expect(2, &["cannot listen on nowhere"]);
}

#[test]
fn the_shipped_configurations_are_valid() {
    for name in ["today.yaml", "candidate.yaml", "parsed.yaml"] {
        splitproof_samples::router::Config::parse(name.as_ref(), &shipped(name)).unwrap();
    }
}
