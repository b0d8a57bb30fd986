//! Control connections: one to each node, beside the replayed traffic.
//!
//! - [`connect`]: opens them and checks that the pair is what `pair.toml` says
//! - [`Control`]: one of them, with what the node said about itself
//! - [`recorded_server`]: refuses targets that are a server of the recording

mod check;
mod clock_offset;
mod connection;
mod error;
mod target;

pub use check::connect;
pub use clock_offset::ClockOffset;
pub use connection::{Control, Identity};
pub use error::ControlError;
pub use target::{Targets, recorded_server};
