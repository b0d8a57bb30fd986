//! Reads the trace in start order and gives each session its requests in time.
//!
//! The look-ahead is bounded twice: by time, since a request that is due in an hour need not be in memory, and by size.
//! The size is given way to when no session gets on for a while: all may be waiting for something that a session does
//! which has no request yet, such as the end of a transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use splitproof_capture::trace::{Error, Kind, Request};

use crate::clock::{Clock, Timetable};
use crate::progress::Progress;
use crate::session::Stop;
use crate::session::queue::{Backlog, Feeder, Queue, queue};

/// How long before its due time a request is given to its session.
const AHEAD_NS: i64 = 2_000_000_000;
/// Requests that are given out together at most.
const BATCH: usize = 256;
/// Bytes that may lie in all queues together.
const BACKLOG: u64 = 256 << 20;
/// The reader looks this often whether it may go on.
const PAUSE: Duration = Duration::from_millis(1);
/// When no session took anything for this long, one more batch is given out in spite of the limit.
const STALL: Duration = Duration::from_millis(200);

/// Starts the replay of a session whose requests come from a queue.
pub trait Spawn {
    /// Starts it.
    fn spawn(&mut self, session: u64, queue: Queue);
}

/// What was given to the sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Requests.
    pub requests: u64,
    /// Sessions.
    pub sessions: u64,
    /// Batches that were given out beyond the limit of size, because no session got on.
    pub overruns: u64,
}

/// Gives the sessions their requests.
pub struct Feed<C, S> {
    clock: C,
    timetable: Timetable,
    spawn: S,
    stop: Stop,
    progress: Arc<Progress>,
    backlog: Arc<Backlog>,
    limit: u64,
    feeders: HashMap<u64, Feeder>,
    /// Sessions with requests that are not given out yet.
    touched: Vec<u64>,
    /// Sessions that have their last request.
    over: Vec<u64>,
    waiting: usize,
    fed: Fed,
}

impl<C: Clock, S: Spawn> Feed<C, S> {
    /// A feed that starts sessions through `spawn`.
    pub fn new(clock: C, timetable: Timetable, spawn: S, stop: Stop, progress: Arc<Progress>) -> Self {
        Feed {
            clock,
            timetable,
            spawn,
            stop,
            progress,
            backlog: Arc::default(),
            limit: BACKLOG,
            feeders: HashMap::new(),
            touched: Vec::new(),
            over: Vec::new(),
            waiting: 0,
            fed: Fed::default(),
        }
    }

    /// Gives out all requests, or those before the stop. Blocks: it needs a thread of its own.
    ///
    /// # Errors
    /// The first error of the trace. What came before it has been given out.
    pub fn run(mut self, requests: impl Iterator<Item = Result<Request, Error>>) -> Result<Fed, Error> {
        let result = self.give_out(requests);
        self.flush();
        result.map(|()| self.fed)
    }

    fn give_out(&mut self, requests: impl Iterator<Item = Result<Request, Error>>) -> Result<(), Error> {
        for request in requests {
            let request = request?;
            if let Some(due_ns) = self.timetable.due_ns(request.start_ns) {
                self.wait_for_time(due_ns.saturating_sub(AHEAD_NS));
            }
            if self.stop.is_given() {
                break;
            }
            self.put(request);
            if self.waiting >= BATCH {
                self.flush();
                self.wait_for_room();
            }
        }
        Ok(())
    }

    fn put(&mut self, request: Request) {
        let (session, last) = (request.session, request.kind == Kind::Disconnect);
        let feeder = self.feeders.entry(session).or_insert_with(|| {
            let (feeder, queue) = queue(&self.backlog);
            self.spawn.spawn(session, queue);
            self.fed.sessions += 1;
            feeder
        });
        feeder.put(request);
        self.touched.push(session);
        if last {
            self.over.push(session);
        }
        self.waiting += 1;
        self.fed.requests += 1;
    }

    fn flush(&mut self) {
        for session in self.touched.drain(..) {
            if let Some(feeder) = self.feeders.get_mut(&session) {
                feeder.flush();
            }
        }
        // A session ends with its queue.
        for session in self.over.drain(..) {
            self.feeders.remove(&session);
        }
        self.progress.fed(self.waiting as u64);
        self.waiting = 0;
    }

