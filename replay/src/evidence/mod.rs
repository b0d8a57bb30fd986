//! What the router sent to each node, seen from behind the router.
//!
//! - [`Evidence`]: one way to see it
//! - [`start`]: begins to watch a node
//! - `tap`: a relay in front of the node, at which the router's backend points

mod tap;

use std::pin::Pin;

use splitproof_capture::clock::Clock;
use splitproof_capture::trace::{Engine, Losses};
use tokio::sync::mpsc;

use crate::output::Note;
use crate::pair::{EvidenceSource, Node};

/// Why a node cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The general log is not read yet.
    #[error("node \"{node}\": evidence = \"log\" is not there yet; write \"tap\" or \"none\"")]
    NoLog {
        /// Name of the node.
        node: String,
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
    /// Stops watching, and tells what could not be used.
    fn stop(self: Box<Self>) -> Pin<Box<dyn Future<Output = Losses> + Send>>;
}

/// Begins to watch a node of this engine, the way that `pair.toml` says; `None` when it says not to. `index` is the node's place in
/// `pair.toml`.
///
/// # Errors
/// When the node cannot be watched in this way.
pub async fn start(
    engine: Engine,
    node: &Node,
    index: usize,
    clock: Clock,
    out: &mpsc::Sender<Note>,
) -> Result<Option<Box<dyn Evidence>>, EvidenceError> {
    match node.evidence {
        EvidenceSource::Tap { listen } => {
            let tap = tap::Tap::start(engine, node, listen, clock, tap::NodeRows::new(index, out.clone())).await?;
            Ok(Some(Box::new(tap)))
        }
        EvidenceSource::Log => Err(EvidenceError::NoLog { node: node.name.clone() }),
        EvidenceSource::None => Ok(None),
    }
}
