//! The tools as their users run them: as programs, judged by exit code, output and files.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A tool should end within this time, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program `splitproof-NAME` of the build that this test belongs to.
pub fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // The test is in target/PROFILE/deps, the tools are in target/PROFILE.
    let build = test.parent().and_then(Path::parent).unwrap();
    let path = build.join(format!("splitproof-{name}"));
    assert!(
        path.is_file(),
        "{} is not built: run `make test`, or `cargo build --workspace` with the profile of this test",
        path.display()
    );
    path
}

/// A file of the samples.
pub fn sample(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// What became of a tool.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// Its messages.
    pub stderr: String,
}

impl Ended {
    /// What it printed, as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Checks the exit code, and that every part of the message is there.
    #[track_caller]
    pub fn expect(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in the message: {}", self.stderr);
        }
    }
}

/// Runs `splitproof-NAME` to its end.
pub fn run<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Ended {
    Running::start(name, arguments).end()
}

/// The same for one that may take this long.
pub fn run_for<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>, patience: Duration) -> Ended {
    Running::start(name, arguments).end_within(patience)
}

/// A tool at work. Dropped early, it is killed.
pub struct Running {
    child: Option<Child>,
    name: String,
}

impl Running {
    /// Starts `splitproof-NAME`.
    pub fn start<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(path(name));
        // The caller's settings must not lead the tools to another server.
        for variable in ["PGPASSWORD", "PGPASSFILE", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"] {
            command.env_remove(variable);
        }
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(command.spawn().unwrap()), name: name.to_owned() }
    }

    /// Waits for a line on stderr that holds `text`.
    pub fn says(&mut self, text: &str) {
        let stderr = self.child.as_mut().and_then(|child| child.stderr.as_mut()).unwrap();
        // Byte by byte, so that nothing of what comes later is swallowed.
        let mut reader = BufReader::with_capacity(1, stderr);
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "splitproof-{} ended without {text:?}", self.name);
        }
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        let child = self.child.as_ref().unwrap();
        kill_process(Pid::from_child(child), Signal::INT).unwrap();
    }

    /// Waits until it ends.
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    fn end_within(mut self, patience: Duration) -> Ended {
        let child = self.child.as_mut().unwrap();
        let stdout = read(child.stdout.take().unwrap());
        let stderr = read(child.stderr.take().unwrap());
        let deadline = Instant::now() + patience;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "splitproof-{} does not end", self.name);
            std::thread::sleep(Duration::from_millis(20));
        };
        self.child = None;
        let ended = Ended { code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() };
        assert!(!ended.stderr.contains("panicked"), "splitproof-{}: {}", self.name, ended.stderr);
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}
