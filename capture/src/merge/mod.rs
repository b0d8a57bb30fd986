//! Traces of several hosts become one.
//!
//! - [`merge`](fn@merge): reads them three times, each time as a stream: to find the sessions that several saw, to compare
//!   their clocks, and to write
//! - `sessions`: which sessions are the same connection; `clock`: how far the clocks are apart; `rows`: one order, each
//!   request once

mod clock;
mod rows;
mod run;
mod sessions;

pub use clock::Clock;
pub use run::{Error, Merged, Plan, merge};
