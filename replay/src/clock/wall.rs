//! Real time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Clock;
use super::timer::{Timer, Wait};

/// Real time: the system's time when the clock was made, and the monotonic clock from there, so that a step of the
/// system's time during a run changes nothing.
#[derive(Clone, Debug)]
pub struct WallClock {
    start: Instant,
    start_ns: i64,
    timer: Arc<Timer>,
}

impl WallClock {
    /// A clock that starts now. Starts the thread that ends the waits.
    ///
    /// # Errors
    /// The system's, when it cannot start a thread.
    pub fn start() -> std::io::Result<Self> {
        let start = Instant::now();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start_ns = i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX);
        Ok(WallClock { start, start_ns, timer: Arc::new(Timer::start()?) })
    }
}

impl Clock for WallClock {
    type Wait = Wait;

    fn now_ns(&self) -> i64 {
        let elapsed = i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.start_ns.saturating_add(elapsed)
    }

    fn wait_until(&self, at_ns: i64) -> Wait {
        let ahead = u64::try_from(at_ns.saturating_sub(self.start_ns)).unwrap_or(0);
        // A century ahead is as good as never, and what an `Instant` surely holds.
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        self.timer.wait(self.start + Duration::from_nanos(ahead).min(CENTURY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_does_not_end_early() {
        let clock = WallClock::start().unwrap();
        let due: Vec<i64> = (0..20).map(|n| clock.now_ns() + n * 500_000).collect();
        // Registered latest first: the thread must notice that an earlier one has come.
        let waits: Vec<_> = due.iter().rev().map(|&at| (at, clock.wait_until(at))).collect();
        for (at, wait) in waits {
            wait.await;
            assert!(clock.now_ns() >= at);
        }
    }

    #[tokio::test]
    async fn the_past_is_ready_at_once() {
        let clock = WallClock::start().unwrap();
        clock.wait_until(i64::MIN).await;
        clock.wait_until(clock.now_ns()).await;
    }
}
