//! One MariaDB pair with the shop, and one recorded window of it, shared by the scenarios that need no other.

use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use splitproof_capture::trace::{Engine, Kind, Losses, Options, Outcome, Request, Sink, Writer};
use splitproof_samples::Sandbox;
use splitproof_samples::router::log::Entry;
use splitproof_samples::sandbox::Plan;
use splitproof_samples::sandbox::state::Backends;

use crate::stage::clean_up_after_us;
use crate::tools::{self, Ended, Running};

/// Everything that the scenarios share. Whoever holds it has the pair for itself.
pub struct Stage {
    /// The pair with the shop's data.
    pub sandbox: Sandbox,
    home: PathBuf,
    _alive: ChildStdin,
}

static STAGE: LazyLock<Mutex<Stage>> = LazyLock::new(|| Mutex::new(Stage::set()));

/// Waits for the stage.
pub fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    fn set() -> Self {
        let home = crate::home().keep();
        let dir = home.join("pair");
        let alive = clean_up_after_us(&dir, &home);
        let mut sandbox = Sandbox::create_with(&dir, Plan::new(Engine::Mysql).unwrap()).unwrap();
        sandbox.up().unwrap();
        sandbox.load_shop().unwrap();
        sandbox.snapshot().unwrap();
        let window = home.join("window");
        let pcap = tools::sample("shop-mysql.pcap");
        let window = ["packets".as_ref(), "-o".as_ref(), window.as_os_str(), pcap.as_os_str()];
        tools::run("capture", window).expect(0, &[]);
        Stage { sandbox, home, _alive: alive }
    }

    /// A file or directory of the scenarios.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// The pair as it was before anything ran, behind the sample router with the shipped `parsed` configuration and these changes.
    pub fn fresh(&mut self, changes: &str, backends: Backends) {
        let rules = self.path("rules.yaml");
        std::fs::write(&rules, crate::router::parsed(changes)).unwrap();
        self.sandbox.restore().unwrap();
        self.sandbox.router_with(rules.to_str().unwrap(), backends, &[]).unwrap();
    }

    /// The router with a fault, in front of the taps.
    pub fn router_with_fault(&mut self, fault: &str) {
        let arguments = ["--fault".to_owned(), fault.to_owned()];
        self.sandbox.router_with("parsed", Backends::Taps, &arguments).unwrap();
    }

    /// What the router decided since it was started.
    pub fn decisions(&self) -> Vec<Entry> {
        let log = self.sandbox.dir().join("log").join("router-statements.log");
        std::fs::read_to_string(log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The text of `pair.toml`, with each node watched by its general log.
    pub fn by_logs(&self) -> String {
        let text = self.sandbox.pair_toml();
        let text = text.lines().filter(|line| !line.starts_with("tap =")).collect::<Vec<_>>().join("\n");
        text.replace("evidence = \"tap\"", "evidence = \"log\"")
    }

    /// Starts to replay a trace into the pair that this text describes.
    pub fn replay(&self, pair: &str, trace: &Path, run: &Path, more: &[&str]) -> Running {
        let file = self.path("pair.toml");
        std::fs::write(&file, pair).unwrap();
        let mut arguments =
            vec![trace.as_os_str(), "--pair".as_ref(), file.as_os_str(), "-o".as_ref(), run.as_os_str()];
        arguments.extend(["--format", "json", "--force"].iter().chain(more).map(std::ffi::OsStr::new));
        Running::start("replay", arguments)
    }

    /// Replays to the end, and takes the summary. On a busy machine the replay may be late; it has to be whole all the same.
    pub fn replayed(&self, pair: &str, trace: &Path, run: &Path, more: &[&str]) -> serde_json::Value {
        let ended = self.replay(pair, trace, run, more).end();
        whole(&ended);
        ended.json()
    }

    /// A trace of one session that sends these texts, 10 ms apart.
    pub fn trace(&self, name: &str, user: &str, statements: &[&str]) -> PathBuf {
        let rows = statements.iter().map(|sql| (Kind::Query, "03", Some(*sql), None));
        self.session(name, user, rows.collect())
    }

    /// A trace of one session of these requests: kind, messages, text and statement.
    pub fn session(&self, name: &str, user: &str, rows: Vec<(Kind, &str, Option<&str>, Option<&str>)>) -> PathBuf {
        let dir = self.path(name);
        let _ = std::fs::remove_dir_all(&dir);
        let mut writer = Writer::create(&dir, Options::new(Engine::Mysql, "test")).unwrap();
        let first = (Kind::Connect, "", None, None);
        let last = (Kind::Disconnect, "01", None, None);
        for (seq, (kind, messages, sql, statement)) in (0..).zip([first].into_iter().chain(rows).chain([last])) {
            let mut row = Request::new(1, seq, 1_700_000_000_000_000_000 + i64::from(seq) * 10_000_000, kind);
            (row.user, row.database) = (Some(user.into()), Some("shop".into()));
            (row.messages, row.sql) = (messages.into(), sql.map(Into::into));
            (row.statement, row.outcome, row.duration_ns) = (statement.map(Into::into), Outcome::Ok, Some(1_000_000));
            writer.request(row);
        }
        writer.finish(&Losses::default()).unwrap();
        dir
    }
}

/// Nothing of the trace is missing in the run.
#[track_caller]
pub fn whole(ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let summary = ended.json();
    assert_eq!((&summary["stopped"], &summary["lost_sessions"]), (&false.into(), &0.into()), "{summary}");
    for node in summary["nodes"].as_array().unwrap() {
        assert_eq!(node.get("problem"), None, "{summary}");
    }
}
