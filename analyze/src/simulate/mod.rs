//! What a router would do with recorded traffic, told by a model of the router and not by the router.
//!
//! - [`Model`], [`Session`]: a router as the simulator sees it: a session's state and a request in, a [`Decision`] with its reason out
//! - [`proxysql`], [`pgpool`]: the models; [`Router`]: all of them by name
//! - [`simulate`]: a trace through a model, written as a run whose destinations are predicted; [`explain`]: one session of texts
//! - [`Simulation`]: what such a run says about itself; `decisions`: why each request went where it did
//! - [`Agreement`]: how far the predictions agree with the router that a run went through
//!
//! A model reads its rules from the files that people export. What it does not know it refuses or lists, never passes over:
//! `docs/models.md` says for each model what it covers, from which sources, and what it leaves out.

mod agreement;
mod decisions;
mod error;
mod explain;
mod intern;
mod load;
mod model;
pub mod pgpool;
mod place;
pub mod proxysql;
mod record;
mod run;

pub use agreement::{Agreement, Differing};
pub use error::Error;
pub use explain::{Step, Who, explain};
pub use load::{Options, Router, load};
pub use model::{About, Decision, Model, RuleUse, Sent, Session};
pub use place::{Node, Nodes, draw};
pub use record::{Counts, ShapeDecision, Simulation};
pub use run::{Plan, Summary, simulate};
