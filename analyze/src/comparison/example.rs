//! Shapes and single requests, as reports name them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The digest of a statement without its literals. In JSON it is 16 hexadecimal digits, because JSON readers lose
/// digits of a 64-bit number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub u64);

impl fmt::Display for ShapeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ShapeId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(ShapeId)
    }
}

impl Serialize for ShapeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ShapeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A statement shape with its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Its digest.
    pub id: ShapeId,
    /// The statement without its literals.
    pub text: String,
}

/// One request of a run, with what is needed to find it again in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Session in the run.
    pub session: u64,
    /// Request in the session.
    pub seq: u32,
    /// The session of the recording that it repeats; the same as `session` in a recording.
    pub recorded_session: u64,
    /// The request of the recording that it repeats.
    pub recorded_seq: u32,
    /// When it was sent: RFC 3339, UTC.
    pub at: String,
    /// The statement with its literals, shortened.
    pub sql: String,
    /// The nodes where it ran.
    pub nodes: Vec<String>,
    /// SQLSTATE or errno of its answer.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_id_survives_json_with_all_its_digits() {
        let id = ShapeId(u64::MAX - 1);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"fffffffffffffffe\"");
        assert_eq!(serde_json::from_str::<ShapeId>(&json).unwrap(), id);
    }
}
