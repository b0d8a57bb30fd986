//! Opening a run directory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use splitproof_capture::sql::Dialect;
use splitproof_capture::sql::mysql::{Mode, Server};
use splitproof_capture::trace::{Engine, Reader, Role};
use splitproof_replay::position::Outage;
use splitproof_replay::summary::{Lateness, Summary};

use super::Error;
use crate::simulate::Simulation;
use crate::staleness::Positions;

/// A node of the pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name in `pair.toml`.
    pub name: Arc<str>,
    /// Its role when the run began.
    pub role: Role,
    /// True when its trace was read from its log, which tells no answers and no durations.
    pub logged: bool,
}

/// A recording or a run whose manifest has been read.
pub struct Run {
    reader: Reader,
    nodes: Vec<Node>,
    dialect: Dialect,
    cut_short: Option<String>,
    replayed: bool,
    unsound: Option<String>,
    gone: Vec<String>,
    recording: Option<Recording>,
    simulation: Option<Simulation>,
    client_tag: Option<String>,
}

/// The recording that a run repeats, or that the directory itself is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The run, or the recording itself.
    pub dir: PathBuf,
    /// Where the recording was when it was replayed; `None` when `dir` is it.
    pub trace: Option<PathBuf>,
    /// Digest of its requests.
    pub id: String,
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dir, id) = (self.dir.display(), self.id.get(..8).unwrap_or(&self.id));
        match &self.trace {
            Some(trace) => write!(f, "{dir} repeats {} ({id})", trace.display()),
            None => write!(f, "{dir} is a recording itself ({id})"),
        }
    }
}

/// The part of the `run` section that the analysis needs.
#[derive(Deserialize)]
struct Section {
    nodes: Vec<Entry>,
    /// The trace that was replayed, and the digest of its requests; earlier programs did not say the digest.
    trace: Option<PathBuf>,
    recording: Option<String>,
    #[serde(default)]
    stopped: bool,
    #[serde(default)]
    lost_sessions: u64,
    #[serde(default)]
    refused: Vec<serde_json::Value>,
    #[serde(default)]
    gave_up_after_ns: Option<u64>,
    #[serde(default)]
    run_start_ns: i64,
    #[serde(default)]
    timed: u64,
    #[serde(default)]
    lateness: Lateness,
    /// In a simulated run: which model predicted it.
    #[serde(default)]
    simulation: Option<Simulation>,
}

impl Section {
    /// Why the run does not hold all that the recording asked for.
    fn cut_short(&self) -> Option<String> {
        if let Some(ns) = self.gave_up_after_ns {
            let seconds = ns as f64 / 1e9;
            Some(format!(
                "the replay was given up: the router had not answered for {seconds:.0} s, though sessions waited"
            ))
        } else if self.stopped {
            Some("the replay was stopped before its end".into())
        } else if self.lost_sessions > 0 {
            Some(format!("{} sessions lost their connection during the replay", self.lost_sessions))
        } else if !self.refused.is_empty() {
            Some("the router refused sessions of the replay".into())
        } else {
            let problem = |node: &Entry| Some(format!("node {}: {}", node.name, node.problem.as_deref()?));
            self.nodes.iter().find_map(problem)
        }
    }

    /// Why differences may come from the replayer's timing.
    fn unsound(&self) -> Option<String> {
        let late = self.lateness.replayer_late as f64 / (self.timed as f64).max(1.0);
        (late > Summary::UNSOUND).then(|| {
            let (late, limit) = (late * 100.0, Summary::UNSOUND * 100.0);
            format!(
                "the replayer itself was late for {late:.1} % of the requests (more than {limit} %): differences may come from \
                 its timing, and latencies are not measured; replay on a less busy machine, or at a lower --speed"
            )
        })
    }

    /// The nodes that stopped answering.
    fn gone(&self) -> Vec<String> {
        let gone = |node: &Entry| {
            let told = node.outage?.told(self.run_start_ns);
            Some(format!("node {} {told}: what was replayed since then is no test of the router", node.name))
        };
        self.nodes.iter().filter_map(gone).collect()
    }
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    role: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    evidence: String,
    /// What is wrong with its evidence.
    #[serde(default)]
    problem: Option<String>,
    /// When it stopped answering.
    #[serde(default)]
    outage: Option<Outage>,
}

/// How texts of this engine are read by a server of this version, as far as it is known.
pub fn dialect(engine: Engine, version: &str) -> Dialect {
    match (engine, Server::from_version(version)) {
        (Engine::Mysql, Some(server)) => Dialect::Mysql(Mode::of(server)),
        _ => Dialect::of(engine),
    }
}

