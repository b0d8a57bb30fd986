//! What a read shows: the data of now, or that of when its cursor was opened.

use std::collections::HashMap;

use splitproof_capture::trace::{Kind, Request};

use super::statement::{Named, Statement, is_cursor};
use crate::attribution::NodeIndex;

/// Cursors that are remembered for one session.
const CURSORS: usize = 1_000;

/// An execution on a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The replica.
    pub node: NodeIndex,
    /// When the client sent it.
    pub sent_ns: i64,
    /// When the node got it.
    pub start_ns: i64,
    /// When the node had answered it.
    pub end_ns: i64,
}

/// The cursors of one session, each with the moment whose data it shows however late it is read.
#[derive(Debug, Default)]
pub(super) struct Cursors(HashMap<String, Moment>);

impl Cursors {
    /// The moment whose data a request shows that runs now.
    pub fn shown_by(&mut self, request: &Request, statement: &Statement, now: Moment) -> Moment {
        let (opens, reads) = match (&statement.named, request.kind) {
            (Some(Named::Gives(name, _)), _) if is_cursor(name) => (Some(name.clone()), None),
            (Some(Named::Uses(name)), _) if is_cursor(name) => (None, Some(name.clone())),
            (_, Kind::Execute) => (Some(portal(request)), None),
            (_, Kind::Fetch) => (None, Some(portal(request))),
            _ => (None, None),
        };
        if let Some(name) = opens {
            if self.0.len() >= CURSORS {
                self.0.clear();
            }
            self.0.insert(name, now);
        }
        reads.and_then(|name| self.0.get(&name)).copied().filter(|then| then.node == now.node).unwrap_or(now)
    }
}

/// A cursor of the protocol: PostgreSQL's portal, or the statement that MySQL opened one for.
fn portal(request: &Request) -> String {
    format!("portal {}", request.portal.as_deref().or(request.statement.as_deref()).unwrap_or(""))
}
