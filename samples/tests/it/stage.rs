//! One pair, one recorded window and a few replays of it, shared by all scenarios: each of them takes long.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use splitproof_capture::trace::{Engine, Kind, Losses, Options, Outcome, Request, Writer};
use splitproof_samples::Sandbox;

use std::os::unix::process::CommandExt;

use crate::tools::{self, Running};
use crate::verdict::Verdict;

/// Everything that the scenarios share. Whoever holds it has the pair for itself.
pub struct Stage {
    /// The pair with the shop's data.
    pub sandbox: Sandbox,
    home: PathBuf,
    played: BTreeMap<&'static str, Arc<Played>>,
    /// Held open: see [`clean_up_after_us`].
    _alive: ChildStdin,
}

/// A replay of the window.
pub struct Played {
    /// The run.
    pub run: PathBuf,
    /// What pgpool logged meanwhile.
    pub log: String,
}

static STAGE: LazyLock<Mutex<Stage>> = LazyLock::new(|| Mutex::new(Stage::set()));

/// Waits for the stage.
pub fn stage() -> MutexGuard<'static, Stage> {
    // A scenario that failed leaves nothing behind that a restore does not put right.
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    fn set() -> Self {
        let home = crate::home().keep();
        let dir = home.join("pair");
        let alive = clean_up_after_us(&dir, &home);
        let mut sandbox = Sandbox::create(&dir).unwrap();
        sandbox.up().unwrap();
        sandbox.load_shop().unwrap();
        sandbox.snapshot().unwrap();
        sandbox.write_pair_toml(Some(&home.join("pair.toml"))).unwrap();
        let window = tools::run(
            "capture",
            ["packets".as_ref(), "-o".as_ref(), home.join("window").as_os_str()]
                .into_iter()
                .chain([tools::sample("shop-postgresql.pcap").as_os_str()]),
        );
        assert_eq!(window.code, Some(0), "{window:?}");
        Stage { sandbox, home, played: BTreeMap::new(), _alive: alive }
    }

    /// A file or directory of the scenarios.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// The pair as it was before anything ran, behind pgpool with this configuration.
    pub fn fresh(&mut self, configuration: &str) {
        self.sandbox.restore().unwrap();
        self.sandbox.router(configuration).unwrap();
    }

    /// The window replayed through a configuration, once for each name.
    pub fn played(&mut self, name: &'static str, configuration: &str) -> Arc<Played> {
        if let Some(played) = self.played.get(name) {
            return Arc::clone(played);
        }
        let played = Arc::new(self.play(name, configuration, |_| ()));
        self.played.insert(name, Arc::clone(&played));
        played
    }

    /// Replays the window through a configuration, and does something meanwhile.
    pub fn play(&mut self, name: &str, configuration: &str, meanwhile: impl FnOnce(&mut Sandbox)) -> Played {
        self.fresh(configuration);
        let before = std::fs::read(self.sandbox.router_log()).unwrap().len();
        let run = self.path(name);
        let replay = self.replay(&self.path("window"), &run, &["--speed", "2", "--format", "json"]);
        meanwhile(&mut self.sandbox);
        let ended = replay.end();
        // On a busy machine the replay may be late (exit code 1); it has to be whole all the same.
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        let summary = ended.json();
        assert_eq!(summary["sent"], summary["recorded"], "{summary}");
        assert_eq!((&summary["stopped"], &summary["lost_sessions"]), (&false.into(), &0.into()), "{summary}");
        let log = std::fs::read(self.sandbox.router_log()).unwrap().split_off(before);
        Played { run, log: String::from_utf8(log).unwrap() }
    }

    /// Starts to replay a trace into the pair.
    pub fn replay(&self, trace: &Path, run: &Path, more: &[&str]) -> Running {
        self.replay_into(&self.path("pair.toml"), trace, run, more)
    }

    /// The same with another pair.toml.
    pub fn replay_into(&self, pair: &Path, trace: &Path, run: &Path, more: &[&str]) -> Running {
        let mut arguments =
            vec![trace.as_os_str(), "--pair".as_ref(), pair.as_os_str(), "-o".as_ref(), run.as_os_str()];
        arguments.extend(more.iter().map(|argument| std::ffi::OsStr::new(*argument)));
        Running::start("replay", arguments)
    }

    /// Compares two runs.
    pub fn compare(&self, baseline: &Played, candidate: &Played) -> Verdict {
        Verdict::of(&baseline.run, &candidate.run, &self.path("verdict"))
    }

    /// A trace of one session that asks these, 10 ms apart.
    pub fn trace(&self, name: &str, user: &str, statements: &[&str]) -> PathBuf {
        let dir = self.path(name);
        let mut writer = Writer::create(&dir, Options::new(Engine::Postgresql, "test")).unwrap();
        let last = u32::try_from(statements.len()).unwrap() + 1;
        for seq in 0..=last {
            let (kind, messages) = match seq {
                0 => (Kind::Connect, ""),
                seq if seq == last => (Kind::Disconnect, "X"),
                _ => (Kind::Query, "Q"),
            };
            let at_ns = 1_700_000_000_000_000_000 + i64::from(seq) * 10_000_000;
            let mut row = Request::new(1, seq, at_ns, kind);
            (row.user, row.database) = (Some(user.into()), Some("shop".into()));
            (row.messages, row.pipeline_group) = (messages.into(), Some(seq));
            (row.outcome, row.duration_ns) = (Outcome::Ok, Some(1_000_000));
            row.sql = (kind == Kind::Query).then(|| statements[seq as usize - 1].into());
            splitproof_capture::trace::Sink::request(&mut writer, row);
        }
        writer.finish(&Losses::default()).unwrap();
        dir
    }
}

/// A static is never dropped, so another process cleans up: it waits until this one has ended, however it ends, and
/// stops the servers.
#[expect(clippy::zombie_processes, reason = "it outlives this process on purpose")]
pub fn clean_up_after_us(sandbox: &Path, home: &Path) -> ChildStdin {
    let script = "cat >/dev/null; \"$0\" --dir \"$1\" destroy; rm -rf \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(tools::path("sandbox")).args([sandbox, home]);
    // In a group of its own: a Ctrl-C at the terminal must not end it as well.
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut shell = shell.spawn().unwrap();
    shell.stdin.take().unwrap()
}
