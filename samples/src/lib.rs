//! A real pair behind a real router, sample traffic, and the workload it was recorded from.
//!
//! Used by tests and the demo only: [`sandbox`] starts and stops the servers, and the binary
//! `splitproof-sandbox` is its command line.

pub mod error;
pub mod sandbox;

pub use error::{Error, Result};
pub use sandbox::Sandbox;
