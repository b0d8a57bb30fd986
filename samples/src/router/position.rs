//! Causal reads: a read on a replica waits until the replica has everything that was committed before the read.
//!
//! The router asks the primary for its position only when that may have changed: while a write is under way, and for
//! the first read after one. A position asked for after a read arrived covers every commit that was answered before
//! it, of every session. Writes that go round the router are not seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use super::mysql::control::Control as Mysql;
use super::node::{NodeId, Nodes};
use super::postgresql::control::Control as Postgresql;

/// Where positions and lag come from.
#[derive(Debug)]
pub enum Source {
    /// PostgreSQL: log sequence numbers.
    Postgresql(Postgresql),
    /// MySQL and MariaDB: global transaction identifiers.
    Mysql(Mysql),
}

/// Why a server could not be asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unasked(pub String);

impl Source {
    /// The primary's position now.
    async fn primary(&self, nodes: &Nodes) -> Result<Arc<str>, Unasked> {
        match self {
            Source::Postgresql(control) => control.primary(nodes).await,
            Source::Mysql(control) => control.primary(nodes).await,
        }
    }

    /// Waits until a replica has a position; false when that takes too long.
    async fn wait(&self, nodes: &Nodes, node: NodeId, position: &str, patience: Duration) -> Result<bool, Unasked> {
        match self {
            Source::Postgresql(control) => control.wait(nodes, node, position, patience).await,
            Source::Mysql(control) => control.wait(nodes, node, position, patience).await,
        }
    }

    /// How far a replica is behind.
    async fn lag(&self, nodes: &Nodes, node: NodeId) -> Result<Duration, Unasked> {
        match self {
            Source::Postgresql(control) => control.lag(nodes, node).await,
            Source::Mysql(control) => control.lag(nodes, node).await,
        }
    }
}

/// The positions that the router knows.
#[derive(Debug)]
pub struct Positions {
    source: Source,
    /// Writes begun and ended.
    begun: AtomicU64,
    ended: AtomicU64,
    known: Mutex<Option<Known>>,
    /// What each replica is known to have.
    reached: Vec<Mutex<Option<Arc<str>>>>,
}

#[derive(Clone, Debug)]
struct Known {
    /// How many writes had ended before the primary was asked.
    ended: u64,
    position: Arc<str>,
}

/// A write under way; ends when dropped.
#[derive(Debug)]
pub struct Write<'a>(&'a Positions);

impl Drop for Write<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Positions {
    /// Nothing is known yet.
    pub fn new(source: Source, nodes: usize) -> Self {
        Positions {
            source,
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            known: Mutex::new(None),
            reached: (0..nodes).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// A write begins.
    pub fn write(&self) -> Write<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Write(self)
    }

    /// Waits until a replica has what was committed up to now. False when it does not within `patience`, or when a
    /// server cannot be asked.
    pub async fn wait(&self, nodes: &Nodes, node: NodeId, patience: Duration) -> bool {
        let wait = async {
            let position = self.position(nodes).await?;
            let Some(reached) = self.reached.get(node) else { return Ok(false) };
            if reached.lock().await.as_ref() == Some(&position) {
                return Ok(true);
            }
            let arrived = self.source.wait(nodes, node, &position, patience).await?;
            if arrived {
                *reached.lock().await = Some(position);
            }
            Ok::<_, Unasked>(arrived)
        };
        match wait.await {
            Ok(arrived) => arrived,
            Err(error) => {
                eprintln!("splitproof-router: cannot wait for {}: {error}", nodes.name(node));
                false
            }
        }
    }

    async fn position(&self, nodes: &Nodes) -> Result<Arc<str>, Unasked> {
        let (ended, begun) = (self.ended.load(Ordering::SeqCst), self.begun.load(Ordering::SeqCst));
        if let Some(known) = self.known.lock().await.as_ref()
            && begun == ended
            && known.ended == ended
        {
            return Ok(Arc::clone(&known.position));
        }
        let position = self.source.primary(nodes).await?;
        let mut known = self.known.lock().await;
        if known.as_ref().is_none_or(|known| known.ended <= ended) {
            *known = Some(Known { ended, position: Arc::clone(&position) });
        }
        Ok(position)
    }

    /// Looks at the replicas' lag for ever.
    pub async fn watch(&self, nodes: &Nodes, interval: Duration) {
        loop {
            for (node, _) in nodes.iter().skip(1) {
                nodes.set_lag(node, self.source.lag(nodes, node).await.ok());
            }
            tokio::time::sleep(interval).await;
        }
    }
}
