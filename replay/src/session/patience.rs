//! How long a replay waits for a router that does not answer at all.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::Poll;

use crate::clock::Clock;

/// Follows whether any session gets an answer while some wait for one.
#[derive(Debug, Default)]
pub struct Patience {
    /// Sessions that wait for an answer.
    waiting: AtomicU64,
    /// When one came, or the first of those that wait now began to.
    since_ns: AtomicI64,
    /// The longest that any request that was sent took when it was recorded.
    longest_ns: AtomicU64,
}

/// A session that waits, until this is dropped.
struct Waiting<'a>(&'a Patience);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Patience {
    /// A request is sent that took this long when it was recorded: so long it may take again.
    pub fn sent(&self, recorded_ns: Option<u64>) {
        self.longest_ns.fetch_max(recorded_ns.unwrap_or(0), Ordering::Relaxed);
    }

    /// Waits for an answer.
    pub async fn during<F: Future>(&self, clock: &impl Clock, answer: F) -> F::Output {
        let mut answer = pin!(answer);
        let mut waiting = None;
        let output = poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(output),
            Poll::Pending => {
                // What is there already needs no clock.
                waiting.get_or_insert_with(|| self.wait(clock.now_ns()));
                Poll::Pending
            }
        });
        let output = output.await;
        if waiting.is_some() {
            self.since_ns.fetch_max(clock.now_ns(), Ordering::Relaxed);
        }
        output
    }

    fn wait(&self, now_ns: i64) -> Waiting<'_> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            self.since_ns.fetch_max(now_ns, Ordering::Relaxed);
        }
        Waiting(self)
    }

    /// True when sessions have waited for this long without any answer, and longer than any request took when it was recorded.
    pub fn is_over(&self, now_ns: i64, limit_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(self.since_ns.load(Ordering::Relaxed)).max(0).unsigned_abs();
        self.waiting.load(Ordering::Relaxed) > 0
            && silent_ns >= limit_ns.saturating_add(self.longest_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;

    #[tokio::test]
    async fn it_is_over_when_nobody_is_answered_and_somebody_waits() {
        let (patience, clock) = (Patience::default(), VirtualClock::at(100));
        assert!(!patience.is_over(1_000, 10), "nobody waits");
        assert_eq!(patience.during(&clock, async { 5 }).await, 5);
        let mut never = pin!(patience.during(&clock, std::future::pending::<()>()));
        assert!(futures::poll!(never.as_mut()).is_pending());
        assert!(!patience.is_over(109, 10) && patience.is_over(110, 10));
        patience.sent(Some(50));
        assert!(!patience.is_over(159, 10) && patience.is_over(160, 10), "one may take as long as it took");
        // Another session is answered.
        clock.advance_to(200);
        let mut asked = false;
        let second_time = poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending }
        });
        patience.during(&clock, second_time).await;
        assert!(!patience.is_over(259, 10) && patience.is_over(260, 10));
    }

    #[tokio::test]
    async fn who_is_gone_does_not_wait() {
        let (patience, clock) = (Patience::default(), VirtualClock::at(100));
        {
            let mut never = pin!(patience.during(&clock, std::future::pending::<()>()));
            assert!(futures::poll!(never.as_mut()).is_pending());
        }
        assert!(!patience.is_over(i64::MAX, 10));
    }
}
