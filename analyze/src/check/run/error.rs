//! Why a check cannot be done.

use splitproof_capture::tap;
use splitproof_capture::trace::Engine;
use splitproof_replay::control::ControlError;

/// Why a check cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A node is not watched through a tap, so that nothing would prove at once where a statement ran.
    #[error(
        "node \"{node}\" has evidence = \"{evidence}\" in pair.toml: give every node a tap, and point the router's backends at the \
         taps"
    )]
    NotTapped {
        /// The node.
        node: String,
        /// How it is watched.
        evidence: &'static str,
    },
    /// The fixture is for another engine.
    #[error("the fixture is for {fixture}, and pair.toml for {pair}: use the fixture of the pair's engine")]
    OtherEngine {
        /// The fixture's.
        fixture: Engine,
        /// The pair's.
        pair: Engine,
    },
    /// Nobody to connect as.
    #[error("pair.toml names no user for the router: write one into router.url, or into defaults.user")]
    NoUser,
    /// The nodes are not what pair.toml says, or do not answer.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A node cannot be watched.
    #[error("node \"{node}\": its tap {source}")]
    Tap {
        /// The node.
        node: String,
        /// Why not.
        source: tap::Error,
    },
    /// The clock cannot be started.
    #[error("cannot start the clock's thread: {0}")]
    Clock(std::io::Error),
    /// The fixture's database cannot be made ready.
    #[error("database \"{database}\" on node \"{node}\": {what}: {problem}")]
    Prepare {
        /// The database.
        database: String,
        /// The node.
        node: String,
        /// What was tried.
        what: &'static str,
        /// What the server said.
        problem: String,
    },
    /// A replica does not catch up.
    #[error("node \"{node}\" had not replayed the fixture's setup after {seconds} s: is its replication running?")]
    Behind {
        /// The node.
        node: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The router is not there.
    #[error(
        "the router at {router}: {problem}; see that it runs and listens there, and that router.url in pair.toml names it"
    )]
    NoRouter {
        /// Its address.
        router: String,
        /// What the system said.
        problem: String,
    },
    /// The router lets nobody in.
    #[error(
        "the router at {router} does not let {user} into database \"{database}\": {problem}; check the router's users and the \
         password, and that {user} has all rights to the database"
    )]
    Router {
        /// Its address.
        router: String,
        /// The user.
        user: String,
        /// The database.
        database: String,
        /// What it said, or what the system said.
        problem: String,
    },
}
