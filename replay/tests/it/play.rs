//! Replays a few rows on one session, and gives what came of it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Kind, Outcome, Request};
use splitproof_replay::clock::{Clock, Speed, Timetable};
use splitproof_replay::output::Note;
use splitproof_replay::pair::{Pair, Passwords};
use splitproof_replay::session::queue::{Backlog, queue};
use splitproof_replay::session::{Ended, Patience, Scene, Stop, Task};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::server::Server;

/// Recorded times count from here.
pub const TRACE_START_NS: i64 = 1_700_000_000_000_000_000;
/// The replay starts here.
pub const RUN_START_NS: i64 = 1_800_000_000_000_000_000;
/// A millisecond.
pub const MS: i64 = 1_000_000;

/// What all sessions of a test have in common.
pub fn scene<C: Clock>(server: &Server, clock: C, speed: Speed) -> Arc<Scene<C>> {
    let url = format!("postgresql://app@{}/shop", server.address);
    let text = format!(
        "engine = \"postgresql\"\n[router]\nurl = \"{url}\"\n[[node]]\nname = \"a\"\nrole = \"primary\"\nurl = \"{url}\"\n\
         evidence = \"none\"\n[[node]]\nname = \"b\"\nrole = \"replica\"\nurl = \"postgresql://app@127.0.0.1:1/shop\"\n\
         evidence = \"none\"\n"
    );
    Arc::new(Scene {
        clock,
        timetable: Timetable { trace_start_ns: TRACE_START_NS, run_start_ns: RUN_START_NS, speed },
        pair: Pair::parse(Path::new("pair.toml"), &text).unwrap(),
        passwords: Passwords::default(),
        only: None,
        shared: Shared::new(Engine::Postgresql),
        keys: Mutex::new(HashMap::new()),
        patience: Patience::default(),
    })
}

/// Begins to replay the rows, which are all of one session.
pub fn begin<C: Clock>(scene: &Arc<Scene<C>>, rows: Vec<Request>) -> JoinHandle<(Vec<Request>, Ended)> {
    let (running, signal) = begin_to_stop(scene, rows);
    tokio::spawn(async move {
        let ended = running.await.unwrap();
        drop(signal);
        ended
    })
}

/// The same, to be stopped by sending `true`.
pub fn begin_to_stop<C: Clock>(
    scene: &Arc<Scene<C>>,
    rows: Vec<Request>,
) -> (JoinHandle<(Vec<Request>, Ended)>, watch::Sender<bool>) {
    let (mut feeder, queue) = queue(&Arc::new(Backlog::default()));
    let session = rows[0].session;
    rows.into_iter().for_each(|row| feeder.put(row));
    feeder.flush();
    drop(feeder);
    let (out, mut notes) = mpsc::channel(64);
    let (signal, stop) = Stop::new();
    let task = Task::new(Arc::clone(scene), session, queue, stop, out);
    let running = tokio::spawn(async move {
        let running = tokio::spawn(task.run());
        let (mut rows, mut ended) = (Vec::new(), None);
        while let Some(note) = notes.recv().await {
            match note {
                Note::Rows(more) => rows.extend(more),
                Note::Ended(end) => ended = Some(*end),
                other => panic!("{other:?}"),
            }
        }
        running.await.unwrap();
        rows.sort_by_key(|row| row.seq);
        (rows, ended.unwrap())
    });
    (running, signal)
}

/// Replays the rows, which are all of one session.
pub async fn play<C: Clock>(scene: &Arc<Scene<C>>, rows: Vec<Request>) -> (Vec<Request>, Ended) {
    begin(scene, rows).await.unwrap()
}

/// A recorded session, being written down.
pub struct Recorded {
    session: u64,
    rows: Vec<Request>,
}

impl Recorded {
    /// A session that connects at the start of the trace.
    pub fn session(session: u64, user: &str) -> Self {
        let mut recorded = Recorded { session, rows: Vec::new() };
        recorded.row(0, Kind::Connect, "");
        for row in &mut recorded.rows {
            row.user = Some(user.into());
            row.database = Some("shop".into());
        }
        recorded
    }

    /// A session that was joined midway.
    pub fn midway(session: u64) -> Self {
        Recorded { session, rows: Vec::new() }
    }

    /// The next row, sent so many milliseconds after the start; answered within a tenth of one.
    pub fn row(&mut self, at_ms: i64, kind: Kind, messages: &str) -> &mut Request {
        let seq = self.rows.len() as u32;
        let mut row = Request::new(self.session, seq, TRACE_START_NS + at_ms * MS, kind);
        row.messages = messages.into();
        row.outcome = Outcome::Ok;
        row.duration_ns = Some(100_000);
        self.rows.push(row);
        self.rows.last_mut().unwrap()
    }

    /// A simple query, a group of its own.
    pub fn query(&mut self, at_ms: i64, sql: &str) -> &mut Request {
        let group = self.rows.len() as u32;
        let row = self.row(at_ms, Kind::Query, "Q");
        row.sql = Some(sql.into());
        row.pipeline_group = Some(group);
        row
    }

    /// A Parse, and what follows it in the same request.
    pub fn prepare(&mut self, at_ms: i64, group: u32, messages: &str, sql: &str) -> &mut Request {
        let row = self.row(at_ms, Kind::Prepare, messages);
        (row.sql, row.statement, row.pipeline_group) = (Some(sql.into()), Some("s".into()), Some(group));
        row
    }

    /// A Bind, and what follows it in the same request.
    pub fn execute(&mut self, at_ms: i64, group: u32, messages: &str) -> &mut Request {
        let row = self.row(at_ms, Kind::Execute, messages);
        (row.statement, row.portal, row.pipeline_group) = (Some("s".into()), Some("".into()), Some(group));
        row
    }

    /// The client says goodbye.
    pub fn goodbye(mut self, at_ms: i64) -> Vec<Request> {
        self.row(at_ms, Kind::Disconnect, "X");
        self.rows
    }

    /// The recording ends here.
    pub fn open(self) -> Vec<Request> {
        self.rows
    }
}
