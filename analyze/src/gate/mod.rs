//! The gate: conditions on the numbers of a comparison, and one verdict.
//!
//! - [`Gate`]: the conditions, from a YAML file or the built-in default
//! - [`Condition`], [`Bound`]: one metric with its bound
//! - [`Verdict`], [`Checked`]: what came of each
//!
//! A condition whose metric could not be measured is neither passed nor failed. It keeps the verdict from being a pass.

mod condition;
mod file;
mod verdict;

pub use condition::{Bound, BoundError, Comparator, Condition};
pub use file::{Gate, GateError};
pub use verdict::{Checked, Decision, Status, Verdict};
