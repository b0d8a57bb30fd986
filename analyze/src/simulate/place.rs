//! The nodes behind a router, and choosing among them.

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Role;

/// A node behind the router, as its configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique.
    pub name: String,
    /// `primary` or `replica`.
    #[serde(with = "role")]
    pub role: Role,
}

impl Node {
    /// A primary.
    pub fn primary(name: impl Into<String>) -> Self {
        Node { name: name.into(), role: Role::Primary }
    }

    /// A replica.
    pub fn replica(name: impl Into<String>) -> Self {
        Node { name: name.into(), role: Role::Replica }
    }
}

mod role {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
    use splitproof_capture::trace::Role;

    pub(super) fn serialize<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(role.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
        let word = String::deserialize(deserializer)?;
        Role::from_word(&word).ok_or_else(|| D::Error::custom(format!("{word} is no role")))
    }
}

/// A set of nodes, by their numbers in the model's list; at most 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nodes(u64);

impl Nodes {
    /// The most nodes that a model can have.
    pub const MOST: usize = 64;

    /// One node.
    pub fn one(node: usize) -> Self {
        Nodes(1_u64.checked_shl(node as u32).unwrap_or(0))
    }

    /// The first `count` nodes.
    pub fn all(count: usize) -> Self {
        if count >= Nodes::MOST { Nodes(u64::MAX) } else { Nodes((1 << count) - 1) }
    }

    /// Both sets together.
    pub fn with(self, other: Nodes) -> Self {
        Nodes(self.0 | other.0)
    }

    /// True when there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when the node is among them.
    pub fn contains(self, node: usize) -> bool {
        !self.is_empty() && Nodes(self.0 & Nodes::one(node).0) != Nodes(0)
    }

    /// The numbers, lowest first.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..Nodes::MOST).filter(move |&node| self.0 >> node & 1 == 1)
    }
}

impl FromIterator<usize> for Nodes {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        nodes.into_iter().fold(Nodes::default(), |all, node| all.with(Nodes::one(node)))
    }
}

/// Chooses by weight where a router would draw lots. The lot is drawn from the numbers given, so that a simulation can be repeated; `None`
/// when no weight is above zero.
pub fn draw(weights: &[u32], numbers: [u64; 2]) -> Option<usize> {
    let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    if total == 0 {
        return None;
    }
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&numbers[0].to_le_bytes());
    second.copy_from_slice(&numbers[1].to_le_bytes());
    let mut lot = xxhash_rust::xxh3::xxh3_64(&bytes) % total;
    weights.iter().position(|&weight| {
        let weight = u64::from(weight);
        let here = lot < weight;
        lot = lot.saturating_sub(weight);
        here
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_nodes() {
        let nodes: Nodes = [0, 2, 63].into_iter().collect();
        assert_eq!(nodes.iter().collect::<Vec<_>>(), [0, 2, 63]);
        assert!(nodes.contains(63) && !nodes.contains(1) && !nodes.contains(64));
        assert_eq!(Nodes::all(2).iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(Nodes::all(64).iter().count(), 64);
    }

    #[test]
    fn lots_fall_by_weight_and_can_be_drawn_again() {
        let weights = [1, 0, 3];
        let mut counts = [0; 3];
        for request in 0..4_000 {
            let node = draw(&weights, [7, request]).unwrap();
            assert_eq!(draw(&weights, [7, request]), Some(node));
            counts[node] += 1;
        }
        assert_eq!(counts[1], 0);
        // Three in four, and no further off than chance in 4000 lots would have it once in a million.
        assert!((2_860..=3_140).contains(&counts[2]), "{counts:?}");
        assert_eq!(draw(&[0, 0], [1, 1]), None);
        assert_eq!(draw(&[], [1, 1]), None);
    }
}
