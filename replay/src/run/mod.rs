//! A whole replay, from the trace to the run.
//!
//! - [`Order`]: what to replay, where, and how
//! - [`replay`]: does it
//! - [`ReplayError`]: why it could not begin, or not be written

mod error;
mod order;
mod output;
mod replay;
mod servers;
mod start;

pub use error::ReplayError;
pub use order::{Only, Order};
pub use replay::replay;
