//! What can be wrong about a case.

use serde::{Deserialize, Serialize};

use super::Property;

/// Something wrong about one statement of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The statement, by its place in the case, from 0.
    pub statement: usize,
    /// What was seen, as a sentence.
    pub message: String,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// It belongs to the primary and ran on a replica.
    WriteLeakage,
    /// Statements of one transaction ran on different nodes.
    SplitTransaction,
    /// It ran on another node than the temporary table, prepared statement, cursor or lock that it needs.
    LostState,
    /// It ran on a node that had not seen the session state set before.
    MissedSetting,
    /// A replica could have served it and the primary did, every time it was tried.
    AccidentalPrimaryRead,
    /// It ended with an error that was not expected, or without the one that was.
    UnexpectedOutcome,
    /// No node was seen running it.
    Unseen,
}

impl FindingKind {
    /// Every kind, the worst first.
    pub const ALL: &[FindingKind] = &[
        FindingKind::WriteLeakage,
        FindingKind::SplitTransaction,
        FindingKind::LostState,
        FindingKind::MissedSetting,
        FindingKind::AccidentalPrimaryRead,
        FindingKind::UnexpectedOutcome,
        FindingKind::Unseen,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            FindingKind::WriteLeakage => "write leakage",
            FindingKind::SplitTransaction => "split transaction",
            FindingKind::LostState => "lost state",
            FindingKind::MissedSetting => "missed setting",
            FindingKind::AccidentalPrimaryRead => "accidental primary read",
            FindingKind::UnexpectedOutcome => "unexpected outcome",
            FindingKind::Unseen => "unseen",
        }
    }

    /// The property that it breaks; `None` when it keeps the case from being judged.
    pub fn property(self) -> Option<Property> {
        match self {
            FindingKind::WriteLeakage => Some(Property::Safety),
            FindingKind::SplitTransaction | FindingKind::LostState | FindingKind::MissedSetting => {
                Some(Property::Coherence)
            }
            FindingKind::AccidentalPrimaryRead => Some(Property::Completeness),
            FindingKind::UnexpectedOutcome | FindingKind::Unseen => None,
        }
    }
}
