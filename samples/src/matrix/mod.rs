//! The detection matrix: every fault that the sample router can commit, against what Splitproof says about it.
//!
//! A scene of short sessions is recorded at a real primary, and replayed through the sample router into the real pair: once
//! without a fault, which is the baseline, then once for each fault. `splitproof-analyze` has to name each fault by the
//! right finding, with the shapes of the statements that it hit, and nothing else. A router without faults must give no finding, whatever
//! the order of the sessions.
//!
//! - [`cli`]: flags, the printed table
//! - [`scene`]: the sessions and what each fault must show, as the files in `samples/matrix/` tell
//! - [`client`], [`record`][]: the sessions as real traffic, recorded
//! - [`stage`]: the pair, and one replay after another
//! - [`finding`]: what the report of a comparison says
//! - [`verdict`]: that against what it must say
//! - [`confirm`]: whether answers called stale are

pub mod cli;
pub mod client;
pub mod confirm;
pub mod finding;
pub mod record;
pub mod scene;
pub mod stage;
pub mod verdict;
