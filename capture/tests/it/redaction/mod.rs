//! Nothing of a literal or parameter is left in a redacted trace, and what a statement is, stays.

mod corpus;
mod markers;
