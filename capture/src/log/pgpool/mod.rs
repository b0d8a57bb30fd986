//! pgpool-II's log: <https://www.pgpool.net/docs/latest/en/html/runtime-config-logging.html>
//!
//! - [`Pgpool`]: reads the lines, and puts them together to entries
//! - `Message`: what an entry says
//! - `Conversations`: entries become rows, by the process that wrote them; `session`: one client of a process

mod conversation;
mod lines;
mod message;
mod session;

pub(super) use lines::Pgpool;

use conversation::{Conversations, Entry};
use message::{Front, Message, Step};
