//! PostgreSQL's own logs.
//!
//! - [`Csv`]: csvlog
//! - `Entry`: what an entry says, however it is written
//! - `message`: what a message says of a statement or a connection; `params`: its parameters
//! - `Conversations`: entries become rows, session by session

mod conversation;
mod csv;
mod entry;
mod message;
mod params;
mod prefix;
mod session;

pub(super) use csv::Csv;
pub use prefix::{InvalidPrefix, Prefix};
