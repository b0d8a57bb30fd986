//! MaxScale's query log: <https://mariadb.com/kb/en/mariadb-maxscale-2402-query-log-all-filter/>
//!
//! - [`Qla`]: reads the lines
//! - `Layout`: which columns a file has, and how lines are split into them
//! - `Conversations`: lines become rows, session by session

mod layout;
mod qla;
mod session;

pub(super) use qla::Qla;

use layout::{Fields, Layout};
use session::{Conversations, Entry};
