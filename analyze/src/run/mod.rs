//! A run or recording, opened, and the first pass over it.
//!
//! - [`Run`]: a directory with its nodes, catalog and positions
//! - [`Statement`], [`Statements`]: what the analysis needs to know of each shape
//! - [`pass`]: reads requests and node traces side by side in start order, judges every request, and writes one
//!   [`Row`](crate::engine::Row) each; memory is bounded by what overlaps in time
//!
//! The second pass, [`engine`](crate::engine), joins and aggregates those rows.

mod causal;
mod cursor;
mod error;
mod key;
mod open;
mod own;
mod pass;
mod pending;
mod row;
mod session;
mod snapshot;
mod statement;
mod statements;
mod sweep;
mod taint;

pub use error::Error;
pub use open::{Node, Recording, Run, dialect};
pub use pass::{Judgement, pass};
pub use statement::{Named, Statement};
pub use statements::Statements;
pub use sweep::places;
