//! Where a request ran, by role.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a request ran, from evidence, by the role of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// Only on the primary.
    Primary,
    /// Only on replicas.
    Replica,
    /// On the primary and at least one replica.
    Both,
    /// On some node, but the evidence leaves more than one possibility.
    Ambiguous,
    /// On no node that was watched: the router answered it itself, or evidence is missing.
    Unseen,
}

impl Destination {
    /// Every value, in the order in which a grid shows them.
    pub const ALL: &[Destination] =
        &[Destination::Primary, Destination::Replica, Destination::Both, Destination::Ambiguous, Destination::Unseen];

    /// The word used in columns and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Destination::Primary => "primary",
            Destination::Replica => "replica",
            Destination::Both => "both",
            Destination::Ambiguous => "ambiguous",
            Destination::Unseen => "unseen",
        }
    }

    /// The value of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == word)
    }

    /// True where the evidence names the nodes.
    pub fn is_known(self) -> bool {
        !matches!(self, Destination::Ambiguous | Destination::Unseen)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
