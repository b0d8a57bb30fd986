//! When a row of the log was written. As a table the log has the time of day in the time zone of the session that sent the
//! statement, which no column tells.

/// Time zones differ by whole quarters of an hour.
const ZONE_US: i64 = 15 * 60 * 1_000_000;
/// Sessions write their rows in turn, and may have read the clock a moment before.
const BACK_US: i64 = 2_000_000;
/// Our own statements stand in the log more often than this.
const AHEAD_US: i64 = 120_000_000;

/// Tells times by the order of the rows: each follows the one before it after a moment.
#[derive(Debug, Default)]
pub struct Times {
    last_us: Option<i64>,
}

impl Times {
    /// A row of a session whose time zone is UTC.
    pub fn utc(&mut self, at_us: i64) {
        self.last_us = Some(at_us);
    }

    /// The time of the next row, whose time of day is that of `written_us` in UTC; `None` where it cannot be told.
    pub fn tell(&mut self, written_us: i64) -> Option<i64> {
        let last_us = self.last_us?;
        let apart = written_us.saturating_sub(last_us);
        let zone = (apart.saturating_add(ZONE_US / 2)).div_euclid(ZONE_US).saturating_mul(ZONE_US);
        let after = apart.saturating_sub(zone);
        let at_us = written_us.saturating_sub(zone);
        if !(-BACK_US..=AHEAD_US).contains(&after) {
            return None;
        }
        self.last_us = Some(last_us.max(at_us));
        Some(at_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3600 * SECOND;
    const NOON: i64 = 1_796_030_269 * SECOND;

    #[test]
    fn every_time_zone_tells_the_same_time() {
        let mut times = Times::default();
        assert_eq!(times.tell(NOON), None, "before anything is known");
        times.utc(NOON);
        for (at, zone) in [
            (1, 0),
            (2, 5 * HOUR),
            (3, -3 * HOUR - HOUR / 2),
            (4, 14 * HOUR),
            (5, -12 * HOUR),
            (6, 5 * HOUR + 3 * HOUR / 4),
        ] {
            assert_eq!(times.tell(NOON + at * SECOND + zone), Some(NOON + at * SECOND), "{at} {zone}");
        }
        // A moment back, and as long forth as our own statements may take.
        assert_eq!(times.tell(NOON + 5 * SECOND + HOUR), Some(NOON + 5 * SECOND));
        assert_eq!(times.tell(NOON + 100 * SECOND - HOUR), Some(NOON + 100 * SECOND));
    }

    #[test]
    fn a_time_that_does_not_follow_is_not_known() {
        let mut times = Times::default();
        times.utc(NOON);
        // SET time_zone = '+05:07'
        assert_eq!(times.tell(NOON + SECOND + 5 * HOUR + 7 * 60 * SECOND), None);
        assert_eq!(times.tell(NOON - 10 * SECOND), None);
        assert_eq!(times.tell(NOON + 2 * SECOND), Some(NOON + 2 * SECOND));
        assert_eq!(times.tell(i64::MAX), None);
    }
}