impl Run {
    /// Opens a directory. A plain recording has no nodes; a run needs exactly one primary among its own.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let reader = Reader::open(dir)?;
        let manifest = reader.manifest();
        let mut nodes = Vec::new();
        let is_run = manifest.run.is_some() || !manifest.nodes.is_empty() || manifest.source == "replay";
        let itself = || Recording { dir: reader.dir().into(), trace: None, id: manifest.recording_id() };
        let mut recording = (!is_run).then(itself);
        let mut version = String::new();
        let mut cut_short = (!manifest.complete)
            .then(|| "the trace was not ended in order: what came after its last flush is missing".to_string());
        if manifest.rebuilt {
            cut_short = Some("its trace.json was made again from the files: what is missing is not known".to_string());
        }
        let (mut unsound, mut gone, mut simulation) = (None, Vec::new(), None);
        if manifest.run.is_some() || !manifest.nodes.is_empty() {
            let path = reader.dir().join("trace.json");
            let section: Section = match manifest.run() {
                Ok(Some(section)) => section,
                Ok(None) => return Err(Error::RunSection { path, what: "it is missing".into() }),
                Err(error) => return Err(Error::RunSection { path, what: error.to_string() }),
            };
            // A run that was stopped was ended in order, though it is not whole.
            cut_short = section.cut_short().or(cut_short);
            (unsound, gone) = (section.unsound(), section.gone());
            recording = section.recording.clone().map(|id| Recording { id, trace: section.trace.clone(), ..itself() });
            simulation = section.simulation;
            // A prediction has no traces of nodes.
            let predicted = section.nodes.iter().filter(|_| simulation.is_some()).map(|entry| &entry.name);
            for name in manifest.nodes.keys().chain(predicted) {
                let entry = section.nodes.iter().find(|entry| entry.name == *name);
                let role = entry.and_then(|entry| Role::from_word(&entry.role)).ok_or_else(|| Error::RunSection {
                    path: path.clone(),
                    what: format!("node {name} has no role `primary` or `replica`"),
                })?;
                if role == Role::Primary
                    && let Some(entry) = entry
                {
                    version.clone_from(&entry.version);
                }
                let logged = entry.is_some_and(|entry| entry.evidence == "log");
                nodes.push(Node { name: name.as_str().into(), role, logged });
            }
            nodes.sort_by_key(|node| node.role != Role::Primary);
            let found = nodes.iter().filter(|node| node.role == Role::Primary).count();
            if found != 1 && !nodes.is_empty() {
                let names: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
                return Err(Error::Primaries { path, found, names: names.join(", ") });
            }
        }
        let dialect = dialect(reader.manifest().engine, &version);
        let replayed = is_run && simulation.is_none();
        Ok(Run { reader, nodes, dialect, cut_short, replayed, unsound, gone, recording, simulation, client_tag: None })
    }

    /// Names the tag by which requests of one user are known in whatever session they come.
    pub fn set_client_tag(&mut self, key: Option<String>) {
        self.client_tag = key;
    }

    /// That tag.
    pub fn client_tag(&self) -> Option<&str> {
        self.client_tag.as_deref()
    }

    /// How its texts are read: by its engine and, where it has one, the primary's version.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The mode in which values of parameters and texts are compared, where a node's log shows parameters in the text.
    pub(super) fn by_values(&self) -> Option<Mode> {
        match self.dialect {
            Dialect::Mysql(mode) if self.nodes.iter().any(|node| node.logged) => Some(mode),
            _ => None,
        }
    }

    /// Why it does not hold all that was asked for; `None` when it does.
    pub fn cut_short(&self) -> Option<&str> {
        self.cut_short.as_deref()
    }

    /// The model that predicted it; `None` for a replay and a recording, where something was really executed.
    pub fn simulation(&self) -> Option<&Simulation> {
        self.simulation.as_ref()
    }

    /// True for a replay; false for a recording and a simulation.
    pub fn replayed(&self) -> bool {
        self.replayed
    }

    /// Why differences may come from the replayer's timing; `None` where that is ruled out.
    pub fn unsound(&self) -> Option<&str> {
        self.unsound.as_deref()
    }

    /// Which nodes stopped answering during the run, and when.
    pub fn gone(&self) -> &[String] {
        &self.gone
    }

    /// The recording that it repeats, or that it is; `None` when the program that wrote it did not say.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The trace.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.reader.dir()
    }

    /// The nodes with a trace, the primary first; none in a plain recording.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All samples of the nodes' positions.
    pub fn positions(&self) -> Result<Positions, Error> {
        let mut positions = Positions::default();
        for position in self.reader.positions()? {
            positions.push(&position?);
        }
        Ok(positions)
    }
}
