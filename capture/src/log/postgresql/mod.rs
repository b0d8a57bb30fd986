//! PostgreSQL's own logs.
//!
//! - [`Csv`]: csvlog; [`Json`]: jsonlog; [`Stderr`]: the text log
//! - `Lines`: lines of text become entries; `Open`: one that is under way; `level` and [`Prefix`]: what they begin with, `guess`: when nobody told the prefix
//! - `Entry`: what an entry says, however it is written
//! - `message`: what a message says of a statement or a connection; `params`: its parameters
//! - `Conversations`: entries become rows, session by session

mod conversation;
mod csv;
mod entry;
mod guess;
mod json;
mod language;
mod level;
mod lines;
mod message;
mod open;
mod params;
mod prefix;
mod session;
mod stamp;
mod stderr;

pub(super) use csv::Csv;
pub(super) use entry::Severity;
pub(super) use json::Json;
pub(super) use level::Level;
pub(super) use prefix::Head;
pub use prefix::{InvalidPrefix, Prefix};
pub(super) use stderr::Stderr;
