//! What the body of a stored function, procedure or trigger holds.

use super::Statement;

/// The statements of a stored routine's body. What flows between them, and which of them run, is not told: a body may do
/// everything that stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The facts of its statements and expressions, in the order of the text. An expression stands as a SELECT
    /// (PostgreSQL) or a DO (MySQL and MariaDB) of its own.
    pub statements: Vec<Statement>,
    /// Why it may do more than these: dynamic SQL, or a text that is not understood.
    pub unknown: Option<String>,
}

impl Body {
    /// A body of which nothing is known.
    pub fn unknown(why: impl Into<String>) -> Self {
        Body { statements: Vec::new(), unknown: Some(why.into()) }
    }
}
