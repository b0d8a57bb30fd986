//! Drive recorded traffic through a router into a real pair, with the original timing, and keep what came back.
//!
//! [`run`] puts it all together. A [`pair`] file describes the router and the nodes; they are checked over [`control`]
//! connections, and the [`catalog`] is kept with the run. [`schedule`] reads the trace and gives each [`session`] its
//! requests before they are due by the [`clock`]; the session sends them over its [`wire`]. Beside the traffic,
//! [`evidence`] watches the nodes and [`position`] samples how far they are. Everything goes to the [`output`], which
//! writes the run and counts what the [`summary`] tells.

pub mod catalog;
pub mod clock;
pub mod control;
pub mod evidence;
pub mod output;
pub mod pair;
pub mod position;
pub mod progress;
pub mod reads;
pub mod run;
pub mod schedule;
pub mod session;
pub mod summary;
pub mod wire;
