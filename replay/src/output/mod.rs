//! Where the rows of a run go: one thread that counts them and writes them.
//!
//! - [`Output`]: the thread's work
//! - [`Note`]: what it is told

mod writer;

pub use writer::{End, Note, Output, Written};
