//! When each recorded request is due.

use std::fmt;
use std::str::FromStr;

/// How fast a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Recorded time passes this many times as fast; 1 is the original timing.
    Factor(f64),
    /// Each session sends as soon as its previous answer is there; nothing is due at a time.
    Max,
}

impl Speed {
    /// The original timing.
    pub const ORIGINAL: Speed = Speed::Factor(1.0);
}

/// Why a text is not a speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a speed: write a factor such as 1, 0.5 or 2 (from 0.001 to 1000), or \"max\"")]
pub struct SpeedError {
    text: String,
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        let factor: Option<f64> = text.parse().ok().filter(|factor| (0.001..=1000.0).contains(factor));
        factor.map(Speed::Factor).ok_or_else(|| SpeedError { text: text.escape_debug().to_string() })
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speed::Factor(factor) => write!(f, "{factor}"),
            Speed::Max => f.write_str("max"),
        }
    }
}

/// Maps recorded times to due times. Each due time is computed from the two starts, never from the previous one, so
/// that no error adds up.
#[derive(Clone, Copy, Debug)]
pub struct Timetable {
    /// When the recording starts.
    pub trace_start_ns: i64,
    /// When the replay starts.
    pub run_start_ns: i64,
    /// How fast time passes.
    pub speed: Speed,
}

impl Timetable {
    /// When a request recorded at `recorded_ns` is due; `None` at full speed.
    pub fn due_ns(&self, recorded_ns: i64) -> Option<i64> {
        let Speed::Factor(factor) = self.speed else { return None };
        let since_start = recorded_ns.saturating_sub(self.trace_start_ns);
        // The whole nanoseconds stay exact at the original speed, where nothing need be divided.
        let scaled = if factor == 1.0 { since_start } else { (since_start as f64 / factor) as i64 };
        Some(self.run_start_ns.saturating_add(scaled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(speed: Speed) -> Timetable {
        Timetable { trace_start_ns: 1_700_000_000_000_000_000, run_start_ns: 1_800_000_000_000_000_000, speed }
    }

    #[test]
    fn due_times_are_absolute_and_exact() {
        let recorded = 1_700_000_000_000_000_000 + 600_000_000_001;
        assert_eq!(table(Speed::ORIGINAL).due_ns(recorded), Some(1_800_000_000_000_000_000 + 600_000_000_001));
        assert_eq!(table(Speed::Factor(2.0)).due_ns(recorded), Some(1_800_000_000_000_000_000 + 300_000_000_000));
        assert_eq!(table(Speed::Factor(0.5)).due_ns(recorded), Some(1_800_000_000_000_000_000 + 1_200_000_000_002));
        assert_eq!(table(Speed::Max).due_ns(recorded), None);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        assert_eq!(table(Speed::ORIGINAL).due_ns(i64::MAX).map(|due| due > 0), Some(true));
        assert!(table(Speed::Factor(0.001)).due_ns(i64::MAX).is_some());
        assert!(table(Speed::Factor(0.001)).due_ns(i64::MIN).is_some());
    }

    #[test]
    fn speeds_are_factors_or_max() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("0.5".parse(), Ok(Speed::Factor(0.5)));
        for bad in ["0", "-1", "nan", "inf", "", "fast", "1001"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
        assert_eq!((Speed::Max.to_string(), Speed::ORIGINAL.to_string()), ("max".into(), "1".into()));
    }
}
