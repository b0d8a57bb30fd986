//! Does a replay.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use splitproof_capture::clock::Clock as Stamps;
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Position, Reader, Shape};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::start::{self, Checked, Files};
use super::{Order, ReplayError, output};
use crate::clock::{Clock, Timetable, WallClock};
use crate::evidence::{self, Evidence, Seen, Watch};
use crate::output::{End, Note, Output, Written};
use crate::position::{Cost, Outage, Sampled, Sampler};
use crate::progress::Progress;
use crate::schedule::{Fed, Feed, Spawn};
use crate::session::late::TOLERANCE_NS;
use crate::session::queue::Queue;
use crate::session::{NotSent, Patience, Scene, Stop, Task};
use crate::summary::{NodeRun, Summary};

/// From the end of the preparations to the start: the reader gets ahead, and the taps and samplers are running.
const LEAD_NS: i64 = 500_000_000;
/// Between two looks at whether the router still answers.
const LOOK: Duration = Duration::from_millis(250);
/// Notes that may wait for the writer.
const NOTES: usize = 1024;
/// A node still works on what a client has given up, and its last position says what it knew.
const SETTLE: Duration = Duration::from_millis(200);

/// Replays a trace, and gives the summary that also stands in the run's manifest.
///
/// # Errors
/// When the replay cannot begin; or when the trace cannot be read to its end or the run cannot be written, in which case
/// the run holds what was done until then and is marked incomplete.
pub async fn replay(order: &Order, progress: &Arc<Progress>, asked: Stop) -> Result<Summary, ReplayError> {
    output::check(order)?;
    let trace = Reader::open(&order.trace)?;
    let manifest = trace.manifest();
    if manifest.engine != order.pair.engine {
        return Err(ReplayError::Engine { recorded: manifest.engine, pair: order.pair.engine });
    }
    let window = manifest.table.window.ok_or_else(|| ReplayError::Empty(order.trace.clone()))?;
    progress.expect(manifest.table.requests);
    start::allow_many_connections();
    let stamps = Stamps::start();
    let system = |what| move |source| ReplayError::System { what, source };
    let clock = WallClock::start(stamps).map_err(system("start the clock's thread"))?;
    let Checked { nodes, catalog } = start::check(order, &trace, &clock).await?;
    start::reach(order).await?;
    let (notes, received) = mpsc::channel(NOTES);

    let mut watched: Vec<Option<Box<dyn Evidence>>> = Vec::new();
    for (index, node) in order.pair.nodes.iter().enumerate() {
        let (engine, passwords) = (order.pair.engine, &order.passwords);
        let watch = Watch { engine, node, index, passwords, stamps, wall: &clock, out: &notes };
        watched.push(evidence::start(watch).await?);
    }
    // A node that cannot be watched leaves no run behind.
    let Files { writer, nodes: node_writers } = start::create(order, &catalog)?;
    let positions = writer.positions()?;
    let mut samplers = Vec::new();
    let mut runs = Vec::new();
    for (control, identity, offset) in nodes {
        let node = control.node();
        runs.push(NodeRun {
            name: node.name.clone(),
            role: identity.role,
            url: node.url.to_string(),
            evidence: node.evidence.as_str().to_owned(),
            version: identity.version,
            clock: offset,
            positions: Cost::default(),
            problem: None,
            outage: None,
        });
        let sampler = Sampler::over(control, &order.passwords, clock.clone(), order.sample_every).await?;
        samplers.push(Sampling::start(sampler, notes.clone()));
    }
    let output = Output::new(writer, node_writers, positions, Arc::clone(progress));
    let output = thread::Builder::new().name("output".to_owned()).spawn(move || output.run(received));
    let output = output.map_err(system("start the output's thread"))?;

    let run_start_ns = clock.now_ns().saturating_add(LEAD_NS);
    let timetable = Timetable { trace_start_ns: window.first_start_ns, run_start_ns, speed: order.speed };
    let shared = Shared::new(order.pair.engine);
    let scene = Arc::new(Scene {
        clock: clock.clone(),
        timetable,
        pair: order.pair.clone(),
        passwords: order.passwords.clone(),
        only: start::reads(order, catalog, &runs),
        shared: shared.clone(),
        keys: Mutex::new(HashMap::new()),
        patience: Patience::default(),
    });
    let (stop, watch) = watch(asked, Arc::clone(&scene), order.give_up_after);
    let (alive, mut ended) = mpsc::channel::<()>(1);
    let spawn = Sessions { scene, stop: stop.clone(), notes: notes.clone(), alive, runtime: Handle::current() };
    let feed = Feed::new(clock, timetable, spawn, stop.clone(), Arc::clone(progress));
    let requests = trace.requests();
    let feed = thread::Builder::new().name("feed".to_owned()).spawn(move || feed.run(requests));
    let feed = feed.map_err(system("start the reader's thread"))?;

    // Each session and the feed hold a sender; nothing is ever sent.
    ended.recv().await;
    let gave_up = watch.end();
    let fed = feed.join().map_err(|_| ReplayError::Thread("reads the trace"))?;
    tokio::time::sleep(SETTLE).await;
    for (run, sampling) in runs.iter_mut().zip(samplers) {
        (run.positions, run.outage) = sampling.stop().await;
    }
    let mut node_losses = Vec::new();
    for (run, evidence) in runs.iter_mut().zip(watched) {
        let seen = match evidence {
            Some(evidence) => evidence.stop().await,
            None => Seen::default(),
        };
        run.problem = seen.problem;
        node_losses.push(seen.losses);
    }
    drop(notes);
    let join = tokio::task::spawn_blocking(move || output.join());
    let written = join.await.ok().and_then(Result::ok).ok_or(ReplayError::Thread("writes the run"))?;
    let (finish, mut written) = written?;

    let (fed, broken) = match fed {
        Ok(fed) => (fed, None),
        Err(error) => (Fed::default(), Some(error)),
    };
    let stopped = stop.is_given();
    let missing = manifest.table.requests.saturating_sub(fed.requests);
    if stopped && missing > 0 {
        *written.not_sent.entry(NotSent::Stopped).or_default() += missing;
    }
    let mut summary = summary(order, &written, fed, timetable, stopped);
    summary.nodes = runs;
    summary.gave_up_after_ns = gave_up.then(|| whole_ns(order.give_up_after));
    summary.recorded = manifest.table.requests;
    summary.recording = manifest.recording_id();
    let shapes = Shape::collected(shared.shapes().iter()).collect();
    let end = match (&broken, stopped) {
        (Some(_), _) => End::Broken,
        (None, true) => End::Stopped,
        (None, false) => End::Whole,
    };
    finish.finish(&summary, &written.losses, &node_losses, shapes, end)?;
    match broken {
        Some(error) => Err(error.into()),
        None => Ok(summary),
    }
}

