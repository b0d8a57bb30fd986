//! A node that stopped answering.

use serde::{Deserialize, Serialize};

/// A time during which a node did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The first question that it did not answer was asked then, nanoseconds since 1970 UTC.
    pub since_ns: i64,
    /// When it answered again; `None` where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<i64>,
}

impl Outage {
    /// What happened, as a clause without its subject, with times counted from the start of the replay.
    pub fn told(&self, run_start_ns: i64) -> String {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let since = seconds(self.since_ns.saturating_sub(run_start_ns));
        match self.until_ns {
            None => format!("stopped answering {since:.1} s after the start, and did not come back"),
            Some(until_ns) => {
                let lasted = seconds(until_ns.saturating_sub(self.since_ns));
                format!("stopped answering {since:.1} s after the start, for {lasted:.1} s")
            }
        }
    }
}

/// Follows whether a node answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pulse {
    /// The first question of the present silence.
    silent_since_ns: Option<i64>,
    first: Option<Outage>,
}

impl Pulse {
    /// It answered a question that was asked then.
    pub fn answered(&mut self, at_ns: i64) {
        let since_ns = self.silent_since_ns.take();
        if let Some(outage) = self.first.as_mut().filter(|outage| Some(outage.since_ns) == since_ns) {
            outage.until_ns = Some(at_ns);
        }
    }

    /// It did not answer a question that was asked then. One alone is a lost connection; the next one, over a new connection,
    /// tells that the node is gone.
    pub fn silent(&mut self, at_ns: i64) {
        match self.silent_since_ns {
            None => self.silent_since_ns = Some(at_ns),
            Some(since_ns) => {
                self.first.get_or_insert(Outage { since_ns, until_ns: None });
            }
        }
    }

    /// The first time that it did not answer.
    pub fn outage(&self) -> Option<Outage> {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_node_is_gone_when_a_new_connection_does_not_help() {
        let mut pulse = Pulse::default();
        pulse.answered(0);
        pulse.silent(S);
        pulse.answered(2 * S);
        assert_eq!(pulse.outage(), None, "its connection was cut, and a new one answered");
        pulse.silent(6 * S);
        pulse.silent(7 * S);
        pulse.silent(8 * S);
        let outage = pulse.outage().unwrap();
        assert_eq!(outage, Outage { since_ns: 6 * S, until_ns: None });
        assert_eq!(outage.told(S), "stopped answering 5.0 s after the start, and did not come back");
        pulse.answered(9 * S);
        pulse.silent(20 * S);
        pulse.silent(21 * S);
        let outage = pulse.outage().unwrap();
        assert_eq!(outage, Outage { since_ns: 6 * S, until_ns: Some(9 * S) }, "the first one is told");
        assert_eq!(outage.told(S), "stopped answering 5.0 s after the start, for 3.0 s");
    }
}
