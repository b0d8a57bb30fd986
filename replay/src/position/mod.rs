//! The replication position of each node, sampled beside the traffic.
//!
//! - [`Sampler`]: asks one node every few milliseconds (`postgresql.rs`, `mysql.rs` say what)
//! - [`gtid`]: the numbers in MySQL's and MariaDB's positions
//! - [`Cost`]: what the asking cost
//! - [`Outage`]: a node that stopped answering

mod cost;
pub mod gtid;
mod mysql;
mod outage;
mod postgresql;
mod sampler;

pub use cost::Cost;
pub use outage::Outage;
pub use sampler::{Sampled, Sampler};
