//! The trace: a directory of Parquet files and a manifest that says what clients asked, when, and what came back.
//!
//! - [`Request`]: one row, one thing a client asked for
//! - [`Sink`]: where sources put finished requests
//! - [`Losses`]: every unit of input that could not be used, counted by reason
//! - [`Manifest`]: `trace.json`
//! - [`Writer`], [`Reader`]: the Parquet files
//! - [`Position`]: one sample of a node's replication position, in a run

mod loss;
mod request;

pub use loss::{Loss, Losses};
pub use request::{Kind, LateCause, Outcome, Param, Request, Sink, TransactionStatus};
