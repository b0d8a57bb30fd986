//! Nothing of a literal or parameter is left in a redacted trace, and what a statement is, stays.

mod command;
mod corpus;
mod markers;
