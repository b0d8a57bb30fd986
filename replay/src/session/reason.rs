//! Why a recorded request was not sent.

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal;)*) => {
        /// Why a recorded request was not sent.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum NotSent { $($(#[doc = $doc])* $name,)* }

        impl NotSent {
            /// Every reason.
            pub const ALL: &[NotSent] = &[$(NotSent::$name),*];

            /// The word that stands in the run's summary.
            pub fn as_str(self) -> &'static str {
                match self { $(NotSent::$name => $word,)* }
            }

            /// What it means, as one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(NotSent::$name => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

reasons! {
    /// The router refused the session, or could not be reached.
    Refused = "refused";
    /// The connection was lost earlier in the session; what was in flight then is never sent again.
    ConnectionLost = "connection_lost";
    /// The replay was stopped before its time came.
    Stopped = "stopped";
    /// Only reads are replayed, and this is not proven to be one, or uses a statement that is not.
    NotARead = "not_a_read";
    /// The session was joined midway, and the statement or portal was prepared before the recording began.
    UnknownStatement = "unknown_statement";
    /// Its text, parameters or another part were not recorded.
    Incomplete = "incomplete";
    /// Its literals and parameters are replaced by hashes.
    Redacted = "redacted";
    /// It sets a password, which the recording does not hold.
    Password = "password";
    /// It starts a replication stream.
    Replication = "replication";
    /// It was sent, and became part of the request before it, which the recorded client sent on its own.
    Joined = "joined";
    /// A cancel request whose target is not known, or is not connected any more.
    CancelTarget = "cancel_target";
    /// The session was joined midway, and neither the trace nor `[defaults]` in pair.toml names its user.
    UnknownUser = "unknown_user";
}

impl std::fmt::Display for NotSent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_json() {
        for &reason in NotSent::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }
}
