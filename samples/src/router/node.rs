//! The servers behind the router: where they are, how reads are shared among them, and which of them are well.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::config::Config;

/// What the servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// PostgreSQL.
    Postgresql,
    /// MySQL or MariaDB.
    Mysql,
}

impl Engine {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Postgresql => "postgresql",
            Engine::Mysql => "mysql",
        }
    }
}

/// A server, by its place on the command line: 0 is the primary.
pub type NodeId = usize;

/// The primary.
pub const PRIMARY: NodeId = 0;

/// What stands for a lag that is not known, such as that of a replica that cannot be asked.
const UNKNOWN: u64 = u64::MAX;

/// One server.
#[derive(Debug)]
pub struct Node {
    /// `primary`, `replica`, or `replica1`, `replica2` where there are several.
    pub name: String,
    /// Where clients' statements go: host and port.
    pub address: String,
    /// Where the router's own questions go.
    pub control: String,
    weight: u32,
    lag_ms: AtomicU64,
    down_since: Mutex<Option<Instant>>,
}

/// All of them.
#[derive(Debug)]
pub struct Nodes {
    list: Vec<Node>,
    /// Smooth weighted round robin: what each node is owed.
    owed: Mutex<Vec<i64>>,
    max_lag: Option<Duration>,
    retry: Duration,
    /// Set by faults that look away.
    pub ignore_lag: bool,
    /// Set by faults that never forget: a replica that was down once stays down, and counts as down after so many reads.
    never_retry: Option<u64>,
    reads: AtomicU64,
    gave_up: AtomicBool,
}

impl Nodes {
    /// The servers at these addresses, the primary first. `control` holds as many addresses, or none.
    pub fn new(addresses: &[String], control: &[String], config: &Config) -> Self {
        let several = addresses.len() > 2;
        let weight = |index: usize| match index.checked_sub(1) {
            None => config.weights.primary,
            Some(replica) => config.weights.replicas.get(replica).copied().unwrap_or(1),
        };
        let list: Vec<Node> = addresses
            .iter()
            .enumerate()
            .map(|(index, address)| Node {
                name: match index {
                    0 => "primary".to_owned(),
                    1 if !several => "replica".to_owned(),
                    _ => format!("replica{index}"),
                },
                address: address.clone(),
                control: control.get(index).unwrap_or(address).clone(),
                weight: weight(index),
                lag_ms: AtomicU64::new(0),
                down_since: Mutex::default(),
            })
            .collect();
        Nodes {
            owed: Mutex::new(vec![0; list.len()]),
            list,
            max_lag: config.max_replica_lag_ms.map(Duration::from_millis),
            retry: Duration::from_millis(config.retry_replica_ms),
            ignore_lag: false,
            never_retry: None,
            reads: AtomicU64::new(0),
            gave_up: AtomicBool::new(false),
        }
    }

    /// Every server.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.list.iter().enumerate()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// One of them.
    pub fn get(&self, node: NodeId) -> Option<&Node> {
        self.list.get(node)
    }

    /// Its name.
    pub fn name(&self, node: NodeId) -> &str {
        self.get(node).map_or("?", |node| &node.name)
    }

    /// From now on a replica that failed once is never tried again, and one counts as failed after so many reads.
    pub fn never_retry(&mut self, after_reads: u64) {
        self.never_retry = Some(after_reads);
    }

    /// Counts a read on a replica, for [`Nodes::never_retry`].
    pub fn count_read(&self, node: NodeId) {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        if self.never_retry.is_some_and(|most| reads >= most) {
            self.failed(node);
        }
    }

    /// Whether replica lag is looked at.
    pub fn watches_lag(&self) -> bool {
        self.max_lag.is_some()
    }

