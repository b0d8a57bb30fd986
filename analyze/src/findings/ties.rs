//! What a statement takes from an earlier one of its session, asked for on another node.

use std::collections::HashMap;

use splitproof_capture::trace::Outcome;

use super::Step;
use crate::attribution::NodeIndex;
use crate::intent::{Intent, Pin, Verdict};

/// User variables and temporary tables remembered for one session.
const REMEMBERED: usize = 256;

/// Where the statements of one session left things.
#[derive(Debug, Default)]
struct Left {
    origins: HashMap<Pin, Vec<NodeIndex>>,
    insert_id: Option<Vec<NodeIndex>>,
    before: Option<Vec<NodeIndex>>,
}

/// Follows what statements leave where they run: user variables, temporary tables, insert ids, warnings.
#[derive(Debug, Default)]
pub struct Ties {
    sessions: HashMap<u64, Left>,
}

impl Ties {
    /// Takes a session's next request that executed; true when what it is tied to lives elsewhere. One that failed leaves nothing, and
    /// is lost only where that may be why it failed: the node does not have the temporary table.
    pub fn is_lost(&mut self, step: &Step<'_>) -> bool {
        let Some(nodes) = step.nodes.filter(|nodes| !nodes.is_empty()) else { return false };
        let left = self.sessions.entry(step.request.session).or_default();
        let elsewhere = |origin: &Vec<NodeIndex>| nodes.iter().any(|node| !origin.contains(node));
        let verdict = step.verdict;
        if step.request.outcome != Outcome::Ok {
            return match &verdict.pin {
                Some(pin @ Pin::TemporaryTable(_)) => {
                    left.origins.get(pin).is_some_and(elsewhere) && !found_by_role(verdict)
                }
                _ => false,
            };
        }
        if let Some(name) = verdict.variable_set() {
            left.origins.remove(&Pin::Variable(name));
        }
        let lost = match &verdict.pin {
            Some(Pin::Before) => left.before.as_ref().is_some_and(elsewhere),
            Some(Pin::InsertId) => left.insert_id.as_ref().is_some_and(elsewhere),
            Some(pin @ (Pin::Variable(_) | Pin::TemporaryTable(_))) if verdict.makes(pin) => {
                if left.origins.len() >= REMEMBERED {
                    left.origins.clear();
                }
                left.origins.insert(pin.clone(), nodes.to_vec());
                false
            }
            Some(pin @ (Pin::Variable(_) | Pin::TemporaryTable(_))) => left.origins.get(pin).is_some_and(elsewhere),
            _ => false,
        };
        if verdict.generates_key() {
            left.insert_id = Some(nodes.to_vec());
        }
        // One that asks for warnings leaves them.
        if verdict.pin != Some(Pin::Before) {
            left.before = Some(nodes.to_vec());
        }
        lost && !found_by_role(verdict)
    }

    /// The session is over, or was reset.
    pub fn end(&mut self, session: u64) {
        self.sessions.remove(&session);
    }
}

/// True where the role of the node alone tells that it is wrong.
fn found_by_role(verdict: &Verdict) -> bool {
    verdict.intent == Intent::Same && verdict.on_primary
}
