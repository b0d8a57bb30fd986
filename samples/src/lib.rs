//! A real pair behind a real router, sample traffic, and the workload it was recorded from.
//!
//! Used by tests and the demo only: [`sandbox`] starts and stops the servers, [`shop`] is what its clients do, [`sysbench`] is another
//! workload, [`record`] keeps either as packets, [`matrix`] lets the sample router fail in every way that it can, and the binary
//! `splitproof-sandbox` is its command line.

pub mod error;
pub mod matrix;
pub mod record;
pub mod router;
pub mod sandbox;
pub mod shop;
pub mod sysbench;

pub use error::{Error, Result};
pub use sandbox::Sandbox;
