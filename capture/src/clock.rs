//! One clock for everything that is stamped in a process.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970 UTC that never run backwards.
///
/// The system clock is read once; from then on the monotonic clock counts. Stamps taken through copies of one
/// `Clock` can be compared exactly, and a step of the system clock (NTP, an operator) does not reorder a trace.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Instant,
    anchor_ns: i64,
}

impl Clock {
    /// Anchors the clock to the system time of this moment.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Clock { anchor: Instant::now(), anchor_ns: clamp(since_1970) }
    }

    /// The time now, nanoseconds since 1970 UTC.
    pub fn now_ns(&self) -> i64 {
        self.ns_at(Instant::now())
    }

    /// The time of an instant, nanoseconds since 1970 UTC.
    pub fn ns_at(&self, instant: Instant) -> i64 {
        match instant.checked_duration_since(self.anchor) {
            Some(after) => self.anchor_ns.saturating_add(clamp(after)),
            None => self.anchor_ns.saturating_sub(clamp(self.anchor - instant)),
        }
    }

    /// The instant of a time in nanoseconds since 1970 UTC; `None` where the platform cannot express it.
    pub fn instant_at(&self, ns: i64) -> Option<Instant> {
        let offset = ns.checked_sub(self.anchor_ns)?;
        let distance = Duration::from_nanos(offset.unsigned_abs());
        if offset >= 0 { self.anchor.checked_add(distance) } else { self.anchor.checked_sub(distance) }
    }
}

fn clamp(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_instants_convert_both_ways() {
        let clock = Clock::start();
        let now = Instant::now();
        let ns = clock.ns_at(now);
        assert_eq!(clock.instant_at(ns), Some(now));
        assert_eq!(clock.ns_at(now + Duration::from_millis(5)), ns + 5_000_000);
        assert!(clock.instant_at(i64::MIN).is_none());
    }

    #[test]
    fn it_tells_the_system_time_and_never_runs_backwards() {
        let clock = Clock::start();
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!((clock.now_ns() - system).abs() < 1_000_000_000);
        let (first, second) = (clock.now_ns(), clock.now_ns());
        assert!(second >= first);
    }
}
