//! `log_line_prefix`.

use std::str::FromStr;

/// A `log_line_prefix`, as postgresql.conf gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

/// Why a prefix cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPrefix(String);

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        Ok(Prefix(text.to_owned()))
    }
}