    /// The server for the next read, and why it is not a replica if it is not.
    pub fn reader(&self) -> (NodeId, Option<&'static str>) {
        let mut owed = lock(&self.owed);
        let weights: Vec<i64> = self.list.iter().enumerate().map(|(id, node)| self.share(id, node)).collect();
        let total: i64 = weights.iter().sum();
        if total == 0 {
            let down = self.list.iter().skip(1).any(|node| self.is_down(node));
            return (PRIMARY, Some(if down { "no replica can be reached" } else { "every replica lags" }));
        }
        for (owed, weight) in owed.iter_mut().zip(&weights) {
            *owed += weight;
        }
        let best = owed.iter().zip(&weights).enumerate().filter(|(_, (_, weight))| **weight > 0);
        let best = best.max_by_key(|(id, (owed, _))| (**owed, std::cmp::Reverse(*id))).map_or(PRIMARY, |(id, _)| id);
        if let Some(owed) = owed.get_mut(best) {
            *owed -= total;
        }
        (best, (best == PRIMARY).then_some("the primary's share of the reads"))
    }

    /// A server could not be reached.
    pub fn failed(&self, node: NodeId) {
        if let Some(node) = self.get(node).filter(|_| node != PRIMARY) {
            *lock(&node.down_since) = Some(Instant::now());
            self.gave_up.store(true, Ordering::Relaxed);
        }
    }

    /// What a replica's lag is now; `None` when it cannot be told.
    pub fn set_lag(&self, node: NodeId, lag: Option<Duration>) {
        if let Some(node) = self.get(node) {
            let ms = lag.map_or(UNKNOWN, |lag| u64::try_from(lag.as_millis()).unwrap_or(UNKNOWN));
            node.lag_ms.store(ms, Ordering::Relaxed);
        }
    }

    /// Whether a replica may be tried at all.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.get(node).is_some_and(|node| !self.is_down(node))
    }

    fn share(&self, id: NodeId, node: &Node) -> i64 {
        let lags = match self.max_lag {
            Some(max) if !self.ignore_lag => u128::from(node.lag_ms.load(Ordering::Relaxed)) > max.as_millis(),
            _ => false,
        };
        if id != PRIMARY && (self.is_down(node) || lags) { 0 } else { i64::from(node.weight) }
    }

    fn is_down(&self, node: &Node) -> bool {
        if self.never_retry.is_some() && self.gave_up.load(Ordering::Relaxed) {
            return true;
        }
        let mut down = lock(&node.down_since);
        match *down {
            Some(since) if since.elapsed() < self.retry => true,
            _ => {
                *down = None;
                false
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(config: &str, count: usize) -> Nodes {
        let config = Config::parse("router.yaml".as_ref(), config).unwrap();
        let addresses: Vec<String> = (0..count).map(|port| format!("127.0.0.1:{port}")).collect();
        Nodes::new(&addresses, &[], &config)
    }

    #[test]
    fn reads_are_shared_by_weight() {
        let nodes = nodes("weights: { primary: 1, replicas: [3, 2] }", 3);
        let mut counts = [0; 3];
        for _ in 0..60 {
            counts[nodes.reader().0] += 1;
        }
        assert_eq!(counts, [10, 30, 20]);
    }

    #[test]
    fn a_replica_that_is_down_or_late_gets_no_reads() {
        let nodes = nodes("max_replica_lag_ms: 500\nretry_replica_ms: 60000", 2);
        assert_eq!(nodes.reader(), (1, None));
        nodes.set_lag(1, Some(Duration::from_millis(501)));
        assert_eq!(nodes.reader(), (PRIMARY, Some("every replica lags")));
        nodes.set_lag(1, None);
        assert_eq!(nodes.reader().0, PRIMARY);
        nodes.set_lag(1, Some(Duration::ZERO));
        assert_eq!(nodes.reader().0, 1);
        nodes.failed(1);
        assert_eq!(nodes.reader(), (PRIMARY, Some("no replica can be reached")));
    }

    #[test]
    fn a_replica_is_tried_again_unless_a_fault_forbids_it() {
        let mut nodes = nodes("retry_replica_ms: 0", 2);
        nodes.failed(1);
        assert_eq!(nodes.reader().0, 1);
        nodes.never_retry(1000);
        assert_eq!(nodes.reader().0, PRIMARY);
    }
}
