//! A router as the simulator sees it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Request;

use super::place::{Node, Nodes};

/// A model of a router with its rules.
pub trait Model {
    /// What it is a model of, with which rules, and how far it goes.
    fn about(&self) -> About;

    /// A client connects; `request` is the first one of its session that is known.
    fn connect(&self, request: &Request) -> Box<dyn Session + '_>;

    /// How often each rule took part in a decision so far, in their order; none for a router without rules.
    fn rules(&self) -> Vec<RuleUse> {
        Vec::new()
    }

    /// What the model found out while it ran and cannot put into single decisions.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One client connection through the router.
pub trait Session {
    /// Where the router sends the next request. How it ended stands in the request too; a model looks at that only in
    /// [`ended`](Session::ended).
    fn route(&mut self, request: &Request) -> Decision;

    /// How the request ended in the recording: what it did to transactions and to what the router remembers.
    fn ended(&mut self, request: &Request);
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// To whom.
    pub sent: Sent,
    /// Why, in a few words; the same for all requests that are decided in the same way.
    pub reason: Arc<str>,
    /// The rule or list entry that decided, where there is one.
    pub rule: Option<Arc<str>>,
}

/// To whom a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// To these nodes, to each of them.
    To(Nodes),
    /// To no node: the router answers it.
    Router,
    /// To no node: the client gets an error with this code from the router.
    Refused(Arc<str>),
    /// To one of these nodes; the model cannot tell which.
    OneOf(Nodes),
}

/// What a model is a model of, and how far it goes.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The router and the versions that the model follows.
    pub model: String,
    /// The nodes, the primary first.
    pub nodes: Vec<Node>,
    /// Options and columns in the rule files that the model does not know. They may change where statements go.
    pub unknown: Vec<String>,
    /// What the rules use and the model leaves out, beside what `docs/models.md` lists for every rule set.
    pub unmodelled: Vec<String>,
    /// What is remarkable about the rules themselves.
    pub notes: Vec<String>,
}

/// How often a rule took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUse {
    /// Its name: `rule 20`.
    pub rule: String,
    /// What it asks for and does, on one line.
    pub text: String,
    /// Requests that it matched.
    pub hits: u64,
}
