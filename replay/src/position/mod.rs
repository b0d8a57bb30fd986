//! The replication position of each node, sampled beside the traffic.
//!
//! - [`Sampler`]: asks one node every few milliseconds
//! - [`Cost`]: what the asking cost

mod cost;
mod sampler;

pub use cost::Cost;
pub use sampler::{Sampled, Sampler};
