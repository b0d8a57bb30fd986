//! The fixture in CI: known statements through a router into a real pair, each destination taken from evidence.
//!
//! - [`Fixture`], [`Case`], [`Step`]: the file of known statements
//! - [`judge`]: what is wrong about a case, given where its statements ran; pure
//! - [`Finding`], [`FindingKind`], [`CaseReport`], [`CheckReport`]: the result
//! - [`junit`], [`text`]: the result for CI and for a terminal
//! - [`run`], [`Plan`], [`CheckError`]: the cases against a real pair

mod finding;
pub mod fixture;
mod judge;
pub mod junit;
mod report;
mod run;
pub mod text;

pub use finding::{Finding, FindingKind};
pub use fixture::{Case, Fixture, FixtureError, Protocol, Step};
pub use judge::{Executed, Expected, expectations, judge};
pub use report::{CaseReport, CheckReport, Property, StatementReport};
pub use run::{CheckError, Plan, run};
