//! A read/write-splitting router that is right when it is told to be, and wrong in one named way when it is told to be.
//!
//! It is a test instrument: `splitproof-analyze` must find nothing in what this router does, and must name each fault
//! that it was started with. Nothing of Splitproof's tools reads its decision log; tests do.
//!
//! - [`cli`], [`config`]: flags and the configuration file
//! - [`node`][]: the servers, their weights and their health
//! - [`text`], [`need`], [`rules`]: what a statement is, and where it belongs: by its meaning, or by rules on its text
//! - [`state`], [`history`], [`ledger`]: what a session holds, which settings every server of it must have seen, and how
//!   its statements change both
//! - [`route`][]: the decision; [`fault`][]: how a named fault changes it
//! - [`position`][]: causal reads
//! - [`log`][]: the decision log
//! - [`postgresql`], [`mysql`]: the protocols, each with its clients' side and its servers' side; `pump` moves
//!   the bytes between the two
//! - [`serve`][]: the listener

pub mod cli;
pub mod config;
pub mod fault;
pub mod history;
pub mod ledger;
pub mod log;
pub mod mysql;
pub mod need;
pub mod node;
pub mod position;
pub mod postgresql;
mod pump;
pub mod route;
pub mod rules;
pub mod serve;
pub mod state;
pub mod text;

pub use config::Config;
pub use fault::{Fault, Faults};
pub use node::{Engine, NodeId, Nodes, PRIMARY};
pub use route::{Ask, Decision, Router};
pub use state::State;
