//! What the router sent to each node, seen from behind the router.
//!
//! - [`Evidence`]: one way to see it
//! - [`start`]: begins to watch a node
//! - `tap`: a relay in front of the node, at which the router's backend points
//! - `log`: the node's general log

mod log;
mod tap;

use std::pin::Pin;

use splitproof_capture::clock::Clock;
use splitproof_capture::trace::{Engine, Losses};
use tokio::sync::mpsc;

use crate::clock::WallClock;
use crate::control::{ControlError, DriverError};
use crate::output::Note;
use crate::pair::{EvidenceSource, Node, Passwords};

/// Why a node cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The control connection for the log cannot be opened.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The general log cannot be switched on.
    #[error(
        "node \"{node}\": its general log cannot be used: {source}; evidence = \"log\" needs SUPER (MySQL 8: \
         SYSTEM_VARIABLES_ADMIN) and SELECT on mysql.general_log for the user in the node's URL: grant them, or write \
         evidence = \"tap\""
    )]
    Log {
        /// Name of the node.
        node: String,
        /// What the server said.
        source: DriverError,
    },
    /// The log's times are not ours.
    #[error(
        "node \"{node}\": its clock is {ms} ms away from this machine's, so that its general log cannot be matched with the \
         requests: replay on the node's machine, set the clocks, or write evidence = \"tap\""
    )]
    Clocks {
        /// Name of the node.
        node: String,
        /// How far, milliseconds.
        ms: u64,
    },
    /// The relay in front of it cannot start.
    #[error("node \"{node}\": the tap {source}; `tap` and `url` of the node in pair.toml say where")]
    Tap {
        /// Name of the node.
        node: String,
        /// Why not.
        source: splitproof_capture::tap::Error,
    },
}

/// One way to see what a node is asked. Rows go to the output as they are finished.
pub trait Evidence: Send {
    /// Stops watching, hands over what is left, and tells what could not be used.
    fn stop(self: Box<Self>) -> Pin<Box<dyn Future<Output = Seen> + Send>>;
}

/// How far an evidence reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What could not be used.
    pub losses: Losses,
    /// What is wrong with it as a whole.
    pub problem: Option<String>,
}

/// What it takes to watch a node.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// The pair's engine.
    pub engine: Engine,
    /// The node.
    pub node: &'a Node,
    /// Its place in `pair.toml`.
    pub index: usize,
    /// Passwords for a control connection.
    pub passwords: &'a Passwords,
    /// The clock that stamps rows.
    pub stamps: Clock,
    /// The same clock, to compare a server's with.
    pub wall: &'a WallClock,
    /// Where the rows go.
    pub out: &'a mpsc::Sender<Note>,
}

/// Begins to watch a node, the way that `pair.toml` says; `None` when it says not to.
///
/// # Errors
/// When the node cannot be watched in this way.
pub async fn start(watch: Watch<'_>) -> Result<Option<Box<dyn Evidence>>, EvidenceError> {
    match watch.node.evidence {
        EvidenceSource::Tap { listen } => {
            let rows = tap::NodeRows::new(watch.index, watch.out.clone());
            let tap = tap::Tap::start(watch.engine, watch.node, listen, watch.stamps, rows).await?;
            Ok(Some(Box::new(tap)))
        }
        EvidenceSource::Log => Ok(Some(Box::new(log::Log::start(&watch).await?))),
        EvidenceSource::None => Ok(None),
    }
}
