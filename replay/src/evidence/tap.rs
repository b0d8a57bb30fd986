//! A relay in front of a node, at which the router's backend points.

use std::net::SocketAddr;
use std::pin::Pin;

use splitproof_capture::clock::Clock;
use splitproof_capture::tap::{Encryption, Options, Relay};
use splitproof_capture::trace::{Engine, Request, Sink};
use tokio::sync::mpsc;

use super::{Evidence, EvidenceError, Seen};
use crate::output::Note;
use crate::pair::Node;

/// Rows that are handed to the writer together.
const BATCH: usize = 64;

/// A relay in front of a node.
pub struct Tap {
    relay: Relay<NodeRows>,
}

impl Tap {
    /// Listens, and relays to the node.
    pub async fn start(
        engine: Engine,
        node: &Node,
        listen: SocketAddr,
        clock: Clock,
        rows: NodeRows,
    ) -> Result<Self, EvidenceError> {
        let (host, port) = node.url.address();
        let upstream = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let options = Options { clock, encryption: Encryption::Refuse, ..Options::new(engine, listen, upstream) };
        let relay = Relay::start(options, rows).await;
        let relay = relay.map_err(|source| EvidenceError::Tap { node: node.name.clone(), source })?;
        Ok(Tap { relay })
    }
}

impl Evidence for Tap {
    fn stop(self: Box<Self>) -> Pin<Box<dyn Future<Output = Seen> + Send>> {
        Box::pin(async move {
            match self.relay.stop().await {
                Some(mut stopped) => {
                    stopped.sink.hand_over_later().await;
                    Seen { losses: stopped.losses, problem: None }
                }
                None => Seen::default(),
            }
        })
    }
}

/// Gathers the rows of a node and hands them to the writer.
pub struct NodeRows {
    node: usize,
    out: mpsc::Sender<Note>,
    rows: Vec<Request>,
}

impl NodeRows {
    /// For the node of this number.
    pub fn new(node: usize, out: mpsc::Sender<Note>) -> Self {
        NodeRows { node, out, rows: Vec::new() }
    }

    async fn hand_over_later(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        // The writer is gone only when the run has failed, which it reports itself.
        self.out.send(Note::Node(self.node, rows)).await.ok();
    }
}

impl Sink for NodeRows {
    /// Called on the relay's own thread, which may wait for the writer.
    fn request(&mut self, request: Request) {
        self.rows.push(request);
        if self.rows.len() >= BATCH {
            let rows = std::mem::take(&mut self.rows);
            self.out.blocking_send(Note::Node(self.node, rows)).ok();
        }
    }
}
