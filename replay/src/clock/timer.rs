//! Waits that end within a fraction of a millisecond.
//!
//! Tokio's timer counts whole milliseconds, which is the tolerance within which a request counts as on time. Here one
//! thread sleeps until the earliest deadline and wakes the task that waits for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use futures::task::AtomicWaker;

/// The thread and its deadlines. The thread ends when this is dropped.
#[derive(Debug)]
pub struct Timer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    deadlines: BinaryHeap<Reverse<Deadline>>,
    stop: bool,
}

#[derive(Debug)]
struct Deadline {
    at: Instant,
    task: Arc<Task>,
}

#[derive(Debug, Default)]
struct Task {
    waker: AtomicWaker,
    /// The wait was dropped: nobody is to be woken.
    dropped: AtomicBool,
}

impl Timer {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let thread = Arc::clone(&shared);
        std::thread::Builder::new().name("clock".to_owned()).spawn(move || thread.run())?;
        Ok(Timer { shared })
    }

    /// A wait until `at`; for ever with `None`.
    pub fn wait(&self, at: Option<Instant>) -> Wait {
        Wait { at, shared: Arc::clone(&self.shared), task: None }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut due: Vec<Arc<Task>> = Vec::new();
        let mut state = self.lock();
        while !state.stop {
            let now = Instant::now();
            while state.deadlines.peek().is_some_and(|Reverse(next)| next.at <= now) {
                due.extend(state.deadlines.pop().map(|Reverse(deadline)| deadline.task));
            }
            if !due.is_empty() {
                // Waking takes time: let other tasks register meanwhile.
                drop(state);
                due.drain(..).filter(|task| !task.dropped.load(Ordering::Relaxed)).for_each(|task| task.waker.wake());
                state = self.lock();
                continue;
            }
            state = match state.deadlines.peek() {
                Some(Reverse(next)) => {
                    let pause = next.at.saturating_duration_since(now);
                    self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn register(&self, at: Instant, task: Arc<Task>) {
        let mut state = self.lock();
        let earliest = state.deadlines.peek().is_none_or(|Reverse(next)| at < next.at);
        state.deadlines.push(Reverse(Deadline { at, task }));
        drop(state);
        if earliest {
            self.changed.notify_one();
        }
    }
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

/// A wait until a deadline.
#[derive(Debug)]
pub struct Wait {
    at: Option<Instant>,
    shared: Arc<Shared>,
    /// Set once registered with the thread.
    task: Option<Arc<Task>>,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(at) = this.at else { return Poll::Pending };
        if let Some(task) = &this.task {
            // Register first, then look at the time: the thread may wake between the two.
            task.waker.register(context.waker());
        }
        if Instant::now() >= at {
            return Poll::Ready(());
        }
        if this.task.is_none() {
            let task = Arc::new(Task::default());
            task.waker.register(context.waker());
            this.shared.register(at, Arc::clone(&task));
            this.task = Some(task);
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.dropped.store(true, Ordering::Relaxed);
        }
    }
}