fn summary(order: &Order, written: &Written, fed: Fed, timetable: Timetable, stopped: bool) -> Summary {
    let tally = &written.tally;
    Summary {
        trace: order.trace.clone(),
        recording: String::new(),
        router: order.pair.router.to_string(),
        nodes: Vec::new(),
        speed: order.speed.to_string(),
        only: order.only.to_string(),
        trace_start_ns: timetable.trace_start_ns,
        run_start_ns: timetable.run_start_ns,
        stopped,
        gave_up_after_ns: None,
        sessions: fed.sessions,
        recorded: 0,
        sent: tally.sent,
        elapsed_ns: tally.elapsed_ns(),
        outcomes: tally.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect(),
        not_sent: written.not_sent.clone(),
        lost_sessions: written.lost_sessions,
        refused: written.refused_users(),
        timed: tally.timed,
        send_error: tally.send_error(),
        lateness: tally.lateness,
        tolerance_ns: TOLERANCE_NS.unsigned_abs(),
        overruns: fed.overruns,
    }
}

/// Starts sessions on the runtime.
struct Sessions {
    scene: Arc<Scene<WallClock>>,
    stop: Stop,
    notes: mpsc::Sender<Note>,
    /// Held by every session: when all are gone, so are the sessions.
    alive: mpsc::Sender<()>,
    runtime: Handle,
}

impl Spawn for Sessions {
    fn spawn(&mut self, session: u64, queue: Queue) {
        let task = Task::new(Arc::clone(&self.scene), session, queue, self.stop.clone(), self.notes.clone());
        let alive = self.alive.clone();
        self.runtime.spawn(async move {
            task.run().await;
            drop(alive);
        });
    }
}

/// Looks after a replay: passes on the signal to stop, and gives it when the router does not answer any more.
struct Watching {
    gave_up: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Watching {
    /// The replay is over. True when it was given up.
    fn end(self) -> bool {
        self.task.abort();
        self.gave_up.load(Ordering::Relaxed)
    }
}

/// The signal that the replay obeys, and who gives it.
fn watch(mut asked: Stop, scene: Arc<Scene<WallClock>>, limit: Duration) -> (Stop, Watching) {
    let (sender, stop) = Stop::new();
    let gave_up = Arc::new(AtomicBool::new(false));
    let (told, limit_ns) = (Arc::clone(&gave_up), whole_ns(limit));
    let task = tokio::spawn(async move {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                () = asked.given() => break,
                _ = looks.tick() => {}
            }
            if scene.patience.is_over(scene.clock.now_ns(), limit_ns) {
                told.store(true, Ordering::Relaxed);
                break;
            }
        }
        sender.send(true).ok();
        // Held on to, so that the signal stays given.
        std::future::pending::<()>().await;
    });
    (stop, Watching { gave_up, task })
}

fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A sampler at work.
struct Sampling {
    stop: oneshot::Sender<()>,
    task: JoinHandle<(Cost, Option<Outage>)>,
}

impl Sampling {
    fn start(sampler: Sampler<WallClock>, notes: mpsc::Sender<Note>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { stopped.await.unwrap_or(()) };
        Sampling { stop, task: tokio::spawn(sampler.run(stopped, ToNotes(notes))) }
    }

    async fn stop(self) -> (Cost, Option<Outage>) {
        self.stop.send(()).ok();
        self.task.await.unwrap_or_default()
    }
}

struct ToNotes(mpsc::Sender<Note>);

impl Sampled for ToNotes {
    async fn position(&mut self, position: Position) {
        // The writer is gone only when the run has failed, which it reports itself.
        self.0.send(Note::Position(position)).await.ok();
    }
}
