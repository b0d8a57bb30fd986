//! ProxySQL's events log: <https://proxysql.com/documentation/query-logging/>
//!
//! - [`Json`] and [`Binary`]: its two formats; `record`: one record of the binary one
//! - `Event`: what both tell; `value`: parameters
//! - `Conversations`: events become rows, session by session

mod binary;
mod event;
mod json;
mod record;
mod session;
mod value;

pub(super) use binary::Binary;
pub(super) use json::Json;

use event::{Asked, Event};
use session::Conversations;
