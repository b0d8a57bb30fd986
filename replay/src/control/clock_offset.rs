//! How a node's clock differs from the replayer's.

use serde::{Deserialize, Serialize};

use super::{Control, ControlError};
use crate::clock::Clock;

/// How a node's clock differs from the replayer's. Commit times in `positions.parquet` are on the primary's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The node's time minus the replayer's, nanoseconds.
    pub offset_ns: i64,
    /// The offset is right to within this much: half the shortest round trip, and the microsecond of the server's clock.
    pub error_ns: u64,
}

impl ClockOffset {
    /// Asks for the time several times, and keeps the answer with the shortest round trip.
    pub async fn measure(control: &Control, clock: &impl Clock) -> Result<Self, ControlError> {
        const ROUNDS: usize = 9;
        let mut best: Option<ClockOffset> = None;
        for _ in 0..ROUNDS {
            let before = clock.now_ns();
            let node_us = control.time_us().await?;
            let trip = clock.now_ns().saturating_sub(before).max(0);
            let offset = ClockOffset {
                offset_ns: node_us.saturating_mul(1000).saturating_sub(before.saturating_add(trip / 2)),
                error_ns: trip.unsigned_abs() / 2 + 1000,
            };
            if best.is_none_or(|best| offset.error_ns < best.error_ns) {
                best = Some(offset);
            }
        }
        Ok(best.unwrap_or(ClockOffset { offset_ns: 0, error_ns: u64::MAX }))
    }
}
