//! Where each request really ran, from what the nodes' own traces show.
//!
//! - [`Attributor`]: takes a run's requests and the executions at the nodes in start order, gives [`Placed`] requests back in start
//!   order, and every [`Extra`] execution that no client asked for
//! - `key`: what must be equal: text, parameters and how it was sent
//! - `links`: which backend connection works for which client session, learnt from unique matches
//! - `solve`: one group of equal requests and executions
//!
//! The rule is never to guess. An execution fits a request when text and parameters are equal and it lies within the request's
//! time; a server's log tells only when it began. Where exactly one fits, that is a match and it also links the client's session to the backend's. Links then tell equal
//! concurrent statements apart. Without a unique match a backend connection is a session's when every other session was unable to cause
//! one of its executions. Where several possibilities remain but all are on the same nodes, the nodes are known though the
//! execution is not. Otherwise the request is ambiguous.

mod attributor;
mod key;
mod links;
mod solve;

use splitproof_capture::trace::Request;

pub use attributor::Attributor;
pub use key::{is_mysql, needs_execution};
pub use links::{Contradiction, Pinning};

/// Number of a node in the order in which the run lists them.
pub type NodeIndex = usize;

/// One statement as a node executed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The node.
    pub node: NodeIndex,
    /// Session of the node's trace: the backend connection.
    pub session: u64,
    /// Request in that session.
    pub seq: u32,
    /// When the node got it, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// When the node had answered it.
    pub end_ns: Option<i64>,
}

/// A request on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The node.
    pub node: NodeIndex,
    /// The execution; `None` where the node is certain and the execution is one of several.
    pub execution: Option<Execution>,
}

/// What the evidence tells about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It executes nothing, such as connecting or a lone Sync.
    NotNeeded,
    /// It ran on these nodes and on no other.
    Decided(Vec<Site>),
    /// It may have run on some of these nodes.
    Ambiguous(Vec<NodeIndex>),
    /// No execution of it was seen.
    Unseen,
}

impl Placement {
    /// The nodes where it ran, where that is known.
    pub fn nodes(&self) -> Option<impl Iterator<Item = NodeIndex> + '_> {
        match self {
            Placement::Decided(sites) => Some(sites.iter().map(|site| site.node)),
            _ => None,
        }
    }

    /// The execution on one node.
    pub fn on(&self, node: NodeIndex) -> Option<&Execution> {
        match self {
            Placement::Decided(sites) => {
                sites.iter().find(|site| site.node == node).and_then(|site| site.execution.as_ref())
            }
            _ => None,
        }
    }
}

/// A request with its placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The request.
    pub request: Request,
    /// Where it ran.
    pub placement: Placement,
}

/// An execution that no client asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// The node.
    pub node: NodeIndex,
    /// The execution, as the node's trace has it.
    pub execution: Request,
    /// The request (session and seq in the run) that it repeats on the same node, when it is a second execution.
    pub repeats: Option<(u64, u32)>,
    /// The last request of the same text and parameters that was executed there before, when the execution does not lie within its
    /// time: a router that runs a finished transaction again does that.
    pub echoes: Option<(u64, u32)>,
}

/// Where an [`Attributor`] puts its results.
pub trait Receive {
    /// Takes the next request, in start order.
    fn placed(&mut self, placed: Placed);
    /// Takes an execution that no client asked for, soon after it was seen.
    fn extra(&mut self, extra: Extra);
}
