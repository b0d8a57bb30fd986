//! Logs of MySQL and MariaDB servers.
//!
//! - [`General`]: the general log; its entries become rows in `conversation`, session by session in `session`
//! - [`Slow`]: the slow log; `fields`: the lines before its statements; its entries become rows in `slow_session`
//! - `command`: the commands by the names that logs give them; `account`: who connects
//! - `header`: what the server writes when it opens a log; `stamp`: its times; `untimed`: entries before the first time
//! - `text`: texts of statements, and what they change for those after them; routers' logs use it, too

mod account;
mod command;
mod conversation;
mod fields;
mod general;
mod header;
mod session;
mod slow;
mod slow_session;
mod stamp;
mod text;
mod untimed;

pub(super) use general::General;
pub(super) use slow::Slow;
pub(super) use text::Texts;
