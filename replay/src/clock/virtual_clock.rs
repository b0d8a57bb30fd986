//! Time that tests move by hand.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::Clock;

/// Time that stands still until it is moved. Clones share their time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    now_ns: i64,
    waits: Vec<(i64, Waker)>,
}

impl VirtualClock {
    /// A clock that stands at `now_ns`.
    pub fn at(now_ns: i64) -> Self {
        let clock = VirtualClock::default();
        clock.lock().now_ns = now_ns;
        clock
    }

    /// Moves time on and ends the waits that are over by then. Time does not go back.
    pub fn advance_to(&self, now_ns: i64) {
        let mut state = self.lock();
        state.now_ns = state.now_ns.max(now_ns);
        let now_ns = state.now_ns;
        let due: Vec<Waker> = state.waits.extract_if(.., |(at, _)| *at <= now_ns).map(|(_, waker)| waker).collect();
        drop(state);
        due.into_iter().for_each(Waker::wake);
    }

    /// When the earliest wait ends, if a task waits.
    pub fn next_wait(&self) -> Option<i64> {
        self.lock().waits.iter().map(|(at, _)| *at).min()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    type Wait = VirtualWait;

    fn now_ns(&self) -> i64 {
        self.lock().now_ns
    }

    fn wait_until(&self, at_ns: i64) -> VirtualWait {
        VirtualWait { clock: self.clone(), at_ns }
    }
}

/// A wait on a [`VirtualClock`].
#[derive(Debug)]
pub struct VirtualWait {
    clock: VirtualClock,
    at_ns: i64,
}

impl Future for VirtualWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.lock();
        if state.now_ns >= self.at_ns {
            return Poll::Ready(());
        }
        let known = state.waits.iter().any(|(at, waker)| *at == self.at_ns && waker.will_wake(context.waker()));
        if !known {
            state.waits.push((self.at_ns, context.waker().clone()));
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_when_time_is_moved_past_it() {
        let clock = VirtualClock::at(5);
        let wait = tokio::spawn(clock.wait_until(10));
        while clock.next_wait().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(clock.next_wait(), Some(10));
        clock.advance_to(9);
        assert_eq!(clock.next_wait(), Some(10));
        clock.advance_to(10);
        wait.await.unwrap();
        assert_eq!((clock.next_wait(), clock.now_ns()), (None, 10));
    }
}
