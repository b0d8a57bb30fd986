//! The session from connect to disconnect; `cancel` is a session that only cancels another.

mod cancel;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use splitproof_capture::session::{Close, Shared, Start};
use splitproof_capture::trace::{Kind, Losses, Outcome, Request};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::gate::{Decision, Gate};
use super::late::History;
use super::login::{Login, login};
use super::queue::Queue;
use super::{NotSent, Patience, Stop};
use crate::clock::{Clock, Timetable};
use crate::output::Note;
use crate::pair::{Keyring, Pair, Passwords};
use crate::reads::Reads;
use crate::wire::postgresql::handshake::CancelKey;
use crate::wire::{Broken, Refused, Rows, Tag, Wire, mysql, postgresql};

/// Finished rows that are handed to the writer together.
const BATCH: usize = 128;

/// What all sessions of a replay have in common.
pub struct Scene<C> {
    /// The clock that stamps everything.
    pub clock: C,
    /// When requests are due.
    pub timetable: Timetable,
    /// The router, and who connects when the recording does not tell.
    pub pair: Pair,
    /// Passwords for the recorded users.
    pub passwords: Passwords,
    /// When given, only reads are sent.
    pub only: Option<Arc<Reads>>,
    /// Names, shapes and keys that the sessions' decoders share.
    pub shared: Shared,
    /// Cancel keys of the sessions that are connected, by recorded session.
    pub keys: Mutex<HashMap<u64, CancelKey>>,
    /// Whether anybody is answered.
    pub patience: Patience,
}

/// What became of a session.
#[derive(Debug, Default)]
pub struct Ended {
    /// Requests that were not sent, by reason.
    pub not_sent: BTreeMap<NotSent, u64>,
    /// Why it could not be started, and for whom.
    pub refused: Option<(String, Refused)>,
    /// What could not be decoded of the server's bytes.
    pub losses: Losses,
    /// True when the connection was lost before its recorded end.
    pub lost: bool,
}

/// One recorded session on its way through the router.
pub struct Task<C> {
    scene: Arc<Scene<C>>,
    session: u64,
    queue: Queue,
    stop: Stop,
    out: mpsc::Sender<Note>,
    gate: Gate,
    history: History,
    ended: Ended,
    /// What the next request's group is compared with.
    previous: Option<Previous>,
}

#[derive(Clone, Copy)]
struct Previous {
    group: Option<u32>,
    end_ns: Option<i64>,
    /// It was answered, though a log may not tell when.
    answered: bool,
}

impl Previous {
    fn of(request: &Request) -> Self {
        let answered = matches!(request.outcome, Outcome::Ok | Outcome::Error | Outcome::Cancelled);
        Previous { group: request.pipeline_group, end_ns: request.end_ns(), answered }
    }
}

/// A session whose connection is open.
struct Begun {
    /// Its first request.
    first: Request,
    /// When the connection was begun.
    began_ns: i64,
    /// When it was due.
    due_ns: Option<i64>,
}

/// Why a session ends before its last request.
enum End {
    Broken(Broken),
    Stopped,
    Replication,
}

impl End {
    /// Why what follows is not sent.
    fn reason(&self) -> NotSent {
        match self {
            End::Broken(_) => NotSent::ConnectionLost,
            End::Stopped => NotSent::Stopped,
            End::Replication => NotSent::Replication,
        }
    }
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        End::Broken(broken)
    }
}

impl<C: Clock> Task<C> {
    /// A session that takes its requests from `queue` and gives its rows to `out`.
    pub fn new(scene: Arc<Scene<C>>, session: u64, queue: Queue, stop: Stop, out: mpsc::Sender<Note>) -> Self {
        let gate = Gate::new(scene.pair.engine, scene.only.clone());
        Task {
            scene,
            session,
            queue,
            stop,
            out,
            gate,
            history: History::default(),
            ended: Ended::default(),
            previous: None,
        }
    }

