//! Everything that is checked and opened before the first request is sent.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use splitproof_capture::trace::{NodeWriter, Options, Reader, Writer};
use tokio::net::TcpStream;

use super::{Only, Order, ReplayError, servers};
use crate::catalog::Catalog;
use crate::clock::WallClock;
use crate::control::{self, ClockOffset, Control, Identity, Targets};
use crate::pair::{EvidenceSource, Role};
use crate::reads::Reads;
use crate::summary::NodeRun;

/// How long the router is waited for.
const REACH: Duration = Duration::from_secs(10);

/// A pair that was checked.
pub struct Checked {
    /// The control connections, in the order of `pair.toml`.
    pub nodes: Vec<(Control, Identity, ClockOffset)>,
    /// What the primary's catalogue says.
    pub catalog: Catalog,
}

/// Refuses a recorded server, connects to the nodes and asks them what they are.
pub async fn check(order: &Order, trace: &Reader, clock: &WallClock) -> Result<Checked, ReplayError> {
    if !order.allow_recorded_server {
        let servers = servers::recorded(trace)?;
        control::recorded_server(&Targets::of(&order.pair), servers.iter().map(|server| &**server))?;
    }
    let mut nodes = Vec::new();
    for (control, identity) in control::connect(&order.pair, &order.passwords).await? {
        let offset = ClockOffset::measure(&control, clock).await?;
        nodes.push((control, identity, offset));
    }
    let primary = nodes.iter().find(|(control, ..)| control.node().role == Role::Primary);
    let catalog = match primary {
        Some((primary, ..)) => Catalog::snapshot(primary).await?,
        None => Catalog::default(),
    };
    Ok(Checked { nodes, catalog })
}

/// Finds out whether the router is there, before anything is due. The connection is closed at once and says nothing.
pub async fn reach(order: &Order) -> Result<(), ReplayError> {
    let router = &order.pair.router;
    let connected = tokio::time::timeout(REACH, TcpStream::connect(router.address())).await;
    let connected = connected.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "no answer within 10 s")));
    connected.map(drop).map_err(|source| ReplayError::Router { url: router.to_string(), source })
}

/// The files of the run, empty.
pub struct Files {
    /// The rows.
    pub writer: Writer,
    /// The rows of each node; none for a node that is not watched.
    pub nodes: Vec<Option<NodeWriter>>,
}

/// Makes the run's directory and its files.
pub fn create(order: &Order, catalog: &Catalog) -> Result<Files, ReplayError> {
    let mut options = Options::new(order.pair.engine, "replay");
    options.inputs = vec![order.trace.display().to_string()];
    options.existing = order.existing;
    let writer = Writer::create(&order.run, options)?;
    catalog.write(&writer)?;
    let mut nodes = Vec::new();
    for node in &order.pair.nodes {
        nodes.push(match node.evidence {
            EvidenceSource::Tap { .. } | EvidenceSource::Log => Some(writer.node(&node.name)?),
            EvidenceSource::None => None,
        });
    }
    Ok(Files { writer, nodes })
}

/// What proves reads to these nodes, when only reads are wanted.
pub fn reads(order: &Order, catalog: Catalog, nodes: &[NodeRun]) -> Option<Arc<Reads>> {
    let versions = nodes.iter().map(|node| node.version.as_str());
    match order.only {
        Only::All => None,
        Only::Reads => Some(Arc::new(Reads::new(order.pair.engine, catalog, versions))),
    }
}

/// Each session is a connection, and each tapped connection two more.
pub fn allow_many_connections() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where this is refused, the sessions beyond the limit are reported as such.
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).ok();
}
