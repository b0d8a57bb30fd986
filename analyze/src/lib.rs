//! Judge a run: where each statement ran, whether its answer was the same, and whether it was stale.

pub mod check;
pub mod comparison;
pub mod gate;
pub mod intent;
pub mod report;