    /// Replays the session, and tells the writer what became of it.
    pub async fn run(mut self) {
        let mut rows = Rows::of(self.session);
        if let Some(first) = self.queue.next().await {
            if first.kind == Kind::Cancel {
                self.cancel(&first, &mut rows).await;
            } else {
                rows = self.connect(first, rows).await;
            }
        }
        let rest = match self.ended.refused {
            Some(_) => NotSent::Refused,
            None if self.ended.lost => NotSent::ConnectionLost,
            None => NotSent::Stopped,
        };
        self.pass_over(rest).await;
        lock(&self.scene.keys).remove(&self.session);
        // The writer is gone only when the run has failed, which it reports itself.
        if !rows.is_empty() {
            self.out.send(Note::Rows(rows.take())).await.ok();
        }
        self.out.send(Note::Ended(Box::new(self.ended))).await.ok();
    }

    async fn connect(&mut self, first: Request, mut rows: Rows) -> Rows {
        let scene = Arc::clone(&self.scene);
        let recorded = first.kind == Kind::Connect;
        let login = match login(scene.pair.engine, &first, &scene.pair.defaults) {
            Ok(login) => login,
            Err(reason) => {
                self.not_sent(reason, 1);
                self.pass_over(reason).await;
                return rows;
            }
        };
        let due_ns = recorded.then(|| scene.timetable.due_ns(first.start_ns)).flatten();
        if let Some(due_ns) = due_ns {
            tokio::select! {
                () = scene.clock.wait_until(due_ns) => {}
                () = self.stop.given() => {
                    self.not_sent(NotSent::Stopped, 1);
                    return rows;
                }
            }
        }
        let router = &scene.pair.router;
        let began_ns = scene.clock.now_ns();
        let tag = |history: &History, at_ns| {
            recorded.then(|| Tag { seq: first.seq, due_ns, late_cause: history.cause(due_ns, at_ns) })
        };
        // An open connection is no answer: the system accepts them for a router that hangs.
        let stream = tokio::select! {
            stream = TcpStream::connect(router.address()) => stream,
            () = self.stop.grace_over() => Err(std::io::Error::other("stopped")),
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                let refused = Refused::Unreachable(format!("cannot connect: {error}"));
                let mut row = Request::new(self.session, 0, began_ns, Kind::Connect);
                (row.user, row.database) = (first.user.clone(), first.database.clone());
                (row.outcome, row.error_message) = (Outcome::Lost, Some(refused.to_string().into()));
                match tag(&self.history, began_ns) {
                    Some(tag) => rows.push(row, tag),
                    None => self.not_sent(NotSent::Refused, 1),
                }
                self.ended.refused = Some((login.user().to_owned(), refused));
                return rows;
            }
        };
        // Requests are whole when they are written: waiting for more would only delay them.
        stream.set_nodelay(true).ok();
        let name = |address: std::io::Result<std::net::SocketAddr>| match address {
            Ok(address) => scene.shared.intern(address.to_string().as_bytes()),
            Err(_) => "".into(),
        };
        let start = Start { client: name(stream.local_addr()), server: name(stream.peer_addr()), midway: false };
        let clock = scene.clock.clone();
        let begun = Begun { first, began_ns, due_ns };
        match login {
            Login::Postgresql(login) => {
                let decoder = splitproof_capture::session::postgresql::Session::new(self.session, start, &scene.shared);
                self.hold(postgresql::Connection::over(clock, stream, decoder, rows), &login, begun).await
            }
            Login::Mysql(login) => {
                let decoder = splitproof_capture::session::mysql::Session::new(self.session, start, &scene.shared);
                self.hold(mysql::Connection::over(clock, stream, decoder, rows), &login, begun).await
            }
        }
    }

    /// Holds the session over an open connection, from its start to its end.
    async fn hold<W: Wire>(&mut self, mut connection: W, login: &W::Login, begun: Begun) -> Rows {
        let scene = Arc::clone(&self.scene);
        let Begun { first, began_ns, due_ns } = begun;
        let recorded = first.kind == Kind::Connect;
        let keyring = Keyring::new(&scene.pair.router, &scene.passwords);
        let mut cause = None;
        let history = self.history;
        let started = connection.start(login, &keyring, |at_ns| {
            cause = history.cause(due_ns, at_ns).filter(|_| recorded);
            recorded.then_some(Tag { seq: first.seq, due_ns, late_cause: cause })
        });
        let started = tokio::select! {
            started = scene.patience.during(&scene.clock, started) => started,
            () = self.stop.grace_over() => Err(Refused::Unreachable("stopped".to_owned())),
        };
        match started {
            Ok(key) => {
                if let Some(key) = key {
                    lock(&scene.keys).insert(self.session, key);
                }
                if recorded {
                    self.history.sent(began_ns, began_ns, cause, first.duration_ns);
                    self.history.answered(scene.clock.now_ns());
                    self.previous = Some(Previous { group: None, ..Previous::of(&first) });
                }
                let next = if recorded { None } else { Some(first) };
                self.requests(&mut connection, next).await;
            }
            Err(refused) => {
                connection.close(Close::Server, None);
                if !recorded {
                    self.not_sent(NotSent::Refused, 1);
                }
                let user = first.user.as_deref().or(scene.pair.defaults.user.as_deref()).unwrap_or_default();
                self.ended.refused = Some((user.to_owned(), refused));
            }
        }
        self.ended.losses.merge(connection.losses());
        std::mem::replace(connection.rows(), Rows::of(self.session))
    }

    /// Sends the session's requests until there are no more, and ends the connection.
    async fn requests<W: Wire>(&mut self, connection: &mut W, mut next: Option<Request>) {
        let scene = Arc::clone(&self.scene);
        let end = loop {
            let request = match next.take().or_else(|| self.queue.ready()) {
                Some(request) => request,
                None => match self.wait_for_request(connection).await {
                    Ok(Some(request)) => request,
                    Ok(None) => break None,
                    Err(end) => break Some(end),
                },
            };
            match self.request(connection, &request).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(end) => break Some(end),
            }
            if connection.rows().len() >= BATCH {
                self.hand_over(connection).await;
            }
        };
        match end {
            None | Some(End::Stopped) => {
                tokio::select! {
                    // What goes wrong now is in the rows, as unfinished requests.
                    _ = scene.patience.during(&scene.clock, connection.until_ready()) => {}
                    () = self.stop.grace_over() => {}
                }
                connection.leave();
            }
            Some(End::Replication) => {
                connection.leave();
                self.pass_over(NotSent::Replication).await;
            }
            Some(End::Broken(broken)) => {
                self.ended.lost = true;
                connection.close(if matches!(broken, Broken::Closed) { Close::Server } else { Close::Reset }, None);
            }
        }
    }

    /// Sends one request when it is due. `false` when it was the disconnect.
    async fn request<W: Wire>(&mut self, connection: &mut W, request: &Request) -> Result<bool, End> {
        let due_ns = self.scene.timetable.due_ns(request.start_ns);
        match self.wait_for_turn(connection, request, due_ns).await {
            Ok(()) => {}
            // The session was to end anyway: the server was first.
            Err(End::Broken(_)) if request.kind == Kind::Disconnect && connection.is_ready() => {
                connection.close(Close::Server, Some(Tag { seq: request.seq, due_ns, late_cause: None }));
                return Ok(false);
            }
            Err(end) => {
                self.not_sent(end.reason(), 1);
                return Err(end);
            }
        }
        if request.kind == Kind::Disconnect {
            self.disconnect(connection, request, due_ns).await;
            return Ok(false);
        }
        let decision = match self.gate.decide(request) {
            Decision::Send if connection.encode(request).is_ok() => {
                self.send(connection, request, due_ns).await?;
                Decision::Send
            }
            Decision::Send => {
                connection.discard();
                self.gate.withhold(request, NotSent::Incomplete)
            }
            other => other,
        };
        match decision {
            Decision::Send => {}
            Decision::Withhold(reason) => self.not_sent(reason, 1),
            Decision::SyncOnly(reason) => {
                self.not_sent(reason, 1);
                connection.end_group().await?;
            }
        }
        if connection.is_replication() {
            return Err(End::Replication);
        }
        Ok(true)
    }

    async fn send<W: Wire>(&mut self, connection: &mut W, request: &Request, due_ns: Option<i64>) -> Result<(), End> {
        let mut cause = None;
        let history = self.history;
        let rows = connection.rows_begun();
        let sent = connection.send(request, |at_ns| {
            cause = history.cause(due_ns, at_ns);
            Some(Tag { seq: request.seq, due_ns, late_cause: cause })
        });
        let sent = sent.await;
        if connection.rows_begun() == rows {
            self.not_sent(NotSent::Joined, 1);
        }
        let sent_ns = sent?;
        // At full speed nothing is due, so there is nothing to explain and no need to ask for the time.
        let written_ns = if due_ns.is_some() { self.scene.clock.now_ns() } else { sent_ns };
        self.history.sent(sent_ns, written_ns, cause, request.duration_ns);
        self.previous = Some(Previous::of(request));
        let scene = &self.scene;
        scene.patience.sent(request.duration_ns);
        tokio::select! {
            biased;
            completed = scene.patience.during(&scene.clock, connection.complete(request)) => Ok(completed?),
            () = self.stop.grace_over() => Err(End::Stopped),
        }
    }

    async fn disconnect<W: Wire>(&mut self, connection: &mut W, request: &Request, due_ns: Option<i64>) {
        let history = self.history;
        let tag = |at_ns| Some(Tag { seq: request.seq, due_ns, late_cause: history.cause(due_ns, at_ns) });
        connection.goodbye(request, tag).await;
    }

    /// A request is sent without waiting for the answer to the one before when both belong to one group, or when the
    /// recorded client did not wait either.
    fn waits_for_answer(&self, request: &Request) -> bool {
        let Some(previous) = self.previous else { return true };
        if request.kind == Kind::Disconnect {
            // A client may leave without its answer.
            return previous.end_ns.map_or(previous.answered, |end_ns| end_ns <= request.start_ns);
        }
        match (previous.group, request.pipeline_group) {
            (Some(before), Some(now)) if before == now => false,
            (Some(_), Some(_)) => previous.end_ns.is_none_or(|end_ns| end_ns <= request.start_ns),
            _ => true,
        }
    }

    /// Waits for the answer before, where the recorded client did, and until the request is due.
    async fn wait_for_turn<W: Wire>(
        &mut self,
        connection: &mut W,
        request: &Request,
        due_ns: Option<i64>,
    ) -> Result<(), End> {
        if self.waits_for_answer(request) && !connection.is_ready() {
            self.wait_for_answer(connection).await?;
        }
        match due_ns {
            Some(due_ns) => self.wait_until_due(connection, due_ns).await,
            None if self.stop.is_given() => Err(End::Stopped),
            None => Ok(()),
        }
    }

    async fn wait_for_answer<W: Wire>(&mut self, connection: &mut W) -> Result<(), End> {
        tokio::select! {
            biased;
            result = self.scene.patience.during(&self.scene.clock, connection.until_ready()) => result?,
            () = self.stop.grace_over() => return Err(End::Stopped),
        }
        self.history.answered(self.scene.clock.now_ns());
        Ok(())
    }

    async fn wait_until_due<W: Wire>(&mut self, connection: &mut W, due_ns: i64) -> Result<(), End> {
        if self.scene.clock.now_ns() >= due_ns && !self.stop.is_given() {
            return Ok(());
        }
        self.hand_over(connection).await;
        let wait = self.scene.clock.wait_until(due_ns);
        tokio::select! {
            biased;
            result = connection.read_while(wait) => Ok(result?),
            () = self.stop.given() => Err(End::Stopped),
        }
    }

    async fn wait_for_request<W: Wire>(&mut self, connection: &mut W) -> Result<Option<Request>, End> {
        self.hand_over(connection).await;
        let Task { queue, stop, .. } = self;
        tokio::select! {
            biased;
            request = connection.read_while(queue.next()) => Ok(request?),
            () = stop.given() => Err(End::Stopped),
        }
    }

    async fn hand_over<W: Wire>(&mut self, connection: &mut W) {
        if !connection.rows().is_empty() {
            self.out.send(Note::Rows(connection.rows().take())).await.ok();
        }
    }

    /// Counts what is left of the session.
    async fn pass_over(&mut self, reason: NotSent) {
        while self.queue.next().await.is_some() {
            self.not_sent(reason, 1);
        }
    }

    fn not_sent(&mut self, reason: NotSent, count: u64) {
        *self.ended.not_sent.entry(reason).or_default() += count;
    }
}

/// The map is whole after every operation, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
