//! Whether a replica had applied the commits that came before a read.
//!
//! - [`Positions`]: the samples of the nodes' replication positions
//! - [`Commits`], [`Commit`]: what was committed on which table, when, in which order
//! - [`judge`], [`Read`], [`Staleness`]: the verdict on one read
//!
//! A read is stale when a commit that had ended before the read was sent, and that wrote a table which the read reads, was not
//! applied by the node that answered it. The samples of the node's replay position before and after the execution bound what the
//! node knew; where they leave both possibilities, the answer is that they do not decide.

mod commit;
mod position;
mod verdict;

pub use commit::{Commit, Commits, Scope};
pub use position::{Applied, Place, Positions};
pub use verdict::{Missed, Read, Staleness, judge};
