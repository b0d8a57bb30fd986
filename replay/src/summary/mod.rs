//! What a replay was like: how true to its timing, what came of the requests, what was not sent.
//!
//! - [`Summary`]: everything, as it stands in the run's manifest and is printed as JSON
//! - [`Tally`]: counts the rows of a run as they pass
//! - [`Summary`]'s `Display`: the page for the terminal

mod run;
mod spread;
mod tally;
mod text;

pub use run::{NodeRun, RefusedUser, Summary, Verdict};
pub use spread::Spread;
pub use tally::{Lateness, Tally};