    fn wait_for_time(&mut self, at_ns: i64) {
        let mut ahead = at_ns.saturating_sub(self.clock.now_ns());
        if ahead > 0 {
            self.flush();
        }
        while ahead > 0 && !self.stop.is_given() {
            // Short, so that a stop is seen.
            std::thread::sleep(Duration::from_nanos(ahead.unsigned_abs()).min(Duration::from_millis(50)));
            ahead = at_ns.saturating_sub(self.clock.now_ns());
        }
    }

    fn wait_for_room(&mut self) {
        let mut taken = self.backlog.taken();
        let mut since = Instant::now();
        while self.backlog.bytes() > self.limit && !self.stop.is_given() {
            std::thread::sleep(PAUSE);
            let now = self.backlog.taken();
            if now != taken {
                (taken, since) = (now, Instant::now());
            } else if since.elapsed() >= STALL {
                self.fed.overruns += 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::clock::{Speed, VirtualClock};

    #[derive(Clone, Default)]
    struct Keep(Arc<Mutex<Vec<(u64, Queue)>>>);

    impl Spawn for Keep {
        fn spawn(&mut self, session: u64, queue: Queue) {
            self.0.lock().unwrap().push((session, queue));
        }
    }

    fn row(session: u64, seq: u32, start_ns: i64, kind: Kind) -> Result<Request, Error> {
        Ok(Request::new(session, seq, start_ns, kind))
    }

    fn feed(clock: &VirtualClock, speed: Speed, keep: &Keep, stop: Stop) -> Feed<VirtualClock, Keep> {
        let timetable = Timetable { trace_start_ns: 0, run_start_ns: 0, speed };
        Feed::new(clock.clone(), timetable, keep.clone(), stop, Arc::default())
    }

    #[tokio::test]
    async fn each_session_gets_its_own_in_order_and_then_the_end() {
        let keep = Keep::default();
        let rows = [(1, 0), (2, 0), (1, 1), (2, 1)].map(|(session, seq)| row(session, seq, 0, Kind::Query));
        let (_sender, stop) = Stop::new();
        let fed = feed(&VirtualClock::at(0), Speed::Max, &keep, stop).run(rows.into_iter()).unwrap();
        assert_eq!(fed, Fed { requests: 4, sessions: 2, overruns: 0 });
        let sessions = std::mem::take(&mut *keep.0.lock().unwrap());
        for (session, mut queue) in sessions {
            let seqs: Vec<_> = std::iter::from_fn(|| queue.ready()).map(|row| (row.session, row.seq)).collect();
            assert_eq!(seqs, [(session, 0), (session, 1)]);
            assert!(queue.next().await.is_none());
        }
    }

    #[test]
    fn nothing_is_given_out_long_before_it_is_due() {
        let (keep, clock) = (Keep::default(), VirtualClock::at(0));
        let rows = [row(1, 0, 0, Kind::Query), row(2, 0, AHEAD_NS + 10, Kind::Query)];
        let (sender, stop) = Stop::new();
        let feed = feed(&clock, Speed::ORIGINAL, &keep, stop);
        let thread = std::thread::spawn(move || feed.run(rows.into_iter()));
        while keep.0.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(keep.0.lock().unwrap().len(), 1);
        clock.advance_to(10);
        let fed = thread.join().unwrap().unwrap();
        assert_eq!(fed.sessions, 2);
        drop(sender);
    }

    #[test]
    fn a_stop_ends_the_feeding() {
        let (keep, clock) = (Keep::default(), VirtualClock::at(0));
        let (sender, stop) = Stop::new();
        let feed = feed(&clock, Speed::ORIGINAL, &keep, stop);
        let rows = [row(1, 0, 0, Kind::Query), row(1, 1, i64::MAX, Kind::Query)];
        let thread = std::thread::spawn(move || feed.run(rows.into_iter()));
        sender.send(true).unwrap();
        assert!(thread.join().unwrap().unwrap().requests <= 1);
    }

    #[test]
    fn a_full_backlog_gives_way_when_nobody_gets_on() {
        let keep = Keep::default();
        let (_sender, stop) = Stop::new();
        let mut feed = feed(&VirtualClock::at(0), Speed::Max, &keep, stop);
        feed.limit = 1;
        let rows = (0..300).map(|seq| row(1, seq, 0, Kind::Query));
        assert_eq!(feed.run(rows).unwrap(), Fed { requests: 300, sessions: 1, overruns: 1 });
    }
}
