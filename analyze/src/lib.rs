//! Judge a run: where each statement ran, whether its answer was the same, and whether it was stale.
//!
//! The work is done in two passes. The first ([`run`]) reads a run's requests and its node traces side by side in start
//! order and gives each request its [`intent`], its place ([`attribution`]), its [`staleness`] and what only the order
//! of a session shows ([`findings`]); it leaves one row per request. The second ([`engine`]) joins the rows of two runs
//! and aggregates them. [`compare`] puts both together into a [`comparison::Comparison`], which the [`report`]s and the
//! [`gate`] read. [`check`] judges a fixture instead of a window. [`simulate`] makes a run from a model of the router.

pub mod answers;
pub mod attribution;
pub mod canary;
pub mod census;
pub mod check;
pub mod compare;
pub mod comparison;
pub mod engine;
pub mod findings;
pub mod gate;
pub mod intent;
pub mod report;
pub mod route;
pub mod run;
pub mod simulate;
pub mod staleness;
mod yaml;
