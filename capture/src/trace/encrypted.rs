//! Sessions that could not be read because they are encrypted: which, how many, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Sessions with one server that are encrypted in one way and not read for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encrypted {
    /// The server's address and port.
    pub server: String,
    /// How many there are.
    pub sessions: u64,
    /// What is known of the encryption: version, cipher suite, the server's name that the client asked for.
    pub encryption: String,
    /// Why it is not decrypted.
    pub reason: String,
}

impl Encrypted {
    /// Of those of several traces, or of one trace at two times: each kind once, with all its sessions.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Encrypted>) -> Vec<Encrypted> {
        let mut sum = BTreeMap::new();
        for kind in all {
            *sum.entry(kind.key()).or_default() += kind.sessions;
        }
        let of = |((server, encryption, reason), sessions): ((&str, &str, &str), u64)| Encrypted {
            server: server.to_owned(),
            sessions,
            encryption: encryption.to_owned(),
            reason: reason.to_owned(),
        };
        sum.into_iter().map(of).collect()
    }

    /// Those that came since there were those `before`.
    pub fn since(now: &[Encrypted], before: &[Encrypted]) -> Vec<Encrypted> {
        let before: BTreeMap<_, _> = before.iter().map(|kind| (kind.key(), kind.sessions)).collect();
        let new = now.iter().filter_map(|kind| {
            let sessions = kind.sessions.saturating_sub(before.get(&kind.key()).copied().unwrap_or(0));
            (sessions > 0).then(|| Encrypted { sessions, ..kind.clone() })
        });
        new.collect()
    }

    fn key(&self) -> (&str, &str, &str) {
        (&self.server, &self.encryption, &self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(reason: &str, sessions: u64) -> Encrypted {
        Encrypted { server: "db:5432".into(), sessions, encryption: "TLS 1.3".into(), reason: reason.into() }
    }

    #[test]
    fn kinds_are_added_up_and_taken_off() {
        let (one, two) = (vec![kind("a", 2), kind("b", 1)], vec![kind("a", 5), kind("b", 1), kind("c", 1)]);
        assert_eq!(Encrypted::since(&two, &one), [kind("a", 3), kind("c", 1)]);
        assert_eq!(Encrypted::sum(one.iter().chain(&two)), [kind("a", 7), kind("b", 2), kind("c", 1)]);
    }
}
