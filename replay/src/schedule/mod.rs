//! From the trace to the sessions: who gets which request, and how far ahead.
//!
//! - [`Feed`]: reads the trace in start order and gives each session its requests in time
//! - [`Fed`]: what came of that

mod feed;

pub use feed::{Fed, Feed, Spawn};
