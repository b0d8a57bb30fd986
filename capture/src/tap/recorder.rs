//! The thread that decodes what passed, off the path of the data.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Semaphore, mpsc};

use super::counters::{Live, count};
use crate::clock::Clock;
use crate::postgresql::Direction;
use crate::session::{Close, Decoder, Shared, Start, decoder};
use crate::trace::{Kind, Losses, Outcome, Request, Sink};

/// How long pieces may gather before they are decoded. Waking the thread for each would cost the relay a system call
/// per piece.
const GATHER: Duration = Duration::from_millis(1);
/// How often the sink hears of the losses.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Something that happened on a connection.
pub(super) enum Event {
    /// It began.
    Open { session: u64, start: Start },
    /// Bytes passed.
    Bytes { session: u64, side: Direction, at_ns: i64, bytes: Box<[u8]>, room: u32 },
    /// It ended.
    Close { session: u64, at_ns: i64, how: Close },
    /// The server could not be reached.
    Unreachable { session: u64, start: Start, at_ns: i64, end_ns: i64, why: String },
}

/// The relay's end: takes what happens, as it happens.
#[derive(Clone)]
pub(super) struct Recorder {
    events: mpsc::UnboundedSender<Event>,
    /// Bytes that may still be handed over.
    room: Arc<Semaphore>,
    backlog: u32,
    live: Arc<Live>,
}

impl Recorder {
    /// Starts the thread. It ends when every `Recorder` is gone, and gives the sink back.
    pub fn start<S: Sink + Send + 'static>(
        sink: S,
        clock: Clock,
        shared: Shared,
        backlog: usize,
        live: Arc<Live>,
    ) -> io::Result<(Self, thread::JoinHandle<(S, Losses)>)> {
        let backlog = u32::try_from(backlog.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let (events, receiver) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(backlog as usize));
        let decoding = Decoding {
            sessions: HashMap::new(),
            losses: Losses::default(),
            untold: false,
            sink: Counted { sink, live: Arc::clone(&live) },
            shared,
            room: Arc::clone(&room),
        };
        let run = move || decoding.run(receiver, clock);
        let thread = thread::Builder::new().name("tap-decoder".into()).spawn(run)?;
        Ok((Recorder { events, room, backlog, live }, thread))
    }

    /// Hands over an event without data.
    pub fn event(&self, event: Event) {
        // The thread outlives its senders, unless it panicked; then the relay still serves its clients.
        self.events.send(event).ok();
    }

    /// Hands over bytes, and waits while too many are waiting already.
    pub async fn bytes(&self, session: u64, side: Direction, at_ns: i64, bytes: &[u8]) {
        // A piece larger than the whole backlog waits until nothing else does.
        let room = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.backlog);
        let permit = match self.room.try_acquire_many(room) {
            Ok(permit) => Some(permit),
            Err(_) => {
                count(&self.live.waits);
                self.room.acquire_many(room).await.ok()
            }
        };
        // The decoder gives the room back.
        if let Some(permit) = permit {
            permit.forget();
        }
        self.event(Event::Bytes { session, side, at_ns, bytes: bytes.into(), room });
    }
}

struct Decoding<S> {
    sessions: HashMap<u64, Box<dyn Decoder>>,
    losses: Losses,
    /// Something has happened since the sink heard of the losses.
    untold: bool,
    sink: Counted<S>,
    shared: Shared,
    room: Arc<Semaphore>,
}

impl<S: Sink> Decoding<S> {
    fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>, clock: Clock) -> (S, Losses) {
        let mut told = Instant::now();
        while let Some(event) = self.next(&mut events, &mut told) {
            self.take(event);
            let ended = loop {
                match events.try_recv() {
                    Ok(event) => self.take(event),
                    Err(TryRecvError::Empty) => break false,
                    Err(TryRecvError::Disconnected) => break true,
                }
            };
            if !ended {
                thread::sleep(GATHER);
            }
        }
        let now = clock.now_ns();
        let mut open: Vec<_> = self.sessions.keys().copied().collect();
        open.sort_unstable();
        for session in open {
            self.end(session, now, Close::RecordingEnded);
        }
        (self.sink.sink, self.losses)
    }

    /// Waits for the next event. When something has passed since the sink last heard of the losses, it hears of them in
    /// time even if nothing passes any more.
    fn next(&mut self, events: &mut mpsc::UnboundedReceiver<Event>, told: &mut Instant) -> Option<Event> {
        while self.untold {
            if told.elapsed() >= TELL_EVERY {
                (*told, self.untold) = (Instant::now(), false);
                self.sink.losses(&self.so_far());
            }
            match events.try_recv() {
                Ok(event) => return Some(event),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => thread::sleep(GATHER),
            }
        }
        events.blocking_recv()
    }

    fn take(&mut self, event: Event) {
        self.untold = true;
        match event {
            Event::Open { session, start } => {
                self.sessions.insert(session, decoder(self.shared.engine(), session, start, &self.shared));
            }
            Event::Bytes { session, side, at_ns, bytes, room } => {
                if let Some(decoder) = self.sessions.get_mut(&session) {
                    match side {
                        Direction::Client => decoder.client(at_ns, &bytes, &mut self.sink),
                        Direction::Server => decoder.server(at_ns, &bytes, &mut self.sink),
                    }
                }
                self.sink.live.decoded_bytes.fetch_add(bytes.len() as u64, Release);
                self.room.add_permits(room as usize);
            }
            Event::Close { session, at_ns, how } => self.end(session, at_ns, how),
            Event::Unreachable { session, start, at_ns, end_ns, why } => {
                let mut row = Request::new(session, 0, at_ns, Kind::Connect);
                row.outcome = Outcome::Error;
                row.error_message = Some(why.into());
                row.duration_ns = u64::try_from(end_ns.saturating_sub(at_ns)).ok();
                row.client = Some(start.client);
                row.server = Some(start.server);
                self.sink.request(row);
            }
        }
    }

    /// The losses of the sessions that ended, and of those that are open.
    fn so_far(&self) -> Losses {
        let mut losses = self.losses.clone();
        self.sessions.values().for_each(|session| losses.merge(session.losses()));
        losses
    }

    fn end(&mut self, session: u64, at_ns: i64, how: Close) {
        if let Some(mut decoder) = self.sessions.remove(&session) {
            decoder.close(at_ns, how, &mut self.sink);
            self.losses.merge(decoder.losses());
        }
    }
}

struct Counted<S> {
    sink: S,
    live: Arc<Live>,
}

impl<S: Sink> Sink for Counted<S> {
    fn request(&mut self, request: Request) {
        self.live.rows.fetch_add(1, Relaxed);
        self.sink.request(request);
    }

    fn losses(&mut self, losses: &Losses) {
        self.sink.losses(losses);
    }
}
