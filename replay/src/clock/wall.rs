//! Real time.

use std::sync::Arc;
use std::time::Instant;

use super::Clock;
use super::timer::{Timer, Wait};

/// Real time: the clock that stamps everything in this process, and waits for it.
#[derive(Clone, Debug)]
pub struct WallClock {
    clock: splitproof_capture::clock::Clock,
    timer: Arc<Timer>,
}

impl WallClock {
    /// Waits for the times of `clock`. Starts the thread that ends the waits.
    ///
    /// # Errors
    /// The system's, when it cannot start a thread.
    pub fn start(clock: splitproof_capture::clock::Clock) -> std::io::Result<Self> {
        Ok(WallClock { clock, timer: Arc::new(Timer::start()?) })
    }
}

impl Clock for WallClock {
    type Wait = Wait;

    fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    fn wait_until(&self, at_ns: i64) -> Wait {
        // A time that the platform cannot express as an instant has passed, or is too far to come.
        let at = self.clock.instant_at(at_ns);
        self.timer.wait(at.or_else(|| (at_ns < self.now_ns()).then(Instant::now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_does_not_end_early() {
        let clock = WallClock::start(splitproof_capture::clock::Clock::start()).unwrap();
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
        let clock = WallClock::start(splitproof_capture::clock::Clock::start()).unwrap();
        clock.wait_until(i64::MIN).await;
        clock.wait_until(clock.now_ns()).await;
    }
}
