//! One absolute clock for all sessions.
//!
//! - [`Clock`]: what time it is, and waiting until a time
//! - [`WallClock`]: real time, with waits that end within a fraction of a millisecond
//! - [`VirtualClock`]: time that tests move by hand
//! - [`Timetable`]: when each recorded request is due

mod timer;
mod timetable;
mod virtual_clock;
mod wall;

use std::future::Future;

pub use timetable::{Speed, SpeedError, Timetable};
pub use virtual_clock::VirtualClock;
pub use wall::WallClock;

/// What time it is, and waiting until a time. Times are nanoseconds since 1970 UTC.
pub trait Clock: Clone + Send + Sync + 'static {
    /// A wait in progress. Dropping it ends the wait.
    type Wait: Future<Output = ()> + Send;

    /// The time now. Never goes back.
    fn now_ns(&self) -> i64;

    /// Waits until a time; ready at once when it has passed.
    fn wait_until(&self, at_ns: i64) -> Self::Wait;
}
